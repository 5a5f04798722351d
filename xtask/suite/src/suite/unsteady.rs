//! Tests that fail beside others and pass alone.

use super::Counts;
use std::process::Command;
use xtask_kit::cmd::{Result, fail, run_reading};

/// The largest number of failed tests that are repeated. More of them are no accident of timing.
const MOST: usize = 5;

/// The results of a test run, read line by line.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) counts: Counts,
    failed: Vec<String>,
    begun: usize,
    ended: usize,
}

impl Reading {
    pub(super) fn add(&mut self, line: &str) {
        self.counts.add(line);
        self.failed.extend(failed_test(line).map(str::to_owned));
        self.begun += usize::from(line.starts_with("running ") && line.contains(" test"));
        self.ended += usize::from(line.starts_with("test result: "));
    }

    /// Returns the failed tests, if they are few and the only failures. A program that aborted, or failed without naming a
    /// test, is not repeated.
    fn few(&self) -> Option<&[String]> {
        let named = u64::try_from(self.failed.len()).is_ok_and(|count| count == self.counts.failed);
        let is_few = (1..=MOST).contains(&self.failed.len());
        (named && is_few && self.begun == self.ended).then_some(&self.failed)
    }
}

/// Repeats failed tests alone, because a machine that was busy for a minute must not reject a change. A test that fails
/// again is broken; one that passes is named, so that somebody fixes it.
pub(super) fn try_alone(first: &mut Reading, command: &mut Command) -> Result {
    let Some(names) = first.few() else {
        return fail("tests failed");
    };
    println!("these tests failed and are repeated alone:");
    for name in names {
        println!("  {name}");
    }
    let mut again = Reading::default();
    let outcome = run_reading(command.args(["--", "--exact"]).args(names), |line| {
        again.add(line);
    });
    let wanted = u64::try_from(names.len())?;
    if outcome.is_err() || again.counts.failed > 0 || again.counts.passed < wanted {
        return fail("tests failed twice");
    }
    println!(
        "UNSTEADY: {} failed once and passed alone",
        names.join(", ")
    );
    first.counts.failed -= wanted;
    first.counts.passed += wanted;
    Ok(())
}

/// Returns the name in a line such as `test told::it_is_told ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(lines: &[&str]) -> Reading {
        let mut reading = Reading::default();
        for line in lines {
            reading.add(line);
        }
        reading
    }

    const ENDED: &str = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s";

    #[test]
    fn a_failed_test_is_named_and_may_be_run_again() {
        let lines = [
            "running 2 tests",
            "test a::b ... ok",
            "test a::c ... FAILED",
            ENDED,
        ];
        assert_eq!(reading(&lines).few().unwrap(), ["a::c"]);
    }

    #[test]
    fn what_is_not_explained_by_few_tests_is_final() {
        let aborted = [
            "running 2 tests",
            "test a::c ... FAILED",
            ENDED,
            "running 9 tests",
        ];
        assert!(reading(&aborted).few().is_none());
        let unnamed = ["running 2 tests", ENDED];
        assert!(reading(&unnamed).few().is_none());
        assert!(reading(&["running 1 test"]).few().is_none());
        let mut many = vec!["running 12 tests"];
        many.extend(["test a::c ... FAILED"; 6]);
        many.push("test result: FAILED. 6 passed; 6 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s");
        assert!(reading(&many).few().is_none());
    }
}
