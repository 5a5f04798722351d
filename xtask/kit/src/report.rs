//! The results of a task's steps, in order.

use crate::cmd::{Result, fail};
use std::time::{Duration, Instant};

/// A table with a row for each step.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

struct Row {
    step: &'static str,
    time: Duration,
    told: String,
    has_failed: bool,
}

impl Report {
    /// Runs a step, which returns its result as text.
    pub fn step(&mut self, name: &'static str, step: impl FnOnce() -> Result<String>) -> Result {
        self.value(name, || Ok(((), step()?)))
    }

    /// Like [`Self::step`], for a step that also returns a value.
    pub fn value<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<(T, String)>,
    ) -> Result<T> {
        println!("== {name}");
        let started = Instant::now();
        let (done, told) = match step() {
            Ok((value, told)) => (Ok(value), told),
            Err(failure) => (
                fail(format!("{name}: {failure}")),
                format!("FAILED: {failure}"),
            ),
        };
        let time = started.elapsed();
        println!("   {:.1} s  {told}", time.as_secs_f64());
        self.rows.push(Row {
            step: name,
            time,
            told,
            has_failed: done.is_err(),
        });
        done
    }

    /// Prints the rows and the total time.
    pub fn print(&self) {
        println!("\n{:<17} {:>7}  result", "step", "seconds");
        for row in &self.rows {
            let seconds = row.time.as_secs_f64();
            println!("{:<17} {seconds:>7.1}  {}", row.step, row.told);
        }
        let all: Duration = self.rows.iter().map(|row| row.time).sum();
        println!("{:<17} {:>7.1}", "total", all.as_secs_f64());
    }

    /// Fails with the names of the steps that failed.
    pub fn verdict(&self) -> Result {
        let failed = self.rows.iter().filter(|row| row.has_failed);
        let failed: Vec<&str> = failed.map(|row| row.step).collect();
        match failed.as_slice() {
            [] => Ok(()),
            failed => fail(format!("failed: {}", failed.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Report;
    use crate::cmd::fail;

    #[test]
    fn a_step_that_failed_is_named_and_the_next_one_runs() {
        let mut report = Report::default();
        assert!(report.step("good", || Ok(String::new())).is_ok());
        assert!(report.verdict().is_ok());
        assert!(report.step("bad", || fail("why")).is_err());
        assert!(report.step("later", || Ok(String::new())).is_ok());
        assert_eq!(report.verdict().unwrap_err().to_string(), "failed: bad");
    }
}
