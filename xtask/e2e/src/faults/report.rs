//! The table of a run.

use super::HEALTHY;
use super::copies::Copy;
use super::kinds::Kind;
use super::load::Start;
use super::storm::Fault;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Of a thousand notices, at most so many copies: five.
pub(super) const MOST_COPIES_PER_MILLE: f64 = 5.0;

/// The figures of a run.
pub(super) struct Figures {
    pub(super) seed: u64,
    pub(super) time: Duration,
    pub(super) starts: usize,
    pub(super) submits: usize,
    pub(super) unknown: usize,
    pub(super) minutes: i64,
    /// Different planning notes that were shown.
    pub(super) notices: usize,
    /// Starts that no chat was told of, those of the hook that went away left out.
    pub(super) lost: usize,
    pub(super) copies: Vec<Copy>,
    pub(super) sender_kills: usize,
    /// Copies of those shown on Matrix, which must have none.
    pub(super) matrix_copies: usize,
    /// Starts of the hook that went away that were not shown, with the reason told.
    pub(super) told_why_not: usize,
    pub(super) mails: usize,
    pub(super) mail_copies: usize,
    pub(super) failed_starts: usize,
    pub(super) drained: Duration,
}

impl Figures {
    pub(super) fn copies_per_mille(&self) -> f64 {
        let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        1_000.0 * count(self.copies.len()) / count(self.notices.max(1))
    }

    fn copies_like(&self, is: impl Fn(&Copy) -> bool) -> usize {
        self.copies.iter().filter(|copy| is(copy)).count()
    }

    pub(super) fn unexplained(&self) -> usize {
        self.copies_like(|copy| matches!(copy, Copy::Unexplained(_)))
    }

    pub(super) fn print(&self) {
        println!(
            "\nseed {}, {:.0} s of faults",
            self.seed,
            self.time.as_secs_f64()
        );
        let line = |name: &str, value: String| println!("{name:<44} {value:>7}");
        line("starts accepted", self.starts.to_string());
        line("submits accepted", self.submits.to_string());
        line("minutes credited", self.minutes.to_string());
        line(
            "requests without an answer, sent again",
            self.unknown.to_string(),
        );
        line("starts shown in chats", self.notices.to_string());
        line(
            "starts not shown, hook gone, reason told",
            self.told_why_not.to_string(),
        );
        line("LOST", self.lost.to_string());
        line(
            "copies",
            format!("{} ({:.2} ‰)", self.copies.len(), self.copies_per_mille()),
        );
        line(
            "  the chat cut its answer",
            self.copies_like(|copy| *copy == Copy::AnswerCut)
                .to_string(),
        );
        line(
            "  the sender was killed",
            self.copies_like(|copy| *copy == Copy::SenderKilled)
                .to_string(),
        );
        line("  kills of the sender", self.sender_kills.to_string());
        line("  UNEXPLAINED", self.unexplained().to_string());
        line("  on Matrix", self.matrix_copies.to_string());
        line("mails arrived", self.mails.to_string());
        line("  copies", self.mail_copies.to_string());
        line(
            "starts of services that found nothing to stand on",
            self.failed_starts.to_string(),
        );
        line(
            "seconds until nothing waited",
            format!("{:.1}", self.drained.as_secs_f64()),
        );
    }
}

/// How long after a fault was mended every healthy project was told again of a start made since.
fn recovery(
    fault: &Fault,
    starts: &[Start],
    shown: &BTreeMap<u32, Vec<Instant>>,
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

/// Prints each kind of fault with how often it came and how long the product took to be well again.
pub(super) fn faults(faults: &[Fault], starts: &[Start], shown: &BTreeMap<u32, Vec<Instant>>) {
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
    for kind in Kind::ALL {
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
