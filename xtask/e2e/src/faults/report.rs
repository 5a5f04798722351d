//! The tables of a run.

use super::fault_kinds::Kind;
use super::fault_schedule::Fault;
use super::load::Start;
use super::markers::HEALTHY;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Prints the figures of a run.
pub(super) fn figures(lines: &[(&str, String)]) {
    for (name, value) in lines {
        println!("{name:<50} {value:>7}");
    }
}

/// Returns how long after the end of a fault every healthy project has shown a start that was sent since.
fn recovery(
    fault: &Fault,
    starts: &[Start],
    shown: &BTreeMap<usize, Vec<Instant>>,
) -> Option<Duration> {
    let mut slowest = Duration::ZERO;
    for project in 0..HEALTHY {
        let since = starts
            .iter()
            .filter(|start| start.project == project && start.sent >= fault.until);
        let times = since.filter_map(|start| shown.get(&start.number)?.first().copied());
        slowest = slowest.max(times.min()?.saturating_duration_since(fault.until));
    }
    Some(slowest)
}

/// Prints each kind of fault with its number, its duration, and how long the product took to recover.
pub(super) fn faults(faults: &[Fault], starts: &[Start], shown: &BTreeMap<usize, Vec<Instant>>) {
    println!(
        "\n{:<42} {:>5} {:>9} {:>11} {:>11}",
        "fault", "times", "lasted s", "back p50 s", "back max s"
    );
    let mut everything = Vec::new();
    let row = |name: &str, times: usize, lasted: f64, back: &mut Vec<f64>| {
        back.sort_by(f64::total_cmp);
        let middle = back.get(back.len() / 2).copied().unwrap_or(f64::NAN);
        let most = back.last().copied().unwrap_or(f64::NAN);
        println!("{name:<42} {times:>5} {lasted:>9.1} {middle:>11.2} {most:>11.2}");
    };
    let mut all_lasted = 0.0;
    for kind in Kind::all() {
        let of_kind: Vec<&Fault> = faults.iter().filter(|fault| fault.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let lasted: f64 = of_kind
            .iter()
            .map(|fault| (fault.until - fault.from).as_secs_f64())
            .sum();
        all_lasted += lasted;
        let back = of_kind
            .iter()
            .filter_map(|fault| recovery(fault, starts, shown));
        let mut back: Vec<f64> = back.map(|time| time.as_secs_f64()).collect();
        everything.extend(back.iter().copied());
        row(kind.name(), of_kind.len(), lasted, &mut back);
    }
    row("all", faults.len(), all_lasted, &mut everything);
}
