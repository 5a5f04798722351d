//! A service as a process that is killed and started again at the same address.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use xtask_kit::cmd::{Result, fail, interrupted, nap};
use xtask_kit::system::Program;

/// How long starts of a service may fail, one after the other: a server that it needs may be down.
const PATIENCE: Duration = Duration::from_secs(120);

/// One of the three services.
pub(super) struct Service {
    part: &'static str,
    command: Command,
    log: PathBuf,
    program: Option<Program>,
    /// Starts that failed because a server was down, as a supervisor would count them.
    pub(super) failed_starts: usize,
}

impl Service {
    /// Creates a service that is not started yet. Its program calls itself `part`.
    pub(super) fn new(part: &'static str, command: Command, log: PathBuf) -> Self {
        Self {
            part,
            command,
            log,
            program: None,
            failed_starts: 0,
        }
    }

    /// Starts the service, repeatedly until it listens.
    pub(super) fn start(&mut self) -> Result {
        let until = Instant::now() + PATIENCE;
        loop {
            match Program::start(&mut self.command, &[self.part], &self.log) {
                Ok(program) => {
                    self.program = Some(program);
                    return Ok(());
                }
                Err(_) if !interrupted() && Instant::now() < until => {
                    self.failed_starts += 1;
                    nap(Duration::from_millis(300))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Kills the service with SIGKILL.
    pub(super) fn kill(&mut self) {
        if let Some(mut program) = self.program.take() {
            program.process().signal("KILL");
        }
    }

    /// Fails if the service ended without being killed.
    pub(super) fn must_be_alive(&mut self) -> Result {
        let Some(program) = &mut self.program else {
            return Ok(());
        };
        if program.process().is_alive() {
            return Ok(());
        }
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let end: Vec<&str> = log.lines().rev().take(5).collect();
        let end = end.join(" | ");
        fail(format!("{} ended by itself: {end}", self.part))
    }
}
