use chrono::{DateTime, Datelike, Days, TimeDelta, Timelike, Utc, Weekday};

/// How far back the demonstration goes.
pub(super) const LENGTH: TimeDelta = TimeDelta::days(90);

/// A session, as it was planned and as it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) start: DateTime<Utc>,
    pub(super) category: &'static str,
    pub(super) minutes: u32,
    /// Less than planned if it was broken off.
    pub(super) worked: u32,
    pub(super) project: Project,
    pub(super) plan: &'static str,
    pub(super) note: &'static str,
    pub(super) rating: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Project {
    Team,
    Personal,
    None,
}

impl Planned {
    pub(super) fn end(&self) -> DateTime<Utc> {
        self.start + TimeDelta::minutes(self.worked.into())
    }
}

/// Returns the sessions of the days before `now`: in order, without overlaps, all over by `now`. The same `now` gives the same
/// sessions.
pub(super) fn sessions(now: DateTime<Utc>) -> Vec<Planned> {
    let mut dice = Dice(0x5eed);
    let midnight = now - TimeDelta::seconds(now.num_seconds_from_midnight().into());
    let mut sessions = Vec::new();
    for ago in (0..LENGTH.num_days().unsigned_abs()).rev() {
        let Some(day) = midnight.checked_sub_days(Days::new(ago)) else {
            continue;
        };
        let weekend = matches!(day.weekday(), Weekday::Sat | Weekday::Sun);
        // People mostly rest at weekends, and miss a day now and then.
        let count = match (weekend, dice.below(10)) {
            (true, 0..=5) | (false, 0) => 0,
            (true, _) => 1 + dice.below(2),
            (false, _) => 2 + dice.below(4),
        };
        let mut start = day + TimeDelta::minutes(i64::from(7 * 60 + 30 + dice.below(120)));
        for _ in 0..count {
            let session = one(&mut dice, start, weekend);
            start += TimeDelta::minutes(i64::from(session.minutes + 10 + dice.below(80)));
            if session.end() < now {
                sessions.push(session);
            }
        }
    }
    sessions
}

type Kind = (
    &'static str,
    Project,
    &'static [(&'static str, &'static str)],
);

const KINDS: [Kind; 5] = [
    (
        "coding",
        Project::Team,
        &[
            (
                "Retry of failed deliveries",
                "Works; the tests found a race at the end",
            ),
            (
                "Cut the start-up time",
                "Down to a third: migrations were looked for twice",
            ),
            (
                "Import of old sessions",
                "Half done, the date formats are a mess",
            ),
        ],
    ),
    (
        "writing",
        Project::Team,
        &[
            ("Release notes", "Short and honest"),
            (
                "Guide for new team members",
                "First draft, needs a second pair of eyes",
            ),
        ],
    ),
    (
        "study",
        Project::Personal,
        &[
            ("Chapter on lifetimes", "Finally clicked"),
            ("Exercises on iterators", "Two of three solved without help"),
        ],
    ),
    (
        "planning",
        Project::Team,
        &[("Next two weeks", "Five things, in order")],
    ),
    (
        "admin",
        Project::None,
        &[("Mail and invoices", "Inbox at zero")],
    ),
];

fn one(dice: &mut Dice, start: DateTime<Utc>, weekend: bool) -> Planned {
    let kind = match (weekend, dice.below(10)) {
        (true, _) => 2,
        (false, 0..=4) => 0,
        (false, 5..=6) => 1,
        (false, roll) => roll - 5,
    };
    let [coding, ..] = &KINDS;
    let &(category, project, notes) = pick(&KINDS, kind).unwrap_or(coding);
    let &(plan, note) = pick(notes, dice.below(3)).unwrap_or(&("", ""));
    let minutes = pick(&[25, 25, 25, 45, 50], dice.below(5))
        .copied()
        .unwrap_or(25);
    // One in twelve is broken off.
    let worked = if dice.below(12) == 0 {
        minutes / 2 + dice.below(5)
    } else {
        minutes
    };
    Planned {
        start,
        category,
        minutes,
        worked,
        project,
        plan,
        note,
        rating: 3 + dice.below(3),
    }
}

fn pick<T>(items: &[T], index: u32) -> Option<&T> {
    items.iter().cycle().nth(usize::try_from(index).ok()?)
}

/// Small pseudo-random numbers. The constants are Knuth's for MMIX.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(sides)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninety_days_hold_plausible_sessions_that_do_not_overlap_and_are_over() {
        let now = "2026-11-25T15:12:00Z".parse().expect("a time");
        let sessions = sessions(now);
        assert!((150..400).contains(&sessions.len()), "{}", sessions.len());
        assert!(
            sessions
                .windows(2)
                .all(|pair| pair[0].end() < pair[1].start)
        );
        assert!(
            sessions
                .iter()
                .all(|session| session.end() < now && session.start >= now - LENGTH)
        );
        assert!(
            sessions
                .iter()
                .any(|session| session.worked < session.minutes)
        );
        let categories: std::collections::BTreeSet<_> =
            sessions.iter().map(|session| session.category).collect();
        assert_eq!(categories.len(), KINDS.len());
    }
}
