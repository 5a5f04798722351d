//! A service as a process that is killed and started again, at the same address.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use xtask_kit::cmd::{Result, fail, interrupted, nap};
use xtask_kit::system::Program;

/// How long a service may fail to start, one start after the other: what it needs may be away.
const PATIENCE: Duration = Duration::from_secs(120);

/// One of the three.
pub(super) struct Service {
    part: &'static str,
    command: Command,
    log: PathBuf,
    program: Option<Program>,
    /// Starts that failed because what the service needs was away, as a supervisor would see them.
    pub(super) failed_starts: usize,
}

impl Service {
    /// A binary that names its part `part`; not started yet.
    pub(super) fn new(part: &'static str, command: Command, log: PathBuf) -> Self {
        Self {
            part,
            command,
            log,
            program: None,
            failed_starts: 0,
        }
    }

    /// Starts it, again and again until it listens.
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

    /// `kill -9`.
    pub(super) fn kill(&mut self) {
        if let Some(mut program) = self.program.take() {
            program.process().signal("KILL");
        }
    }

    /// Fails when it ended without having been killed.
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
