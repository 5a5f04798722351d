//! Both APIs against their OpenAPI documents: valid requests are accepted, others refused, and each response is documented.

use std::process::Command;

use test_kit::setting;

use super::tool;
use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs schemathesis: `cargo xtask e2e clients` runs it"]
async fn the_identity_api_conforms_to_its_openapi_document() {
    let site = Site::plain().await;
    check(&site, site.api.base());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs schemathesis: `cargo xtask e2e clients` runs it"]
async fn the_work_session_api_conforms_to_its_openapi_document() {
    let site = Site::plain().await;
    check(&site, site.sessions.base());
}

/// Runs all phases with the settings in docs, and the same calls each time unless `HOLDFAST_E2E_SEED` has another seed.
fn check(site: &Site, base: &str) {
    let program = tool("OPENAPI_PYTHON").with_file_name("schemathesis");
    let seed = setting("HOLDFAST_E2E_SEED").unwrap_or_else(|| "1".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new(program)
        .arg("--config-file")
        .arg(tool("OPENAPI").join("schemathesis.toml"))
        .args(["run", &format!("{base}/openapi.json"), "--seed", &seed])
        .env("IDENTITY", site.api.base())
        .env("SCHEMATHESIS_HOOKS", "accounts")
        .env(
            "PYTHONPATH",
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/openapi"),
        )
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "127.0.0.1")
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}
