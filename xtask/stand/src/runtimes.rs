//! Programs that tests need, found or installed from Debian's packages; Python and Node.js with third-party packages at
//! pinned versions, in folders below the target folder.

use crate::servers;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask_kit::cmd::{Context, Result, output, run};
use xtask_kit::envs;

/// A program with its possible names, and the package that contains it.
pub struct RequiredProgram {
    /// The names, the best one first.
    pub names: &'static [&'static str],
    /// The Debian package.
    pub package: &'static str,
}

const PYTHON: RequiredProgram = RequiredProgram {
    names: &["python3"],
    package: "python3-venv",
};
const NODE: RequiredProgram = RequiredProgram {
    names: &["node"],
    package: "nodejs",
};
const NPM: RequiredProgram = RequiredProgram {
    names: &["npm"],
    package: "npm",
};

/// Finds these programs. Missing ones are installed first, together with the packages in `beside`.
pub fn obtain<const N: usize>(
    wanted: [&RequiredProgram; N],
    beside: &[&str],
) -> Result<[PathBuf; N]> {
    let missing = wanted.iter().filter(|wanted| wanted.find().is_none());
    let mut packages: Vec<&str> = missing.map(|wanted| wanted.package).collect();
    if !packages.is_empty() {
        packages.extend(beside);
        servers::install(&packages).context(|| "some programs are missing".to_owned())?;
    }
    let mut found = wanted.map(|_| PathBuf::new());
    for (path, wanted) in found.iter_mut().zip(wanted) {
        let missing = format!("{} is not in PATH", wanted.names.join(" or "));
        let program = wanted.find().ok_or(missing);
        *path = program.context(|| format!("package {}", wanted.package))?;
    }
    Ok(found)
}

impl RequiredProgram {
    fn find(&self) -> Option<PathBuf> {
        let found = self.names.iter().find_map(|name| envs::which(name));
        // Debian splits Python: the module for virtual environments has its own package.
        let whole = |path: &PathBuf| {
            self.package != PYTHON.package
                || output(Command::new(path).args(["-c", "import ensurepip, venv"])).is_ok()
        };
        found.filter(whole)
    }
}

/// Returns a Python interpreter from a virtual environment named `name`, with the packages listed in the file `pins`.
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

/// Returns Node.js and a folder named `name` with the files of `source` and the packages of its lock file. The scripts are
/// copied beside the packages because Node.js looks for those upwards from a script.
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

/// Returns the folder for everything that is kept between runs.
pub fn folder() -> PathBuf {
    envs::target_dir().join("e2e")
}

/// Whether a folder was filled from these pins. A copy of the pins is written to it last.
fn is_current(folder: &Path, pins: &Path) -> Result<bool> {
    let filled = std::fs::read(folder.join(".pins")).unwrap_or_default();
    Ok(filled == std::fs::read(pins)?)
}

fn remember(folder: &Path, pins: &Path) -> Result {
    std::fs::copy(pins, folder.join(".pins"))?;
    Ok(())
}
