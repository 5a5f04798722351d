//! What was measured, beside its limit and its goal: as a table, and as JSON to compare with later.

use super::per_mille;
use crate::cmd::{Context, Result, fail, output};
use crate::envs;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// One round of one piece of work, beside its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// A second.
    pub(super) ours: f64,
    /// What stands beside it, a second; none where a figure is no rate against another.
    pub(super) limit: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// What the service's process used of a core for each.
    pub(super) cpu_us: f64,
}

/// A piece of work, with all of its rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) work: String,
    /// What it is measured against.
    pub(super) against: &'static str,
    /// The least ratio of ours to the limit.
    pub(super) goal: f64,
    /// Milliseconds that 99 of 100 may take.
    pub(super) p99_goal: Option<f64>,
    pub(super) samples: Vec<Sample>,
    /// Resident after the last round.
    pub(super) rss_mb: f64,
}

/// The medians of a row.
struct Medians {
    ours: f64,
    limit: f64,
    ratio: f64,
    p50_ms: f64,
    p99_ms: f64,
    cpu_us: f64,
}

impl Row {
    fn medians(&self) -> Medians {
        let of = |value: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = self.samples.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            per_mille(&values, 500)
        };
        Medians {
            ours: of(|s| s.ours),
            limit: of(|s| s.limit),
            ratio: of(|s| s.ours / s.limit),
            p50_ms: of(|s| s.p50_ms),
            p99_ms: of(|s| s.p99_ms),
            cpu_us: of(|s| s.cpu_us),
        }
    }

    /// Whether the medians reach the goal.
    fn is_reached(&self) -> bool {
        let medians = self.medians();
        medians.ratio >= self.goal && self.p99_goal.is_none_or(|goal| medians.p99_ms < goal)
    }

    fn json(&self) -> Value {
        let m = self.medians();
        json!({
            "work": self.work, "against": self.against, "ours": m.ours, "limit": m.limit, "ratio": m.ratio,
            "goal": self.goal, "p50_ms": m.p50_ms, "p99_ms": m.p99_ms, "p99_goal_ms": self.p99_goal,
            "cpu_us": m.cpu_us, "rss_mb": self.rss_mb, "rounds": self.samples.len(),
        })
    }
}

/// Prints the rows, with what `before` says of each.
pub(super) fn print(rows: &[Row], before: Option<&Value>) {
    let width = rows.iter().map(|row| row.work.chars().count()).max();
    let width = width.unwrap_or(4).max(4);
    println!(
        "\n{:<width$} {:>9} {:>9} {:>6} {:>6} {:>8} {:>8} {:>8} {:>7}  against",
        "work", "ours/s", "limit/s", "ratio", "goal", "p50 ms", "p99 ms", "CPU µs", "RSS MB"
    );
    for row in rows {
        let m = row.medians();
        let was = before.and_then(|before| ratio_of(before, &row.work));
        let was = was.map_or(String::new(), |was| format!(" (was {was:.2})"));
        println!(
            "{:<width$} {:>9.0} {:>9.0} {:>6.2} {:>6.2} {:>8.2} {:>8.2} {:>8.1} {:>7.1}  {}{}{was}",
            row.work,
            m.ours,
            m.limit,
            m.ratio,
            row.goal,
            m.p50_ms,
            m.p99_ms,
            m.cpu_us,
            row.rss_mb,
            row.against,
            if row.is_reached() {
                ""
            } else {
                "; NOT REACHED"
            },
        );
    }
}

/// Those whose goal is not reached.
pub(super) fn missed(rows: &[Row]) -> Vec<&str> {
    let missed = rows.iter().filter(|row| !row.is_reached());
    missed.map(|row| row.work.as_str()).collect()
}

/// Writes the rows where a later run finds them.
pub(super) fn write(rows: &[Row], file: &Path) -> Result {
    let commit = output(
        Command::new("git")
            .current_dir(envs::root())
            .args(["describe", "--always", "--dirty"]),
    );
    let rows: Vec<Value> = rows.iter().map(Row::json).collect();
    let all = json!({"commit": commit.unwrap_or_default().trim(), "rows": rows});
    Ok(std::fs::write(file, serde_json::to_string_pretty(&all)?)?)
}

/// Reads what [`write()`] wrote.
pub(super) fn read(file: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(file).context(|| file.display().to_string())?;
    let value: Value = serde_json::from_str(&text)?;
    match value.pointer("/rows") {
        Some(Value::Array(_)) => Ok(value),
        _ => fail(format!("{} holds no rows of a bench", file.display())),
    }
}

fn ratio_of(before: &Value, work: &str) -> Option<f64> {
    let rows = before.pointer("/rows")?.as_array()?;
    let row = rows
        .iter()
        .find(|row| row.pointer("/work").and_then(Value::as_str) == Some(work))?;
    row.pointer("/ratio")?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ratios: &[f64], p99_goal: Option<f64>) -> Row {
        let sample = |ratio: &f64| Sample {
            ours: ratio * 1000.0,
            limit: 1000.0,
            p50_ms: 1.0,
            p99_ms: 5.0,
            cpu_us: 10.0,
        };
        Row {
            work: "work".into(),
            against: "a limit",
            goal: 0.5,
            p99_goal,
            samples: ratios.iter().map(sample).collect(),
            rss_mb: 1.0,
        }
    }

    #[test]
    fn the_median_decides_and_the_latency_too() {
        assert!(row(&[0.1, 0.5, 0.9], None).is_reached());
        assert!(!row(&[0.1, 0.49, 0.9], None).is_reached());
        assert!(row(&[0.6], Some(5.1)).is_reached());
        assert!(!row(&[0.6], Some(5.0)).is_reached());
        assert_eq!(missed(&[row(&[0.4], None)]), ["work"]);
    }

    #[test]
    fn what_is_written_is_found_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(&[row(&[0.25], None)], file.path()).unwrap();
        let before = read(file.path()).unwrap();
        assert_eq!(ratio_of(&before, "work"), Some(0.25));
        assert_eq!(ratio_of(&before, "other"), None);
        std::fs::write(file.path(), "{}").unwrap();
        assert!(read(file.path()).is_err());
    }
}
