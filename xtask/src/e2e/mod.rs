//! `cargo xtask e2e`: the real `holdfast` before real browsers and other people's OAuth libraries.

mod libraries;
mod programs;

use crate::cmd::{Result, cargo, fail, interrupted, run, run_reading};
use crate::envs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// One half only
    only: Option<Half>,
    /// More arguments for the tests, such as a filter
    #[arg(last = true)]
    more: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Half {
    /// The pages in headless Chromium, with a screenshot of each
    Browsers,
    /// The examples of docs/oauth, and a stricter client
    Clients,
}

impl Half {
    const ALL: [Self; 2] = [Self::Browsers, Self::Clients];

    /// The module of the tests.
    fn name(self) -> &'static str {
        match self {
            Self::Browsers => "browsers",
            Self::Clients => "clients",
        }
    }

    /// Installs what its tests need, and tells them where it is.
    fn name_tools_in(self, command: &mut Command) -> Result {
        match self {
            Self::Browsers => {
                let programs = programs::browsers()?;
                command
                    .env("HOLDFAST_E2E_CHROMIUM", programs.chromium)
                    .env("HOLDFAST_E2E_CHROMEDRIVER", programs.driver)
                    .env("HOLDFAST_E2E_SCREENSHOTS", screenshots());
                Ok(())
            }
            Self::Clients => libraries::name_in(command, &programs::runtimes()?),
        }
    }
}

impl Options {
    /// Both halves.
    pub(crate) fn whole() -> Self {
        Self {
            only: None,
            more: Vec::new(),
        }
    }
}

pub(crate) fn e2e(options: &Options) -> Result {
    // With `--workspace` cargo chooses the features that it chooses for the other tests.
    let tests = || {
        let mut command = cargo();
        command.args(["test", "--locked", "--workspace", "--test", "e2e"]);
        command
    };
    run(tests().arg("--no-run"))?;
    let mut report = Report::default();
    for half in Half::ALL {
        if options.only.is_some_and(|only| only != half) {
            continue;
        }
        let mut command = tests();
        half.name_tools_in(&mut command)?;
        let module = format!("{}::", half.name());
        command.args(["--", "--ignored", &module]);
        command.args(&options.more);
        let started = Instant::now();
        let outcome = run_reading(&mut command, |line| report.add(half, line));
        if interrupted() {
            return fail("interrupted");
        }
        report.end(half, started.elapsed(), outcome.is_ok());
    }
    report.print();
    report.verdict()
}

/// Where pictures of the pages are put, and what else these tests need kept between runs.
fn folder() -> PathBuf {
    envs::target_dir().join("e2e")
}

fn screenshots() -> PathBuf {
    folder().join("screenshots")
}

/// What became of each test.
#[derive(Default)]
struct Report {
    tests: Vec<(&'static str, String, bool)>,
    halves: Vec<(Half, Duration, bool)>,
}

impl Report {
    /// Takes a line of the test program.
    fn add(&mut self, half: Half, line: &str) {
        if let Some((test, passed)) = outcome(line) {
            self.tests.push((half.name(), test, passed));
        }
    }

    fn end(&mut self, half: Half, time: Duration, passed: bool) {
        self.halves.push((half, time, passed));
    }

    fn print(&self) {
        println!("\n{:<9} {:<7} test", "half", "result");
        for (half, test, passed) in &self.tests {
            let result = if *passed { "ok" } else { "FAILED" };
            println!("{half:<9} {result:<7} {test}");
        }
        for (half, time, passed) in &self.halves {
            let result = if *passed { "ok" } else { "FAILED" };
            let seconds = time.as_secs_f64();
            println!("{:<9} {result:<7} all, in {seconds:.1} s", half.name());
            if *half == Half::Browsers {
                println!("screenshots of the pages: {}", screenshots().display());
            }
        }
    }

    fn verdict(&self) -> Result {
        let failed = self.halves.iter().filter(|(_, _, passed)| !passed);
        let failed: Vec<&str> = failed.map(|(half, ..)| half.name()).collect();
        if !failed.is_empty() {
            return fail(format!("failed: {}", failed.join(", ")));
        }
        if self.tests.is_empty() {
            return fail("no test of that name");
        }
        Ok(())
    }
}

/// The sentence of a test and whether it holds, from a line such as `test browsers::it_works ... ok`.
fn outcome(line: &str) -> Option<(String, bool)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, name) = name.rsplit_once("::")?;
    match result {
        "ok" => Some((name.replace('_', " "), true)),
        "FAILED" => Some((name.replace('_', " "), false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_tests_are_read_and_no_others() {
        let ok = outcome("test browsers::a_photo_is_shown ... ok");
        assert_eq!(ok, Some(("a photo is shown".to_owned(), true)));
        let failed = outcome("test clients::authlib ... FAILED");
        assert_eq!(failed, Some(("authlib".to_owned(), false)));
        for other in [
            "test result: ok. 3 passed; 0 failed",
            "test clients::authlib ... ignored, needs Authlib",
            "running 3 tests",
        ] {
            assert_eq!(outcome(other), None, "{other}");
        }
    }

    #[test]
    fn a_filter_that_fits_no_test_does_not_pass() {
        let mut report = Report::default();
        report.end(Half::Clients, Duration::ZERO, true);
        assert!(report.verdict().is_err());
        report.add(Half::Clients, "test clients::authlib ... ok");
        assert!(report.verdict().is_ok());
        report.end(Half::Browsers, Duration::ZERO, false);
        assert!(report.verdict().is_err());
    }
}
