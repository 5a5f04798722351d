//! Installing the servers' packages: the last way, on Debian as root.

use std::path::Path;
use std::process::Command;
use xtask_kit::cmd::{Result, fail, output, run};
use xtask_kit::envs;

/// Whether packages can be installed here.
pub(super) fn possible() -> bool {
    envs::which("apt-get").is_some() && is_root()
}

/// Whether this process may do everything.
pub(super) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// What is found, where it has to be after its package was installed if that is possible here.
pub(super) fn obtain<T>(find: impl Fn() -> Option<T>, package: &str) -> Result<Option<T>> {
    let found = find();
    if found.is_some() || !possible() {
        return Ok(found);
    }
    install(&[package])?;
    Ok(find())
}

/// Installs Debian's packages of these names, or says which ones are missing.
pub fn install(packages: &[&str]) -> Result {
    let named = packages.join(" ");
    must_be_possible(&named)?;
    println!("not everything is here: installing {named} with apt-get");
    // An installation that somebody interrupted makes every later one fail until it is finished.
    run(quiet("dpkg").args(["--configure", "-a"]))?;
    run(apt().args(["update", "--quiet"]))?;
    run(apt()
        .args(["install", "--quiet", "--yes", "--no-install-recommends"])
        .args(packages))
}

/// Puts the files of a package of Debian's below a folder, and runs nothing of it: no server starts.
pub fn unpack(package: &str, folder: &Path) -> Result {
    must_be_possible(package)?;
    println!("not everything is here: taking {package} from its package");
    let fetched = tempfile::tempdir()?;
    run(apt().args(["update", "--quiet"]))?;
    run(apt()
        .current_dir(fetched.path())
        .args(["download", "--quiet", package]))?;
    let Some(archive) = std::fs::read_dir(fetched.path())?.next() else {
        return fail(format!("apt-get fetched no {package}"));
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
            "cannot install {packages}: this is not root on Debian"
        )),
    }
}

/// Waits for another installation to end, as on a machine that is still setting itself up.
fn apt() -> Command {
    let mut command = quiet("apt-get");
    command.args(["-o", "DPkg::Lock::Timeout=300"]);
    command
}

/// A program of Debian's that asks no questions.
fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
