//! The results beside their limits and goals: as a table, and as JSON to compare with later.

use super::percentile::per_mille;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use xtask_kit::cmd::{Context, Result, fail, output};
use xtask_kit::env_vars;

/// One round of a piece of work, beside its limit. A value that a round does not measure is NaN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// In the unit of the row.
    pub(super) ours: f64,
    /// The limit beside it, in the same unit.
    pub(super) limit: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Microseconds of processor time that the service's process used for each request.
    pub(super) cpu_us: f64,
}

impl Sample {
    /// Returns a sample with this result and its limit.
    pub(super) fn new(ours: f64, limit: f64) -> Self {
        Self {
            ours,
            limit,
            p50_ms: f64::NAN,
            p99_ms: f64::NAN,
            cpu_us: f64::NAN,
        }
    }
}

/// The unit of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Unit {
    #[default]
    PerSecond,
    Milliseconds,
    Megabytes,
    /// Statements of the database.
    Statements,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "/s",
            Self::Milliseconds => "ms",
            Self::Megabytes => "MB",
            Self::Statements => "stmts",
        }
    }

    fn show(self, value: f64) -> String {
        let places = match self {
            _ if value.is_nan() => return String::new(),
            Self::PerSecond if value >= 100.0 => 0,
            Self::Megabytes => 1,
            _ => 2,
        };
        format!("{value:.places$} {}", self.name())
    }
}

/// The goal of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Goal {
    /// The ratio of `ours` to the limit is at least this.
    AtLeast(f64),
    /// The ratio of `ours` to the limit is less than this.
    Below(f64),
    /// `ours` is at most this, in the row's unit.
    AtMost(f64),
    /// No goal: the row is for information.
    #[default]
    Told,
}

/// A piece of work, with all of its rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct ResultRow {
    pub(super) work: String,
    pub(super) unit: Unit,
    /// What it is measured against.
    pub(super) against: &'static str,
    pub(super) goal: Goal,
    /// The goal of the p99, in milliseconds.
    pub(super) p99_goal: Option<f64>,
    pub(super) samples: Vec<Sample>,
    /// The resident memory after the last round, in megabytes.
    pub(super) rss_mb: Option<f64>,
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

impl ResultRow {
    /// Returns a row of a rate a second, without rounds.
    pub(super) fn new(work: impl Into<String>, against: &'static str, goal: Goal) -> Self {
        Self {
            work: work.into(),
            against,
            goal,
            ..Self::default()
        }
    }

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

    /// Whether the medians reach the goal. A value that was not measured reaches none.
    fn is_reached(&self) -> bool {
        let m = self.medians();
        let reached = match self.goal {
            Goal::AtLeast(least) => m.ratio >= least,
            Goal::Below(most) => m.ratio < most,
            Goal::AtMost(most) => m.ours <= most,
            Goal::Told => true,
        };
        reached && self.p99_goal.is_none_or(|goal| m.p99_ms < goal)
    }

    fn goal(&self) -> String {
        let first = match self.goal {
            Goal::AtLeast(least) => Some(format!("≥ {least:.2}")),
            Goal::Below(most) => Some(format!("< {most:.2}")),
            Goal::AtMost(most) => Some(format!("≤ {}", self.unit.show(most))),
            Goal::Told => None,
        };
        let second = self.p99_goal.map(|ms| format!("p99 < {ms:.0}"));
        let both: Vec<String> = first.into_iter().chain(second).collect();
        both.join(", ")
    }

    fn json(&self) -> Value {
        let m = self.medians();
        json!({
            "work": self.work, "unit": self.unit.name(), "against": self.against, "ours": m.ours, "limit": m.limit,
            "ratio": m.ratio, "goal": self.goal(), "reached": self.is_reached(), "p50_ms": m.p50_ms, "p99_ms": m.p99_ms,
            "cpu_us": m.cpu_us, "rss_mb": self.rss_mb, "rounds": self.samples.len(),
        })
    }

    /// Returns the row's cells, with the result of an earlier run.
    fn cells(&self, before: Option<&Value>) -> [String; 10] {
        let m = self.medians();
        let two = |value: f64| match value.is_nan() {
            true => String::new(),
            false => format!("{value:.2}"),
        };
        let was = before.and_then(|before| was(before, self));
        let missed = match self.is_reached() {
            true => "",
            false => "; NOT REACHED",
        };
        [
            self.work.clone(),
            self.unit.show(m.ours),
            self.unit.show(m.limit),
            two(m.ratio),
            self.goal(),
            two(m.p50_ms),
            two(m.p99_ms),
            two(m.cpu_us),
            self.rss_mb.map_or(String::new(), |mb| format!("{mb:.1}")),
            format!("{}{missed}{}", self.against, was.unwrap_or_default()),
        ]
    }
}

const HEAD: [&str; 10] = [
    "work", "ours", "limit", "ratio", "goal", "p50 ms", "p99 ms", "CPU µs", "RSS MB", "against",
];

/// Prints the rows, each with its result in `before`.
pub(super) fn print(rows: &[ResultRow], before: Option<&Value>) {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| row.cells(before)));
    println!();
    for line in aligned(&lines) {
        println!("{line}");
    }
}

/// Aligns the first and the last column to the left, and figures to the right.
fn aligned(lines: &[[String; 10]]) -> Vec<String> {
    let mut widths = [0; 10];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |cells: &[String; 10]| {
        let placed = cells.iter().zip(widths).enumerate();
        let placed = placed.map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            9 => format!(" {cell}"),
            _ => format!("{cell:>width$}"),
        });
        placed.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(line).collect()
}

