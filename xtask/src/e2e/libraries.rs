//! Other people's libraries and a Matrix server, at the versions that are pinned beside their tests or in docs, in folders below the target folder.

use super::folder;
use super::programs::Runtimes;
use crate::cmd::{Result, cargo, output, run};
use crate::envs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests need of Python's packages for the chat.
const SYNAPSE: &str = "crates/standalone/tests/e2e/synapse.txt";
/// What calls both APIs as they are described.
const OPENAPI: &str = "crates/standalone/tests/e2e/openapi/requirements.txt";
/// The client that takes nothing that is not to the letter; no example, and so not in docs.
const STRICT: &str = "crates/standalone/tests/e2e/strict.js";

/// The checker of pages' accessibility.
const AXE: &str = "crates/standalone/tests/e2e/axe";

/// Installs what is not there yet, and tells the tests where it is.
pub(super) fn name_in(command: &mut Command, runtimes: &Runtimes) -> Result {
    command
        .env("HOLDFAST_E2E_EXAMPLES", examples())
        .env(
            "HOLDFAST_E2E_PYTHON",
            venv(
                &runtimes.python,
                "python",
                &examples().join("python/requirements.txt"),
            )?,
        )
        .env("HOLDFAST_E2E_EVENTS", events())
        .env(
            "HOLDFAST_E2E_EVENTS_PYTHON",
            venv(
                &runtimes.python,
                "events",
                &events().join("requirements.txt"),
            )?,
        )
        .env("HOLDFAST_E2E_SCHEMAS", schemas())
        .env(
            "HOLDFAST_E2E_SCHEMAS_PYTHON",
            venv(
                &runtimes.python,
                "schemas",
                &schemas().join("requirements.txt"),
            )?,
        )
        .env("HOLDFAST_E2E_OPENAPI", envs::root().join("docs/openapi"))
        .env(
            "HOLDFAST_E2E_OPENAPI_PYTHON",
            venv(&runtimes.python, "openapi", &envs::root().join(OPENAPI))?,
        )
        .env("HOLDFAST_E2E_NODE", &runtimes.node)
        .env("HOLDFAST_E2E_JAVASCRIPT", javascript(runtimes)?)
        .env("HOLDFAST_E2E_RUST", rust()?);
    // The first Node.js that has Web Crypto without being asked is 20; Debian 12 has 18.
    if output(Command::new(&runtimes.node).arg("--version"))?.starts_with("v18.") {
        command.env("NODE_OPTIONS", "--experimental-global-webcrypto");
    }
    Ok(())
}

fn examples() -> PathBuf {
    envs::root().join("docs/oauth")
}

fn events() -> PathBuf {
    envs::root().join("docs/events")
}

/// The check of events against their schemas; no example either.
fn schemas() -> PathBuf {
    envs::root().join("crates/standalone/tests/e2e/schemas")
}

/// Installs the Matrix server unless it is there, and tells the tests where it is.
pub(super) fn name_synapse_in(command: &mut Command, python: &Path) -> Result {
    let pins = envs::root().join(SYNAPSE);
    command.env("HOLDFAST_E2E_SYNAPSE", venv(python, "synapse", &pins)?);
    Ok(())
}

/// Installs the checker of pages' accessibility unless it is there, and tells the tests where it is.
pub(super) fn name_axe_in(command: &mut Command, npm: &Path) -> Result {
    let (copy, source) = (folder().join("axe"), envs::root().join(AXE));
    std::fs::create_dir_all(&copy)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(source.join(file), copy.join(file))?;
    }
    install(npm, &copy)?;
    command.env(
        "HOLDFAST_E2E_AXE",
        copy.join("node_modules/axe-core/axe.min.js"),
    );
    Ok(())
}

/// A Python with the packages that `pins` lists; gives the program.
pub(super) fn venv(python: &Path, name: &str, pins: &Path) -> Result<PathBuf> {
    let venv = folder().join(name);
    let program = venv.join("bin/python");
    if !is_current(&venv, pins)? {
        let mut make = Command::new(python);
        run(make.args(["-m", "venv", "--clear"]).arg(&venv))?;
        run(Command::new(&program)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .arg("--requirement")
            .arg(pins))?;
        remember(&venv, pins)?;
    }
    Ok(program)
}

fn javascript(runtimes: &Runtimes) -> Result<PathBuf> {
    let copy = scripts(&runtimes.npm, "javascript", &examples().join("javascript"))?;
    std::fs::copy(envs::root().join(STRICT), copy.join("strict.js"))?;
    Ok(copy)
}

/// A copy of a folder's files with the packages that its lock file names. The scripts lie beside what they import:
/// Node.js looks for packages upwards from there.
pub(super) fn scripts(npm: &Path, name: &str, source: &Path) -> Result<PathBuf> {
    let copy = folder().join(name);
    std::fs::create_dir_all(&copy)?;
    for entry in std::fs::read_dir(source)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), copy.join(entry.file_name()))?;
        }
    }
    install(npm, &copy)?;
    Ok(copy)
}

/// Installs what the lock file in a folder names, unless it is there.
fn install(npm: &Path, folder: &Path) -> Result {
    let pins = folder.join("package-lock.json");
    if !is_current(folder, &pins)? {
        let mut install = Command::new(npm);
        install.args(["ci", "--no-audit", "--no-fund"]);
        run(install.current_dir(folder))?;
        remember(folder, &pins)?;
    }
    Ok(())
}

/// A workspace of its own, as somebody would build it who had copied the folder.
fn rust() -> Result<PathBuf> {
    let target = folder().join("rust");
    run(cargo()
        .current_dir(examples().join("rust"))
        .args(["build", "--locked"])
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "false"))?;
    Ok(target.join("debug"))
}

/// The pins that a folder was filled with lie in it, written last.
fn is_current(folder: &Path, pins: &Path) -> Result<bool> {
    let filled = std::fs::read(folder.join(".pins")).unwrap_or_default();
    Ok(filled == std::fs::read(pins)?)
}

fn remember(folder: &Path, pins: &Path) -> Result {
    std::fs::copy(pins, folder.join(".pins"))?;
    Ok(())
}
