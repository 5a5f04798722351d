//! Installs Debian packages: the last resort, and only as root on Debian.

use std::path::Path;
use std::process::Command;
use xtask_kit::cmd::{Result, fail, output, run};
use xtask_kit::envs;

/// Whether packages can be installed here.
pub(super) fn possible() -> bool {
    envs::which("apt-get").is_some() && is_root()
}

/// Whether this process runs as root.
pub(super) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Returns what `find` returns. If that is nothing, installs the package where possible, and tries again.
pub(super) fn obtain<T>(find: impl Fn() -> Option<T>, package: &str) -> Result<Option<T>> {
    let found = find();
    if found.is_some() || !possible() {
        return Ok(found);
    }
    install(&[package])?;
    Ok(find())
}

/// Installs these Debian packages; fails with their names if this is not possible.
pub fn install(packages: &[&str]) -> Result {
    let named = packages.join(" ");
    must_be_possible(&named)?;
    println!("installing {named} with apt-get");
    // An interrupted installation makes every later one fail until it is finished.
    run(quiet("dpkg").args(["--configure", "-a"]))?;
    run(apt().args(["update", "--quiet"]))?;
    run(apt()
        .args(["install", "--quiet", "--yes", "--no-install-recommends"])
        .args(packages))
}

/// Extracts a Debian package into a folder without running its scripts, so that no server starts.
pub fn unpack(package: &str, folder: &Path) -> Result {
    must_be_possible(package)?;
    println!("extracting the Debian package {package}");
    let fetched = tempfile::tempdir()?;
    run(apt().args(["update", "--quiet"]))?;
    run(apt()
        .current_dir(fetched.path())
        .args(["download", "--quiet", package]))?;
    let Some(archive) = std::fs::read_dir(fetched.path())?.next() else {
        return fail(format!("apt-get downloaded no {package}"));
    };
    std::fs::create_dir_all(folder)?;
    run(Command::new("dpkg-deb")
        .arg("--extract")
        .arg(archive?.path())
        .arg(folder))
}

fn must_be_possible(packages: &str) -> Result {
    match possible() {
        true => Ok(()),
        false => fail(format!(
            "cannot install {packages}: this needs root on Debian"
        )),
    }
}

/// Returns an `apt-get` that waits up to 300 seconds for another installation, as on a machine that is being set up.
fn apt() -> Command {
    let mut command = quiet("apt-get");
    command.args(["-o", "DPkg::Lock::Timeout=300"]);
    command
}

/// Returns a Debian program that asks no questions.
fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
