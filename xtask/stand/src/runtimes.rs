//! Programs that tests need, found or installed with Debian's packages; and Python and Node.js with other people's packages
//! at pinned versions, in folders below the target folder.

use crate::servers;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask_kit::cmd::{Context, Result, output, run};
use xtask_kit::envs;

/// A program under one of its names, and the package that has it.
pub struct Wanted {
    /// The names, the best first.
    pub names: &'static [&'static str],
    /// Debian's package.
    pub package: &'static str,
}

const PYTHON: Wanted = Wanted {
    names: &["python3"],
    package: "python3-venv",
};
const NODE: Wanted = Wanted {
    names: &["node"],
    package: "nodejs",
};
const NPM: Wanted = Wanted {
    names: &["npm"],
    package: "npm",
};

/// Finds these programs; what is missing is installed first, with the packages `beside` it.
pub fn obtain<const N: usize>(wanted: [&Wanted; N], beside: &[&str]) -> Result<[PathBuf; N]> {
    let missing = wanted.iter().filter(|wanted| wanted.find().is_none());
    let mut packages: Vec<&str> = missing.map(|wanted| wanted.package).collect();
    if !packages.is_empty() {
        packages.extend(beside);
        servers::install(&packages)
            .context(|| "this needs programs that are not here".to_owned())?;
    }
    let mut found = wanted.map(|_| PathBuf::new());
    for (path, wanted) in found.iter_mut().zip(wanted) {
        let missing = format!("{} is not in PATH", wanted.names.join(" or "));
        let program = wanted.find().ok_or(missing);
        *path = program.context(|| format!("package {}", wanted.package))?;
    }
    Ok(found)
}

impl Wanted {
    fn find(&self) -> Option<PathBuf> {
        let found = self.names.iter().find_map(|name| envs::which(name));
        // Debian splits Python: what makes a virtual environment has a package of its own.
        let whole = |path: &PathBuf| {
            self.package != PYTHON.package
                || output(Command::new(path).args(["-c", "import ensurepip, venv"])).is_ok()
        };
        found.filter(whole)
    }
}

/// A Python with the packages that the file `pins` lists, kept under this name; gives the program.
pub fn python_with(name: &str, pins: &Path) -> Result<PathBuf> {
    let [python] = obtain([&PYTHON], &[])?;
    let venv = folder().join(name);
    let program = venv.join("bin/python");
    if !is_current(&venv, pins)? {
        let mut make = Command::new(python);
        run(make.args(["-m", "venv", "--clear"]).arg(&venv))?;
        let install = "-m pip install --quiet --disable-pip-version-check --requirement";
        run(Command::new(&program).args(install.split(' ')).arg(pins))?;
        remember(&venv, pins)?;
    }
    Ok(program)
}

/// Node.js, and a folder kept under this name that has the files of `source` and the packages which its lock file names.
/// The scripts lie beside what they import: Node.js looks for packages upwards from there.
pub fn node_with(name: &str, source: &Path) -> Result<(PathBuf, PathBuf)> {
    let [node, npm] = obtain([&NODE, &NPM], &[])?;
    let copy = folder().join(name);
    std::fs::create_dir_all(&copy)?;
    for entry in std::fs::read_dir(source)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), copy.join(entry.file_name()))?;
        }
    }
    let pins = copy.join("package-lock.json");
    if !is_current(&copy, &pins)? {
        let mut install = Command::new(npm);
        install.args(["ci", "--no-audit", "--no-fund"]);
        run(install.current_dir(&copy))?;
        remember(&copy, &pins)?;
    }
    Ok((node, copy))
}

/// Where it is kept, with what else is kept between runs.
pub fn folder() -> PathBuf {
    envs::target_dir().join("e2e")
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
