//! The browser and the languages that the tests need: found, or installed with Debian's packages.

use crate::cmd::{Context, Result, output};
use crate::envs;
use crate::servers;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A browser, what drives it, and what installs the checker of its pages.
pub(super) struct Browsers {
    pub(super) chromium: PathBuf,
    pub(super) driver: PathBuf,
    pub(super) npm: PathBuf,
}

/// The languages of the client libraries.
pub(super) struct Runtimes {
    pub(super) python: PathBuf,
    pub(super) node: PathBuf,
    pub(super) npm: PathBuf,
}

/// A program under one of its names, and the package that has it.
struct Wanted {
    names: &'static [&'static str],
    package: &'static str,
    /// Whether what was found is whole: Debian splits some programs.
    is_whole: fn(&Path) -> bool,
}

const CHROMIUM: Wanted = Wanted {
    names: &["chromium", "chromium-browser", "google-chrome"],
    package: "chromium",
    is_whole: |_| true,
};
const DRIVER: Wanted = Wanted {
    names: &["chromedriver"],
    package: "chromium-driver",
    is_whole: |_| true,
};
const PYTHON: Wanted = Wanted {
    names: &["python3"],
    package: "python3-venv",
    is_whole: |python| output(Command::new(python).args(["-c", "import ensurepip, venv"])).is_ok(),
};
const NODE: Wanted = Wanted {
    names: &["node"],
    package: "nodejs",
    is_whole: |_| true,
};
const NPM: Wanted = Wanted {
    names: &["npm"],
    package: "npm",
    is_whole: |_| true,
};

pub(super) fn browsers() -> Result<Browsers> {
    let mut missing = vec![&CHROMIUM, &DRIVER, &NODE, &NPM];
    missing.retain(|wanted| wanted.find().is_none());
    install(&missing, &["fonts-dejavu-core"])?;
    Ok(Browsers {
        chromium: CHROMIUM.get()?,
        driver: DRIVER.get()?,
        npm: NPM.get()?,
    })
}

/// Python alone.
pub(super) fn python() -> Result<PathBuf> {
    let mut missing = vec![&PYTHON];
    missing.retain(|wanted| wanted.find().is_none());
    install(&missing, &[])?;
    PYTHON.get()
}

/// Node.js, and what installs its packages.
pub(super) fn node() -> Result<(PathBuf, PathBuf)> {
    let mut missing = vec![&NODE, &NPM];
    missing.retain(|wanted| wanted.find().is_none());
    install(&missing, &[])?;
    Ok((NODE.get()?, NPM.get()?))
}

pub(super) fn runtimes() -> Result<Runtimes> {
    let mut missing = vec![&PYTHON, &NODE, &NPM];
    missing.retain(|wanted| wanted.find().is_none());
    install(&missing, &[])?;
    Ok(Runtimes {
        python: PYTHON.get()?,
        node: NODE.get()?,
        npm: NPM.get()?,
    })
}

fn install(missing: &[&Wanted], beside: &[&str]) -> Result {
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.iter().map(|wanted| wanted.package);
    let packages: Vec<&str> = packages.chain(beside.iter().copied()).collect();
    servers::install(&packages).context(|| "this needs programs that are not here".to_owned())
}

impl Wanted {
    fn find(&self) -> Option<PathBuf> {
        let found = self.names.iter().find_map(|name| envs::which(name));
        found.filter(|path| (self.is_whole)(path))
    }

    fn get(&self) -> Result<PathBuf> {
        let missing = format!("{} is not in PATH", self.names.join(" or "));
        self.find()
            .ok_or(missing)
            .context(|| format!("package {}", self.package))
    }
}
