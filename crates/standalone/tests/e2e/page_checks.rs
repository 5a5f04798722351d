//! Checks of a page: on a phone and on a desktop, in light and dark.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use test_kit::setting;

use crate::browser::Browser;

/// Returns the problems that a script finds in the current page.
const WRONG: &str = include_str!("page_checks.js");
/// Returns the problems that axe-core finds; its source comes before it, since the page's policy lets no script load another.
const INACCESSIBLE: &str = include_str!("axe/run.js");

impl Browser {
    /// Takes screenshots of the page in each size and colour scheme under this name, and checks what a program can check:
    /// nothing from other hosts, names of fields and buttons, contrast, width, and the rules of axe-core.
    pub async fn check_page(&self, name: &str) {
        // It is loaded once per page.
        let mut axe = axe();
        for (width, is_phone) in [(360, true), (1280, false)] {
            for scheme in ["light", "dark"] {
                self.show_in(scheme, width, 800, is_phone).await;
                let height = self.script("return document.documentElement.scrollHeight", &[]);
                let height = height.await.as_u64().unwrap().clamp(600, 6_000);
                self.show_in(scheme, width, height, is_phone).await;
                let found = self.script(WRONG, &[json!(width)]).await;
                let inaccessible = self.script(&(axe + INACCESSIBLE), &[]).await;
                axe = String::new();
                for sentence in sentences(&found).chain(sentences(&inaccessible)) {
                    let sentence = format!("at {width} px in {scheme}, {name} {sentence}");
                    eprintln!("{sentence}");
                    self.wrong.lock().unwrap().push(sentence);
                }
                let picture = self.client.screenshot().await.unwrap();
                let file = screenshots().join(format!("{name}-{width}-{scheme}.png"));
                std::fs::write(file, STANDARD.decode(picture).unwrap()).unwrap();
            }
        }
        self.client
            .devtools("Emulation.clearDeviceMetricsOverride", json!({}))
            .await
            .unwrap();
        let as_before = json!({"features": []});
        self.client
            .devtools("Emulation.setEmulatedMedia", as_before)
            .await
            .unwrap();
    }

    async fn show_in(&self, scheme: &str, width: u64, height: u64, is_phone: bool) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone});
        self.client
            .devtools("Emulation.setDeviceMetricsOverride", size)
            .await
            .unwrap();
        // Without motion, because a fading colour belongs to neither scheme.
        let media = json!({"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]});
        self.client
            .devtools("Emulation.setEmulatedMedia", media)
            .await
            .unwrap();
    }
}

fn sentences(found: &Value) -> impl Iterator<Item = &str> {
    let sentences = found.as_array().unwrap().iter();
    sentences.map(|sentence| sentence.as_str().unwrap())
}

fn axe() -> String {
    let file = setting("HOLDFAST_E2E_AXE");
    let file = file.expect("`cargo xtask e2e` sets HOLDFAST_E2E_AXE");
    std::fs::read_to_string(file).unwrap()
}

fn screenshots() -> PathBuf {
    let folder = setting("HOLDFAST_E2E_SCREENSHOTS");
    let folder = PathBuf::from(folder.expect("`cargo xtask e2e` sets HOLDFAST_E2E_SCREENSHOTS"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
