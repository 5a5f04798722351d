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

/// Installs Debian's packages of these names, or says which ones are missing.
pub fn install(packages: &[&str]) -> Result {
    let named = packages.join(" ");
    if !possible() {
        return fail(format!(
            "cannot install {named}: this is not root on Debian"
        ));
    }
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
    if !possible() {
        return fail(format!(
            "cannot fetch {package}: this is not root on Debian"
        ));
    }
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
