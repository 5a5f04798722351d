//! Signs of a manipulated client. A flag never refuses a session. A `suspect` one keeps it off the boards until
//! somebody reviews it.

use chrono::{NaiveDateTime, TimeDelta};

/// How far a client's clock may be off without a flag.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::seconds(120);
/// The most credited minutes in 24 hours that are credible.
const CREDIBLE_MINUTES: i32 = 12 * 60;
const DAY: TimeDelta = TimeDelta::hours(24);
/// The number of refused attempts to change a session's locked fields that makes it suspect.
const SUSPECT_MISMATCHES: i32 = 3;

/// A sign of a manipulated client, with its measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegrityFlag {
    /// A submit had other locked fields than the plan. The value counts such attempts on the session.
    LockedMismatch(i32),
    /// The client's start is more than 120 s from the server's. The value is by how many seconds it is later.
    ClientClock(i64),
    /// The client's end is more than 120 s in the future, and its clock was not as fast at the start. The value is the number of
    /// seconds.
    FutureEnd(i64),
    /// More than 12 hours are credited within 24. The value is the number of minutes.
    LongDay(i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Recorded only.
    Info,
    /// Keeps the session off the boards until it is cleared.
    Suspect,
}

impl IntegrityFlag {
    /// The most mismatches recorded per session. Further ones say nothing new, and a client in a loop must not fill the table.
    pub(crate) const MAX_MISMATCHES: i32 = SUSPECT_MISMATCHES;

    /// Whether so many credited minutes would be a sign if all of them lay within 24 hours.
    pub(crate) fn may_be_long_day(minutes: i32) -> bool {
        minutes > CREDIBLE_MINUTES
    }

    /// Returns the stored name.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::LockedMismatch(_) => "locked_mismatch",
            Self::ClientClock(_) => "client_clock",
            Self::FutureEnd(_) => "future_end",
            Self::LongDay(_) => "long_day",
        }
    }

    /// Returns the measure, in the unit of its kind.
    pub(crate) fn amount(self) -> i64 {
        match self {
            Self::LockedMismatch(amount) | Self::LongDay(amount) => amount.into(),
            Self::ClientClock(amount) | Self::FutureEnd(amount) => amount,
        }
    }

    /// Whether this sign alone keeps the session off the boards.
    pub(crate) fn is_suspect(&self) -> bool {
        self.severity() == Severity::Suspect
    }

    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::LockedMismatch(nth) if nth < SUSPECT_MISMATCHES => Severity::Info,
            Self::ClientClock(_) => Severity::Info,
            Self::LockedMismatch(_) | Self::FutureEnd(_) | Self::LongDay(_) => Severity::Suspect,
        }
    }
}

/// Describes a stored flag in a sentence.
pub(crate) fn describe(kind: &str, amount: i64) -> String {
    match kind {
        "locked_mismatch" => format!("Attempt {amount} to change the locked plan"),
        "client_clock" if amount < 0 => format!("The reported start is {} s too early", -amount),
        "client_clock" => format!("The reported start is {amount} s too late"),
        "future_end" => format!("The reported end is {amount} s in the future"),
        "long_day" => format!("{amount} minutes credited in 24 hours"),
        other => format!("{other}: {amount}"),
    }
}

/// The credited time of a session: a half-open interval from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CreditedInterval {
    from: NaiveDateTime,
    to: NaiveDateTime,
}

impl CreditedInterval {
    /// Creates the interval of `minutes` from the server's start.
    pub(crate) fn new(started_at: NaiveDateTime, minutes: i32) -> Self {
        Self {
            from: started_at,
            to: started_at + TimeDelta::minutes(minutes.into()),
        }
    }

    fn within(&self, window: &Self) -> TimeDelta {
        let shared = self.to.min(window.to) - self.from.max(window.from);
        shared.max(TimeDelta::zero())
    }
}

/// Returns the most credited minutes in any 24 hours that overlap `own`. Looking back from its end is not enough: a
/// user who submits the last session first would evade the check.
pub(crate) fn max_minutes_in_24h(own: &CreditedInterval, others: &[CreditedInterval]) -> i32 {
    let all = || others.iter().chain([own]);
    // The sum is largest in a window that begins with a session or ends with one.
    let windows = all().flat_map(|work| {
        let (ends, begins) = (work.to - DAY, work.from);
        [ends, begins].map(|from| CreditedInterval {
            from,
            to: from + DAY,
        })
    });
    windows
        .filter(|window| window.from <= own.to && own.from <= window.to)
        .map(|window| all().map(|work| work.within(&window)).sum::<TimeDelta>())
        .max()
        .map_or(0, |most| {
            i32::try_from(most.num_minutes()).unwrap_or(i32::MAX)
        })
}