/// Returns the names of the rows that miss their goal.
pub(super) fn missed(rows: &[ResultRow]) -> Vec<&str> {
    let missed = rows.iter().filter(|row| !row.is_reached());
    missed.map(|row| row.work.as_str()).collect()
}

/// Writes the rows to a file for a later run.
pub(super) fn write(rows: &[ResultRow], file: &Path) -> Result {
    let commit = output(
        Command::new("git")
            .current_dir(env_vars::root())
            .args(["describe", "--always", "--dirty"]),
    );
    let rows: Vec<Value> = rows.iter().map(ResultRow::json).collect();
    let all = json!({"commit": commit.unwrap_or_default().trim(), "rows": rows});
    Ok(std::fs::write(file, serde_json::to_string_pretty(&all)?)?)
}

/// Reads a file that [`write()`] wrote.
pub(super) fn read(file: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(file).context(|| file.display().to_string())?;
    let value: Value = serde_json::from_str(&text)?;
    match value.pointer("/rows") {
        Some(Value::Array(_)) => Ok(value),
        _ => fail(format!("{} has no benchmark rows", file.display())),
    }
}

/// Returns an earlier run's result for a row: its ratio, or its figure if it has none, and the p99 if that has a goal.
fn was(before: &Value, row: &ResultRow) -> Option<String> {
    let rows = before.pointer("/rows")?.as_array()?;
    let earlier = rows
        .iter()
        .find(|earlier| earlier.pointer("/work").and_then(Value::as_str) == Some(&row.work))?;
    let figure = |name: &str| earlier.pointer(name).and_then(Value::as_f64);
    let first = match figure("/ratio") {
        Some(ratio) => format!("{ratio:.2}"),
        None => row.unit.show(figure("/ours")?),
    };
    let second = figure("/p99_ms").filter(|_| row.p99_goal.is_some());
    let second = second.map(|ms| format!(", p99 {ms:.2} ms"));
    Some(format!(" (was {first}{})", second.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ratios: &[f64], goal: Goal, p99_goal: Option<f64>) -> ResultRow {
        let sample = |ratio: &f64| Sample {
            p99_ms: 5.0,
            ..Sample::new(ratio * 1000.0, 1000.0)
        };
        ResultRow {
            work: "work".into(),
            against: "a limit",
            goal,
            p99_goal,
            samples: ratios.iter().map(sample).collect(),
            ..ResultRow::default()
        }
    }

    #[test]
    fn the_median_decides_and_the_latency_too() {
        let half = Goal::AtLeast(0.5);
        assert!(row(&[0.1, 0.5, 0.9], half, None).is_reached());
        assert!(!row(&[0.1, 0.49, 0.9], half, None).is_reached());
        assert!(row(&[0.6], half, Some(5.1)).is_reached());
        assert!(!row(&[0.6], half, Some(5.0)).is_reached());
        assert!(row(&[0.6], Goal::Below(0.7), None).is_reached());
        assert!(!row(&[0.7], Goal::Below(0.7), None).is_reached());
        assert!(row(&[0.7], Goal::AtMost(700.0), None).is_reached());
        assert!(!row(&[0.7], Goal::AtMost(699.0), None).is_reached());
        assert_eq!(missed(&[row(&[0.4], half, None)]), ["work"]);
    }

    #[test]
    fn what_was_not_measured_reaches_no_goal() {
        assert!(!row(&[f64::NAN], Goal::AtLeast(0.0), None).is_reached());
        assert!(!row(&[f64::NAN], Goal::Below(9.0), None).is_reached());
        assert!(!row(&[], Goal::AtMost(9.0), None).is_reached());
    }

    #[test]
    fn what_is_written_is_found_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let ratio = row(&[0.25], Goal::Told, None);
        let timed = ResultRow {
            work: "timed".into(),
            ..row(&[0.5], Goal::Told, Some(6.0))
        };
        let mut alone = row(&[f64::NAN], Goal::Told, None);
        alone.work = "alone".into();
        alone.unit = Unit::Milliseconds;
        alone.samples = vec![Sample::new(12.0, f64::NAN)];
        write(&[ratio.clone(), timed.clone(), alone.clone()], file.path()).unwrap();
        let before = read(file.path()).unwrap();
        assert_eq!(was(&before, &ratio).as_deref(), Some(" (was 0.25)"));
        assert_eq!(
            was(&before, &timed).as_deref(),
            Some(" (was 0.50, p99 5.00 ms)")
        );
        assert_eq!(was(&before, &alone).as_deref(), Some(" (was 12.00 ms)"));
        alone.work = "other".into();
        assert_eq!(was(&before, &alone), None);
        std::fs::write(file.path(), "{}").unwrap();
        assert!(read(file.path()).is_err());
    }

    #[test]
    fn columns_are_aligned_and_hold_each_unit() {
        let mut small = row(&[0.5], Goal::AtMost(30.0), None);
        small.unit = Unit::Milliseconds;
        small.samples = vec![Sample::new(28.5, f64::NAN)];
        let large = row(&[0.61], Goal::AtLeast(0.6), Some(6.0));
        let lines = [
            HEAD.map(str::to_owned),
            small.cells(None),
            large.cells(None),
        ];
        assert_eq!(
            aligned(&lines),
            [
                "work      ours    limit  ratio             goal  p50 ms  p99 ms  CPU µs  RSS MB   against",
                "work  28.50 ms                       ≤ 30.00 ms                                   a limit",
                "work    610 /s  1000 /s   0.61  ≥ 0.60, p99 < 6            5.00                   a limit",
            ]
        );
    }
}
