//! `cargo xtask e2e`: the real `holdfast` before real browsers, other people's OAuth libraries and a real chat.

#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

mod compose;
mod faults;
mod libraries;

use clap::Parser;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use xtask_kit::cmd::{self, Result, cargo, fail, interrupted, run, run_reading};
use xtask_stand::runtimes;
use xtask_stand::servers::{Rabbit, Source};

/// Run the tests that need real browsers and other people's OAuth libraries
#[derive(Parser)]
#[command(bin_name = "cargo xtask e2e")]
struct Options {
    /// One part only
    only: Option<Part>,
    #[command(flatten)]
    faults: faults::FaultOptions,
    #[command(flatten)]
    compose: compose::ComposeOptions,
    /// More arguments for the tests, such as a filter
    #[arg(last = true)]
    more: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The pages in headless Chromium, with a screenshot of each
    Browsers,
    /// The examples of docs/oauth and docs/events, a stricter client, and both APIs against their descriptions
    Clients,
    /// A team's chat on a Matrix server
    Chat,
    /// Everything behind the services breaks, in turn and at once; only when asked for by name
    Faults,
    /// docker-compose.yml on a Docker engine, alone and with two of each; only when asked for by name
    Compose,
}

impl Part {
    const ALL: [Self; 3] = [Self::Browsers, Self::Clients, Self::Chat];

    /// The module of the tests.
    fn name(self) -> &'static str {
        match self {
            Self::Browsers => "browsers",
            Self::Clients => "clients",
            Self::Chat => "chat",
            Self::Faults => "faults",
            Self::Compose => "compose",
        }
    }

    /// Installs or starts what its tests need, and tells them where it is.
    fn name_tools_in(self, command: &mut Command) -> Result<Option<Rabbit>> {
        match self {
            Self::Browsers => libraries::name_browser_in(command)?,
            Self::Clients => {
                libraries::name_clients_in(command)?;
                let rabbit = Rabbit::obtain(Source::Auto)?;
                command.env("HOLDFAST_TEST_AMQP", &rabbit.url);
                return Ok(Some(rabbit));
            }
            Self::Chat => libraries::name_synapse_in(command)?,
            Self::Faults | Self::Compose => return fail("no tests of cargo's"),
        }
        Ok(None)
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    cmd::task(|| e2e(&options))
}

fn e2e(options: &Options) -> Result {
    if options.only == Some(Part::Faults) {
        return faults::faults(&options.faults);
    }
    if options.only == Some(Part::Compose) {
        return compose::compose(&options.compose);
    }
    // With `--workspace` cargo chooses the features that it chooses for the other tests.
    let tests = || {
        let mut command = cargo();
        command.args(["test", "--locked", "--workspace", "--test", "e2e"]);
        command
    };
    run(tests().arg("--no-run"))?;
    let mut report = Report::default();
    for part in Part::ALL {
        if options.only.is_some_and(|only| only != part) {
            continue;
        }
        let mut command = tests();
        let _rabbit = part.name_tools_in(&mut command)?;
        let module = format!("{}::", part.name());
        command.args(["--", "--ignored", &module]);
        command.args(&options.more);
        let started = Instant::now();
        let outcome = run_reading(&mut command, |line| report.add(line));
        if interrupted() {
            return fail("interrupted");
        }
        report.end(part, started.elapsed(), outcome.is_ok());
    }
    report.print();
    report.verdict()
}

/// Where pictures of the pages are put.
fn screenshots() -> PathBuf {
    runtimes::folder().join("screenshots")
}

/// What became of each part.
#[derive(Default)]
struct Report {
    /// Tests that ran.
    tests: usize,
    parts: Vec<(Part, Duration, bool)>,
}

impl Report {
    /// Takes a line of the test program.
    fn add(&mut self, line: &str) {
        let ran = [" ... ok", " ... FAILED"];
        let ran = line.starts_with("test ") && ran.iter().any(|end| line.ends_with(end));
        self.tests += usize::from(ran);
    }

    fn end(&mut self, part: Part, time: Duration, passed: bool) {
        self.parts.push((part, time, passed));
    }

    fn print(&self) {
        println!();
        for (part, time, passed) in &self.parts {
            let result = if *passed { "ok" } else { "FAILED" };
            println!(
                "{:<9} {result:<7} in {:.1} s",
                part.name(),
                time.as_secs_f64()
            );
            if *part == Part::Browsers {
                println!("screenshots of the pages: {}", screenshots().display());
            }
        }
    }

    fn verdict(&self) -> Result {
        let failed = self.parts.iter().filter(|(_, _, passed)| !passed);
        let failed: Vec<&str> = failed.map(|(part, ..)| part.name()).collect();
        if !failed.is_empty() {
            return fail(format!("failed: {}", failed.join(", ")));
        }
        if self.tests == 0 {
            return fail("no test of that name");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_fits_no_test_does_not_pass() {
        let mut report = Report::default();
        report.end(Part::Clients, Duration::ZERO, true);
        report.add("test clients::authlib ... ignored, needs Authlib");
        assert!(report.verdict().is_err());
        report.add("test clients::authlib ... ok");
        assert!(report.verdict().is_ok());
        report.end(Part::Browsers, Duration::ZERO, false);
        assert!(report.verdict().is_err());
    }
}
