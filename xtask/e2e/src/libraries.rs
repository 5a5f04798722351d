//! Third-party programs that the tests need: a browser, libraries and a Matrix server, at versions pinned beside the tests
//! or in docs. Each function installs what is missing, and sets the variables through which the tests find it.

use std::path::PathBuf;
use std::process::Command;
use xtask_fixtures::servers;
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
    ("HOLDFAST_E2E_OPENAPI_PYTHON", "openapi", GENERATORS),
];
const E2E: &str = "crates/standalone/tests/e2e";
/// Calls both APIs as their OpenAPI documents describe them, and generates clients.
const GENERATORS: &str = "crates/standalone/tests/e2e/openapi";
/// The client that accepts only strict conformance. It is not an example, so it is not in docs.
const STRICT: &str = "crates/standalone/tests/e2e/strict.js";
/// Applications that the client tests run: the quick ones first.
const APPLICATIONS: [&str; 2] = ["applications", "servers"];

/// Sets up the client libraries and their languages, and the applications; `all` includes those that take long.
pub(super) fn name_clients_in(command: &mut Command, all: bool) -> Result {
    let groups = if all { 2 } else { 1 };
    for group in APPLICATIONS.iter().take(groups) {
        install_applications(group)?;
    }
    command
        .env("HOLDFAST_E2E_SOURCES", env_vars::root().join(E2E))
        .env("HOLDFAST_E2E_INSTALLED", folder());
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
    let (_, generators) = node_with("generators", &root.join(GENERATORS))?;
    command
        .env("HOLDFAST_E2E_NODE", node)
        .env("HOLDFAST_E2E_JAVASCRIPT", scripts)
        .env("HOLDFAST_E2E_GENERATORS", generators)
        .env(
            "HOLDFAST_E2E_OPENAPI_RUST",
            rust("openapi-rust", GENERATORS)?,
        )
        .env("HOLDFAST_E2E_RUST", rust("rust", "docs/oauth")?);
    Ok(())
}

/// Installs each application of a group with what its folder lists: packages for Python or Node.js, or of Debian.
fn install_applications(group: &str) -> Result {
    for entry in std::fs::read_dir(env_vars::root().join(E2E).join(group))? {
        let source = entry?.path();
        let name = format!(
            "{group}/{}",
            source.file_name().unwrap_or_default().display()
        );
        let pins = source.join("requirements.txt");
        if pins.exists() {
            python_with(&name, &pins)?;
        }
        if source.join("package.json").exists() {
            node_with(&name, &source)?;
        }
        if let Ok(packages) = std::fs::read_to_string(source.join("debian.txt")) {
            install_missing(&packages)?;
        }
        // Those whose installation would start a server.
        let packages = std::fs::read_to_string(source.join("extract.txt"));
        if !folder().join(&name).exists() {
            for package in packages.unwrap_or_default().split_whitespace() {
                servers::unpack(package, &folder().join(&name))?;
            }
        }
    }
    Ok(())
}

/// Installs the packages of Debian that are missing.
fn install_missing(packages: &str) -> Result {
    let missing = |name: &&str| {
        let status = output(Command::new("dpkg-query").args(["-W", "-f=${Status}", name]));
        !status.is_ok_and(|status| status == "install ok installed")
    };
    let missing: Vec<&str> = packages.split_whitespace().filter(missing).collect();
    match missing.as_slice() {
        [] => Ok(()),
        missing => servers::install(missing),
    }
}

/// Builds the folder `rust` in `parent` as its own workspace, as a reader who has copied it would.
fn rust(name: &str, parent: &str) -> Result<PathBuf> {
    let (root, target) = (env_vars::root(), folder().join(name));
    run(cargo()
        .current_dir(root.join(parent).join("rust"))
        .args(["build", "--locked"])
        .env("HOLDFAST_E2E_OPENAPI", root.join("docs/openapi"))
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "false"))?;
    Ok(target.join("debug"))
}

/// Sets up the Matrix server.
pub(super) fn name_synapse_in(command: &mut Command) -> Result {
    let name = "servers/synapse";
    let pins = env_vars::root()
        .join(E2E)
        .join(name)
        .join("requirements.txt");
    command.env("HOLDFAST_E2E_SYNAPSE", python_with(name, &pins)?);
    Ok(())
}

/// Sets up a browser, its driver, and the scripts that run in it.
pub(super) fn name_browser_in(command: &mut Command) -> Result {
    let [chromium, driver] = obtain([&CHROMIUM, &DRIVER], &["fonts-dejavu-core"])?;
    let axe = env_vars::root().join("crates/standalone/tests/e2e/axe");
    let (_, axe) = node_with("axe", &axe)?;
    let angular = env_vars::root().join(E2E).join("browsers/angular");
    let (_, angular) = node_with("angular", &angular)?;
    // The page gets the issuer and the client from a module of its own.
    let bundle = "app.js --bundle --format=esm --external:./config.js --outfile=bundle.js --log-level=warning";
    run(Command::new(angular.join("node_modules/.bin/esbuild"))
        .args(bundle.split(' '))
        .current_dir(&angular))?;
    command
        .env("HOLDFAST_E2E_CHROMIUM", chromium)
        .env("HOLDFAST_E2E_CHROMEDRIVER", driver)
        .env(
            "HOLDFAST_E2E_AXE",
            axe.join("node_modules/axe-core/axe.min.js"),
        )
        .env("HOLDFAST_E2E_ANGULAR", angular.join("bundle.js"))
        .env(
            "HOLDFAST_E2E_OIDC_CLIENT_TS",
            axe.join("node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js"),
        )
        .env("HOLDFAST_E2E_SCREENSHOTS", super::screenshots());
    Ok(())
}
