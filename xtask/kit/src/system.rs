//! The product as this tool runs it: real programs, fresh data, free ports.

use crate::cmd::{Group, Result, cargo, fail, interrupted, run};
use crate::envs;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Chat hooks on this machine, over plain http: for trying things out, never a default.
pub const LOCAL_HOOKS: [(&str, &str); 3] = [
    ("WORKSESSION__HTTP__ALLOW_PLAIN", "true"),
    ("NOTIFIER__HTTP__ALLOW_PLAIN", "true"),
    ("NOTIFIER__HTTP__ALLOWED_CIDRS", "127.0.0.0/8,::1/128"),
];

/// No limits, and passwords that cost nothing: neither is what is looked at.
pub const UNLIMITED: [(&str, &str); 4] = [
    ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
    ("WORKSESSION__RATE_LIMITS__ENABLED", "false"),
    ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
    ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
];

/// The parts, as they name themselves.
pub const PARTS: [&str; 3] = ["identity", "worksession", "notifier"];

/// What the benches measure the parts against names itself so.
pub const RESPONDER: &str = "responder";

/// A program of the product that answers. Dropping it stops it.
pub struct Program {
    addresses: BTreeMap<String, String>,
    process: Group,
}

impl Program {
    /// Starts it and waits until it says where each of these parts listens. What it logs goes to
    /// the file `log`.
    pub fn start(command: &mut Command, parts: &[&str], log: &Path) -> Result<Self> {
        command.stdout(Stdio::piped()).stderr(appended(log)?);
        command.stdin(Stdio::null());
        let mut process = Group::spawn(command)?;
        let lines = process.lines()?;
        let until = Instant::now() + Duration::from_secs(60);
        let mut addresses = BTreeMap::new();
        while !parts.iter().all(|part| addresses.contains_key(*part)) {
            match lines.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => addresses.extend(listening(&line)),
                Err(RecvTimeoutError::Timeout) if interrupted() => return fail("interrupted"),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => {
                    let log = std::fs::read_to_string(log).unwrap_or_default();
                    let name = command.get_program().to_string_lossy();
                    return fail(format!("{name} does not start: {}", log.trim()));
                }
            }
        }
        Ok(Self { addresses, process })
    }

    /// Starts it without waiting for anything.
    pub fn spawn(command: &mut Command, log: &Path) -> Result<Self> {
        command.stdout(Stdio::null()).stderr(appended(log)?);
        command.stdin(Stdio::null());
        Ok(Self {
            addresses: BTreeMap::new(),
            process: Group::spawn(command)?,
        })
    }

    /// Where a part answers: `http://HOST:PORT`.
    pub fn address(&self, part: &str) -> Result<&str> {
        match self.addresses.get(part) {
            Some(address) => Ok(address),
            None => fail(format!("{part} does not listen")),
        }
    }

    /// Its process, which is also its group.
    pub fn process(&mut self) -> &mut Group {
        &mut self.process
    }
}

/// `PROGRAM serve` on this data folder, on free ports, with hooks on this machine allowed.
pub fn serve(release: bool, program: &str, data: &Path) -> Command {
    let mut command = Command::new(binary(release, program));
    command.arg("serve").envs(LOCAL_HOOKS);
    if program == "holdfast" {
        command.arg("--data-dir").arg(data);
    }
    for part in PARTS {
        command
            .env(key(part, "LISTEN"), "127.0.0.1:0")
            .env(key(part, "DATA_DIR"), data);
    }
    command
}

/// A part's setting as the environment names it.
pub fn key(part: &str, setting: &str) -> String {
    format!("{}__{setting}", part.to_uppercase())
}

fn appended(log: &Path) -> Result<File> {
    Ok(File::options().create(true).append(true).open(log)?)
}

/// The part and the address of a line `listening NAME http://…`.
fn listening(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let (Some("listening"), Some(name), Some(url)) = (words.next(), words.next(), words.next())
    else {
        return None;
    };
    (PARTS.contains(&name) || name == RESPONDER).then(|| (name.to_owned(), url.to_owned()))
}

/// Where cargo puts the program.
pub fn binary(release: bool, name: &str) -> PathBuf {
    envs::target_dir()
        .join(if release { "release" } else { "debug" })
        .join(name)
}

/// Builds programs, showing cargo's progress. `--workspace` makes cargo choose the features that it
/// chooses for the tests: what they compiled is not compiled again.
pub fn build(release: bool, programs: &[&str]) -> Result {
    let mut command = cargo();
    command.args(["build", "--workspace"]);
    for program in programs {
        command.args(["--bin", program]);
    }
    if release {
        command.arg("--release");
    }
    run(&mut command)
}

/// Megabytes that a process holds in memory.
pub fn resident_mb(id: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    megabytes(&status, "VmRSS")
}

/// A figure of what `/proc/…/status` says of a process, in megabytes.
pub fn megabytes(status: &str, figure: &str) -> Result<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(figure));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    match kib {
        Some(kib) => Ok(kib * 1024.0 / 1e6),
        None => fail("/proc does not tell the memory"),
    }
}

/// The processor time that a process has used.
pub fn cpu_time(id: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    // After the name in parentheses, which may hold anything: the state is field 3, utime and stime are 14 and 15.
    let mut fields = stat
        .rsplit(") ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .skip(11);
    let mut ticks = || -> Option<u64> { fields.next()?.parse().ok() };
    match (ticks(), ticks()) {
        // Hundredths of a second, on every Linux.
        (Some(user), Some(system)) => Ok(Duration::from_millis(10 * (user + system))),
        _ => fail("/proc does not tell the processor time"),
    }
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
