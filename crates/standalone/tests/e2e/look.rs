//! Looking at a page: on a phone and on a desk, in light and dark.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use test_kit::setting;

use crate::browser::Browser;

/// What is wrong with the page that is shown, by a script that reads it.
const WRONG: &str = include_str!("look.js");

impl Browser {
    /// Takes a picture of the page in each size and scheme under this name, and checks what can be checked
    /// without eyes: nothing from other hosts, names of fields and buttons, contrast, width.
    pub async fn look(&self, name: &str) {
        for (width, is_phone) in [(360, true), (1280, false)] {
            for scheme in ["light", "dark"] {
                self.show_in(scheme, width, 800, is_phone).await;
                let height = self.script("return document.documentElement.scrollHeight", &[]);
                let height = height.await.as_u64().unwrap().clamp(600, 6_000);
                self.show_in(scheme, width, height, is_phone).await;
                let found = self.script(WRONG, &[json!(width)]).await;
                for sentence in found.as_array().unwrap() {
                    let sentence = sentence.as_str().unwrap();
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

fn screenshots() -> PathBuf {
    let folder = setting("HOLDFAST_E2E_SCREENSHOTS");
    let folder = PathBuf::from(folder.expect("`cargo xtask e2e` sets HOLDFAST_E2E_SCREENSHOTS"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
