//! `cargo xtask e2e`: `holdfast` with real browsers, third-party OAuth libraries and a real chat.

#![expect(
    clippy::print_stdout,
    reason = "a command-line tool prints to standard output"
)]

mod compose;
mod faults;
mod libraries;

use clap::Parser;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use xtask_fixtures::servers::{Rabbit, Source};
use xtask_fixtures::third_party;
use xtask_kit::cmd::{self, Result, cargo, fail, interrupted, run, run_reading};
use xtask_kit::report::Report;

/// Run the tests that need real browsers and third-party OAuth libraries
#[derive(Parser)]
#[command(bin_name = "cargo xtask e2e")]
struct Options {
    /// Run one part only
    only: Option<E2eSuite>,
    /// Also run the applications that take long
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    faults: faults::FaultOptions,
    #[command(flatten)]
    compose: compose::ComposeOptions,
    /// More arguments for the tests, such as a filter
    #[arg(last = true)]
    more: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum E2eSuite {
    /// The pages in headless Chromium, with a screenshot of each
    Browsers,
    /// The examples of docs/oauth and docs/events, a stricter client, applications, and both APIs against their
    /// OpenAPI documents
    Clients,
    /// A team's chat on a Matrix server
    Chat,
    /// Faults in everything behind the services, in turn and at once; runs only if named
    Faults,
    /// docker-compose.yml on a Docker engine, with one and with two of each service; runs only if named
    Compose,
}

impl E2eSuite {
    /// The parts that are cargo tests, each with its module.
    const TESTS: [(Self, &str); 3] = [
        (Self::Browsers, "browsers"),
        (Self::Clients, "clients"),
        (Self::Chat, "chat"),
    ];

    /// Installs or starts what the tests of this part need, and sets the variables through which they find it.
    fn name_tools_in(self, command: &mut Command, all: bool) -> Result<Option<Rabbit>> {
        match self {
            Self::Browsers => libraries::name_browser_in(command)?,
            Self::Clients => {
                libraries::name_clients_in(command, all)?;
                let rabbit = Rabbit::obtain(Source::Auto)?;
                command.env("HOLDFAST_TEST_AMQP", &rabbit.url);
                return Ok(Some(rabbit));
            }
            Self::Chat => libraries::name_synapse_in(command)?,
            Self::Faults | Self::Compose => return fail("this part has no cargo tests"),
        }
        Ok(None)
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    cmd::task(|| e2e(&options))
}

fn e2e(options: &Options) -> Result {
    if options.only == Some(E2eSuite::Faults) {
        return faults::faults(&options.faults);
    }
    if options.only == Some(E2eSuite::Compose) {
        return compose::compose(&options.compose);
    }
    // With `--workspace`, cargo selects the same features as for the other tests.
    let tests = || {
        let mut command = cargo();
        command.args(["test", "--locked", "--workspace", "--test", "e2e"]);
        command
    };
    run(tests().arg("--no-run"))?;
    let (mut report, mut ran) = (Report::default(), 0);
    for (part, name) in E2eSuite::TESTS {
        if options.only.is_some_and(|only| only != part) {
            continue;
        }
        let mut command = tests();
        let _rabbit = part.name_tools_in(&mut command, options.all)?;
        command.args(["--", "--ignored", &format!("{name}::")]);
        command.args(&options.more);
        if !options.all {
            command.args(["--skip", "clients::servers::"]);
        }
        // The report records the failure.
        let _ = report.step(name, || {
            run_reading(&mut command, |line| ran += usize::from(has_run(line)))?;
            Ok(match part {
                E2eSuite::Browsers => format!("ok; screenshots in {}", screenshots().display()),
                _ => "ok".to_owned(),
            })
        });
        if interrupted() {
            return fail("interrupted");
        }
    }
    report.print();
    report.verdict()?;
    match ran {
        0 => fail("no test has that name"),
        _ => Ok(()),
    }
}

/// Whether a line of a test program reports that a test has run.
fn has_run(line: &str) -> bool {
    let ends = [" ... ok", " ... FAILED"];
    line.starts_with("test ") && ends.iter().any(|end| line.ends_with(end))
}

/// Returns the folder for screenshots of the pages.
fn screenshots() -> PathBuf {
    third_party::folder().join("screenshots")
}

#[cfg(test)]
mod tests {
    use super::has_run;

    #[test]
    fn a_test_that_is_passed_over_has_not_run() {
        assert!(!has_run("test clients::authlib ... ignored, needs Authlib"));
        assert!(has_run("test clients::authlib ... ok"));
        assert!(has_run("test clients::authlib ... FAILED"));
        assert!(!has_run("running 3 tests"));
    }
}
