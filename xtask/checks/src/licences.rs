//! `cargo xtask licences`: checks the dependencies with cargo-deny against deny.toml.

use std::process::Command;
use xtask_kit::cmd::{Result, run};
use xtask_kit::envs;
use xtask_stand::runtimes;

/// The built cargo-deny: to compile it would take longer than all other checks together.
const PINS: &str = "xtask/checks/src/licences/requirements.txt";

pub(crate) fn licences() -> Result {
    let root = envs::root();
    let python = runtimes::python_with("cargo-deny", &root.join(PINS))?;
    run(Command::new(python.with_file_name("cargo-deny"))
        .current_dir(root)
        .args(["--locked", "check", "bans", "licenses", "sources"]))
}
