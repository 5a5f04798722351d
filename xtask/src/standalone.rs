//! A `holdfast` of our own: fresh data, free ports.

use crate::cmd::{Group, Result, cargo, fail, interrupted, run};
use crate::envs;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Chat hooks on this machine, over plain http: for trying things out, never a default.
pub(crate) const LOCAL_HOOKS: [(&str, &str); 3] = [
    ("WORKSESSION__HTTP__ALLOW_PLAIN", "true"),
    ("NOTIFIER__HTTP__ALLOW_PLAIN", "true"),
    ("NOTIFIER__HTTP__ALLOWED_CIDRS", "127.0.0.0/8,::1/128"),
];

const NAMES: [&str; 3] = ["identity", "worksession", "notifier"];

/// A running `holdfast`. Dropping it stops it and removes its data.
pub(crate) struct Holdfast {
    addresses: BTreeMap<String, String>,
    _process: Group,
    _folder: TempDir,
}

impl Holdfast {
    pub(crate) fn start() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("holdfast-tour-")
            .tempdir()?;
        let log = folder.path().join("log");
        let mut command = Command::new(binary(false));
        command
            .arg("serve")
            .arg("--data-dir")
            .arg(folder.path().join("data"));
        for name in NAMES {
            command.env(format!("{}__LISTEN", name.to_uppercase()), "127.0.0.1:0");
        }
        command.envs(LOCAL_HOOKS);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log)?);
        let mut process = Group::spawn(&mut command)?;
        let lines = process.lines()?;
        let until = Instant::now() + Duration::from_secs(60);
        let mut addresses = BTreeMap::new();
        while addresses.len() < NAMES.len() {
            match lines.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => addresses.extend(listening(&line)),
                Err(RecvTimeoutError::Timeout) if interrupted() => return fail("interrupted"),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => {
                    let log = std::fs::read_to_string(&log).unwrap_or_default();
                    return fail(format!("holdfast does not start: {}", log.trim()));
                }
            }
        }
        Ok(Self {
            addresses,
            _process: process,
            _folder: folder,
        })
    }

    /// Where a part answers.
    pub(crate) fn address(&self, name: &str) -> Result<&str> {
        match self.addresses.get(name) {
            Some(address) => Ok(address),
            None => fail(format!("holdfast does not serve {name}")),
        }
    }
}

/// The part and the address of a line `listening NAME http://…`.
fn listening(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let (Some("listening"), Some(name), Some(url)) = (words.next(), words.next(), words.next())
    else {
        return None;
    };
    NAMES
        .contains(&name)
        .then(|| (name.to_owned(), url.to_owned()))
}

/// Where cargo puts the program.
pub(crate) fn binary(release: bool) -> PathBuf {
    envs::target_dir()
        .join(if release { "release" } else { "debug" })
        .join("holdfast")
}

/// Builds the program, showing cargo's progress.
pub(crate) fn build(release: bool) -> Result {
    let mut command = cargo();
    command.args(["build", "--package", "standalone", "--bin", "holdfast"]);
    if release {
        command.arg("--release");
    }
    run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::listening;

    #[test]
    fn only_the_lines_of_the_launch_contract_are_addresses() {
        let found = listening("listening identity http://127.0.0.1:8080");
        assert_eq!(
            found,
            Some(("identity".into(), "http://127.0.0.1:8080".into()))
        );
        assert_eq!(listening("listening something http://127.0.0.1:1"), None);
        assert_eq!(listening("sign in as mia"), None);
    }
}
