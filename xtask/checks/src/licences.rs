//! `cargo xtask licences`: checks the dependencies with cargo-deny against deny.toml.

use std::process::Command;
use xtask_fixtures::third_party;
use xtask_kit::cmd::{Result, run};
use xtask_kit::env_vars;

/// The built cargo-deny: to compile it would take longer than all other checks together.
const PINS: &str = "xtask/checks/src/licences/requirements.txt";

pub(crate) fn licences() -> Result {
    let root = env_vars::root();
    let python = third_party::python_with("cargo-deny", &root.join(PINS))?;
    run(Command::new(python.with_file_name("cargo-deny"))
        .current_dir(root)
        .args(["--locked", "check", "bans", "licenses", "sources"]))
}
