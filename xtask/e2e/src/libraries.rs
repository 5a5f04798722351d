//! Third-party programs that the tests need: a browser, libraries and a Matrix server, at versions pinned beside the tests
//! or in docs. Each function installs what is missing, and sets the variables through which the tests find it.

use std::path::PathBuf;
use std::process::Command;
use xtask_fixtures::third_party::{RequiredProgram, folder, node_with, obtain, python_with};
use xtask_kit::cmd::{Result, cargo, output, run};
use xtask_kit::env_vars;

const CHROMIUM: RequiredProgram = RequiredProgram {
    names: &["chromium", "chromium-browser", "google-chrome"],
    package: "chromium",
};
const DRIVER: RequiredProgram = RequiredProgram {
    names: &["chromedriver"],
    package: "chromium-driver",
};

/// Folders that the tests read, by their variables.
const FOLDERS: [(&str, &str); 4] = [
    ("HOLDFAST_E2E_EXAMPLES", "docs/oauth"),
    ("HOLDFAST_E2E_EVENTS", "docs/events"),
    ("HOLDFAST_E2E_OPENAPI", "docs/openapi"),
    (
        "HOLDFAST_E2E_SCHEMAS",
        "crates/standalone/tests/e2e/schemas",
    ),
];
/// The Python environments of the client tests: the variable, the name, and the folder that lists the packages.
const PYTHONS: [(&str, &str, &str); 4] = [
    ("HOLDFAST_E2E_PYTHON", "python", "docs/oauth/python"),
    ("HOLDFAST_E2E_EVENTS_PYTHON", "events", "docs/events"),
    // The check of events against their schemas is not an example.
    (
        "HOLDFAST_E2E_SCHEMAS_PYTHON",
        "schemas",
        "crates/standalone/tests/e2e/schemas",
    ),
    // Calls both APIs as their OpenAPI documents describe them.
    (
        "HOLDFAST_E2E_OPENAPI_PYTHON",
        "openapi",
        "crates/standalone/tests/e2e/openapi",
    ),
];
/// The client that accepts only strict conformance. It is not an example, so it is not in docs.
const STRICT: &str = "crates/standalone/tests/e2e/strict.js";

/// Sets up the client libraries and their languages.
pub(super) fn name_clients_in(command: &mut Command) -> Result {
    let root = env_vars::root();
    for (variable, path) in FOLDERS {
        command.env(variable, root.join(path));
    }
    for (variable, name, folder) in PYTHONS {
        let pins = root.join(folder).join("requirements.txt");
        command.env(variable, python_with(name, &pins)?);
    }
    let (node, scripts) = node_with("javascript", &root.join("docs/oauth/javascript"))?;
    std::fs::copy(root.join(STRICT), scripts.join("strict.js"))?;
    // Debian 12 has Node.js 18, in which Web Crypto is off by default.
    if output(Command::new(&node).arg("--version"))?.starts_with("v18.") {
        command.env("NODE_OPTIONS", "--experimental-global-webcrypto");
    }
    command
        .env("HOLDFAST_E2E_NODE", node)
        .env("HOLDFAST_E2E_JAVASCRIPT", scripts)
        .env("HOLDFAST_E2E_RUST", rust()?);
    Ok(())
}

/// Builds the Rust example as its own workspace, as a reader who has copied the folder would.
fn rust() -> Result<PathBuf> {
    let target = folder().join("rust");
    run(cargo()
        .current_dir(env_vars::root().join("docs/oauth/rust"))
        .args(["build", "--locked"])
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "false"))?;
    Ok(target.join("debug"))
}

/// Sets up the Matrix server.
pub(super) fn name_synapse_in(command: &mut Command) -> Result {
    let pins = env_vars::root().join("crates/standalone/tests/e2e/synapse.txt");
    command.env("HOLDFAST_E2E_SYNAPSE", python_with("synapse", &pins)?);
    Ok(())
}

/// Sets up a browser, its driver, and the accessibility checker.
pub(super) fn name_browser_in(command: &mut Command) -> Result {
    let [chromium, driver] = obtain([&CHROMIUM, &DRIVER], &["fonts-dejavu-core"])?;
    let axe = env_vars::root().join("crates/standalone/tests/e2e/axe");
    let (_, axe) = node_with("axe", &axe)?;
    command
        .env("HOLDFAST_E2E_CHROMIUM", chromium)
        .env("HOLDFAST_E2E_CHROMEDRIVER", driver)
        .env(
            "HOLDFAST_E2E_AXE",
            axe.join("node_modules/axe-core/axe.min.js"),
        )
        .env("HOLDFAST_E2E_SCREENSHOTS", super::screenshots());
    Ok(())
}