impl Severity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Suspect => "suspect",
        }
    }
}

/// Returns the signs in the times of a submit that arrived at `received_at`. `credited_in_24h` is the result of
/// [`max_minutes_in_24h`].
pub(crate) fn detect_flags(
    started_at: NaiveDateTime,
    received_at: NaiveDateTime,
    client_start: NaiveDateTime,
    client_end: NaiveDateTime,
    credited_in_24h: i32,
) -> Vec<IntegrityFlag> {
    let mut flags = Vec::new();
    let late = client_start - started_at;
    if late.abs() > CLOCK_TOLERANCE {
        flags.push(IntegrityFlag::ClientClock(late.num_seconds()));
    }
    let ahead = client_end - received_at;
    // A clock that is equally fast at start and end is only a wrong clock.
    if ahead > CLOCK_TOLERANCE && ahead - late > CLOCK_TOLERANCE {
        flags.push(IntegrityFlag::FutureEnd(ahead.num_seconds()));
    }
    if IntegrityFlag::may_be_long_day(credited_in_24h) {
        flags.push(IntegrityFlag::LongDay(credited_in_24h));
    }
    flags
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::IntegrityFlag::{ClientClock, FutureEnd, LockedMismatch, LongDay};
    use super::*;

    #[test]
    fn the_reason_of_each_flag_says_what_was_seen() {
        let sentence_of = |flag: IntegrityFlag| describe(flag.kind(), flag.amount());
        for (flag, sentence) in [
            (LockedMismatch(2), "Attempt 2 to change the locked plan"),
            (ClientClock(-130), "The reported start is 130 s too early"),
            (ClientClock(130), "The reported start is 130 s too late"),
            (FutureEnd(600), "The reported end is 600 s in the future"),
            (LongDay(721), "721 minutes credited in 24 hours"),
        ] {
            assert_eq!(sentence_of(flag), sentence);
        }
    }

    #[test]
    fn flags_begin_beyond_the_tolerance() {
        let base = "2026-11-20T09:00:00".parse::<NaiveDateTime>().unwrap();
        let after = |seconds| base + TimeDelta::seconds(seconds);
        let flags = |start, end, minutes| {
            detect_flags(base, after(1500), after(start), after(end), minutes)
        };
        assert_eq!(flags(0, 1500, 720), []);
        assert_eq!(flags(120, 1620, 0), []);
        assert_eq!(flags(121, 1500, 0), [ClientClock(121)]);
        assert_eq!(flags(-121, 1500, 0), [ClientClock(-121)]);
        assert_eq!(flags(0, 1621, 0), [FutureEnd(121)]);
        assert_eq!(flags(0, 1500, 721), [LongDay(721)]);
        assert_eq!(flags(3600, 5100, 0), [ClientClock(3600)]);
        assert_eq!(flags(3600, 5220, 0), [ClientClock(3600)]);
        assert_eq!(flags(3600, 5221, 0), [ClientClock(3600), FutureEnd(3721)]);
        assert_eq!(flags(-3600, -2100, 0), [ClientClock(-3600)]);
        assert_eq!(flags(-3600, 1621, 0), [ClientClock(-3600), FutureEnd(121)]);
    }

    #[test]
    fn the_busiest_day_may_lie_before_after_or_around_the_session() {
        let base = "2026-11-20T00:00:00".parse::<NaiveDateTime>().unwrap();
        let work =
            |hour, hours: i32| CreditedInterval::new(base + TimeDelta::hours(hour), hours * 60);
        let own = work(24, 2);
        for (others, hours) in [
            (vec![], 2),
            (vec![work(2, 8), work(16, 8)], 18),
            (vec![work(26, 8), work(40, 8)], 18),
            (vec![work(18, 6), work(26, 6)], 14),
            // too far apart for one window
            (vec![work(0, 8), work(44, 8)], 8),
            (vec![work(10, 6), work(40, 6)], 8),
            // full, but never in one window with this session
            (vec![work(-20, 8), work(-12, 8)], 2),
            (vec![work(51, 8), work(60, 8)], 2),
        ] {
            assert_eq!(max_minutes_in_24h(&own, &others), hours * 60, "{others:?}");
        }
        // The session has no credit, but the day around it is long.
        let nothing = work(24, 0);
        assert_eq!(
            max_minutes_in_24h(&nothing, &[work(8, 8), work(16, 8)]),
            16 * 60
        );
    }

    #[test]
    fn the_third_mismatch_is_suspect() {
        use Severity::{Info, Suspect};
        let severity = |nth| LockedMismatch(nth).severity();
        assert_eq!([1, 2, 3, 4].map(severity), [Info, Info, Suspect, Suspect]);
    }
}
