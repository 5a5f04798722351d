//! How much of a session's time is credited.

use chrono::{NaiveDateTime, TimeDelta};

pub(crate) const MAX_SESSION: TimeDelta = TimeDelta::minutes(480);
/// How long after its planned end a session can be submitted.
pub(crate) const OPEN_AFTER_PLANNED_END: TimeDelta = TimeDelta::hours(12);
/// How far a session may fall short of its plan and still be complete, because clients and networks lose seconds. A short
/// plan tolerates at most one part in [`TOLERATED_PART`]; otherwise, a chain of short plans would earn more than was worked.
const MAX_TOLERANCE: TimeDelta = TimeDelta::seconds(5);
/// The tolerated part of a short plan is one in this many: 2%.
const TOLERATED_PART: i32 = 50;
/// The maximum number of credited minutes of a user in one local day.
pub(crate) const DAY_CAP_MINUTES: i32 = 16 * 60;
/// A partial session shorter than this earns no points.
const MIN_PARTIAL: TimeDelta = TimeDelta::minutes(5);

/// How much of its plan a submitted session reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The whole plan was worked.
    Completed,
    /// Less than the plan, but enough for points.
    Partial,
    /// Less than five minutes or less than half of the plan: minutes are credited, points are not.
    Brief,
}

/// The time that the server credits to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    pub(crate) completion: Completion,
    /// Whole minutes, before the daily cap.
    pub(crate) minutes: i32,
}

/// The input of [`credit`]. All times are UTC; intervals are half-open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredTimes {
    /// Planned minutes.
    pub(crate) planned: i32,
    /// When the session started, by the server's clock.
    pub(crate) started_at: NaiveDateTime,
    /// When the session ended, by the server's clock: at the next start, or when the submit arrived.
    pub(crate) stopped_at: NaiveDateTime,
    pub(crate) client_start: NaiveDateTime,
    pub(crate) client_end: NaiveDateTime,
    /// End of the user's previous session, if there is one.
    pub(crate) previous_end: Option<NaiveDateTime>,
    /// Start of the user's next session, if there is one.
    pub(crate) next_start: Option<NaiveDateTime>,
}

/// Credits the shorter of the client's and the server's duration. The credit never exceeds the plan, and never overlaps
/// the previous or the next session.
pub(crate) fn credit(measured: &MeasuredTimes) -> Credit {
    let from = measured
        .previous_end
        .map_or(measured.started_at, |end| end.max(measured.started_at));
    let to = measured
        .next_start
        .map_or(measured.stopped_at, |start| start.min(measured.stopped_at));
    let elapsed = (to - from)
        .min(measured.client_end - measured.client_start)
        .max(TimeDelta::zero());
    let planned = TimeDelta::minutes(measured.planned.into());
    if elapsed >= planned - MAX_TOLERANCE.min(planned / TOLERATED_PART) {
        return Credit {
            completion: Completion::Completed,
            minutes: measured.planned,
        };
    }
    let completion = if elapsed < MIN_PARTIAL.max(planned / 2) {
        Completion::Brief
    } else {
        Completion::Partial
    };
    // Shorter than the plan, whose minutes are an i32.
    let minutes = i32::try_from(elapsed.num_minutes()).unwrap_or(measured.planned);
    Credit {
        completion,
        minutes,
    }
}

/// Limits minutes to what still fits into a local day that already has `already` credited minutes.
pub(crate) fn within_day_cap(minutes: i32, already: i32) -> i32 {
    minutes.min(DAY_CAP_MINUTES - already).max(0)
}

#[cfg(test)]
mod tests;
