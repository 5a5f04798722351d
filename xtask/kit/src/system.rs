//! The product's programs as this tool runs them: with fresh data, on free ports.

use crate::cmd::{ProcessGroup, Result, cargo, fail, interrupted, run};
use crate::env_vars;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Settings that allow chat hooks on this machine over plain HTTP: for trials, never a default.
pub const LOCAL_HOOKS: [(&str, &str); 3] = [
    ("WORKSESSION__HTTP__ALLOW_PLAIN", "true"),
    ("NOTIFIER__HTTP__ALLOW_PLAIN", "true"),
    ("NOTIFIER__HTTP__ALLOWED_CIDRS", "127.0.0.0/8,::1/128"),
];

/// Settings without rate limits and with cheap password hashes, for runs that measure neither.
pub const UNLIMITED: [(&str, &str); 4] = [
    ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
    ("WORKSESSION__RATE_LIMITS__ENABLED", "false"),
    ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
    ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
];

/// The names of the parts in their `listening` lines.
pub const PARTS: [&str; 3] = ["identity", "worksession", "notifier"];

/// The name in the `listening` line of the server that the benchmarks compare the parts with.
pub const RESPONDER: &str = "responder";

/// A running program of the product. Dropping it stops the program.
pub struct Program {
    addresses: BTreeMap<String, String>,
    process: ProcessGroup,
}

impl Program {
    /// Starts the program and waits up to 60 seconds for the address of each of `parts`. Its log is appended to the file `log`.
    pub fn start(command: &mut Command, parts: &[&str], log: &Path) -> Result<Self> {
        command.stdout(Stdio::piped()).stderr(appended(log)?);
        command.stdin(Stdio::null());
        let mut process = ProcessGroup::spawn(command)?;
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
                    return fail(format!("{name} did not start: {}", log.trim()));
                }
            }
        }
        Ok(Self { addresses, process })
    }

    /// Starts the program without waiting for addresses.
    pub fn spawn(command: &mut Command, log: &Path) -> Result<Self> {
        command.stdout(Stdio::null()).stderr(appended(log)?);
        command.stdin(Stdio::null());
        Ok(Self {
            addresses: BTreeMap::new(),
            process: ProcessGroup::spawn(command)?,
        })
    }

    /// Returns the address of a part: `http://HOST:PORT`.
    pub fn address(&self, part: &str) -> Result<&str> {
        match self.addresses.get(part) {
            Some(address) => Ok(address),
            None => fail(format!("{part} does not listen")),
        }
    }

    /// The process of the program, with its group.
    pub fn process(&mut self) -> &mut ProcessGroup {
        &mut self.process
    }
}

/// Returns the command `PROGRAM serve` with this data folder, on free ports, with chat hooks on this machine allowed.
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

/// Returns the name of a part's setting in the environment.
pub fn key(part: &str, setting: &str) -> String {
    format!("{}__{setting}", part.to_uppercase())
}

fn appended(log: &Path) -> Result<File> {
    Ok(File::options().create(true).append(true).open(log)?)
}

/// Parses a line `listening NAME http://…` into the part and its address.
fn listening(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let (Some("listening"), Some(name), Some(url)) = (words.next(), words.next(), words.next())
    else {
        return None;
    };
    (PARTS.contains(&name) || name == RESPONDER).then(|| (name.to_owned(), url.to_owned()))
}

/// Returns the path at which cargo puts a program.
pub fn binary(release: bool, name: &str) -> PathBuf {
    env_vars::target_dir()
        .join(if release { "release" } else { "debug" })
        .join(name)
}

/// Builds programs and shows cargo's progress. With `--workspace`, cargo selects the same features as for the tests, so
/// that nothing is compiled twice.
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

/// Returns the resident memory of a process in megabytes.
pub fn resident_mb(id: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    megabytes(&status, "VmRSS")
}

/// Returns a field of `/proc/PID/status` in megabytes.
pub fn megabytes(status: &str, figure: &str) -> Result<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(figure));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    match kib {
        Some(kib) => Ok(kib * 1024.0 / 1e6),
        None => fail(format!("/proc/PID/status has no {figure}")),
    }
}

/// Returns the processor time, user and system, that a process has used.
pub fn cpu_time(id: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The name in parentheses may contain anything. After it the state is field 3, utime 14 and stime 15.
    let mut fields = stat
        .rsplit(") ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .skip(11);
    let mut ticks = || -> Option<u64> { fields.next()?.parse().ok() };
    match (ticks(), ticks()) {
        // Linux reports ticks of 10 ms to user space.
        (Some(user), Some(system)) => Ok(Duration::from_millis(10 * (user + system))),
        _ => fail("/proc/PID/stat has no processor time"),
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
