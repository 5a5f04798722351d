//! Looking at a page: on a phone and on a desk, in light and dark.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use test_kit::setting;

use crate::browser::Browser;

/// What is wrong with the page that is shown, by a script that reads it.
const WRONG: &str = include_str!("look.js");
/// What is wrong with it by axe-core, whose text comes before it: the page's policy lets no script load another.
const INACCESSIBLE: &str = include_str!("axe/run.js");

impl Browser {
    /// Takes a picture of the page in each size and scheme under this name, and checks what can be checked
    /// without eyes: nothing from other hosts, names of fields and buttons, contrast, width, and what axe-core knows.
    pub async fn look(&self, name: &str) {
        // Of one page it stays.
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
        // Colours that fade over are neither those of one scheme nor of the other.
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
