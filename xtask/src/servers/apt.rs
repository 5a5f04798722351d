//! Installing the servers' packages: the last way, on Debian as root.

use crate::cmd::{Result, fail, output, run};
use crate::envs;
use std::process::Command;

/// Whether packages can be installed here.
pub(super) fn possible() -> bool {
    envs::which("apt-get").is_some() && is_root()
}

/// Whether this process may do everything.
pub(super) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Installs Debian's packages of these names, or says which ones are missing.
pub(crate) fn install(packages: &[&str]) -> Result {
    let named = packages.join(" ");
    if !possible() {
        return fail(format!(
            "cannot install {named}: this is not root on Debian"
        ));
    }
    println!("not everything is here: installing {named} with apt-get");
    run(apt().args(["update", "--quiet"]))?;
    run(apt()
        .args(["install", "--quiet", "--yes", "--no-install-recommends"])
        .args(packages))
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
