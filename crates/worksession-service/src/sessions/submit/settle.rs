use chrono::{Datelike, NaiveDate, NaiveDateTime};

use super::queries::{Around, Facts};
use crate::error::Error;
use crate::rollups::{PointsSummary, Split, Standing, StreakSummary, Sums};
use crate::rules::badges;
use crate::rules::integrity::{Severity, Sign, signs_in_times};
use crate::rules::points::{Points, award};
use crate::rules::streaks::{Advanced, DAY_COUNTS_FROM, Day, Mark};
use crate::rules::time::{
    self, Completion, Credit, LocalMoment, Measured, Periods, within_day_cap,
};
use crate::sessions::model::SessionRow;
use crate::sessions::wire::{Submission, SubmitResponse};

/// The session and the moment of its submit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) row: &'a SessionRow,
    pub(super) submission: &'a Submission,
    /// The start on the user's calendar.
    pub(super) moment: LocalMoment,
    /// When the server saw the session end.
    pub(super) stopped_at: NaiveDateTime,
    /// Those that hold now.
    pub(super) periods: Periods,
    /// When the submit arrived.
    pub(super) now: NaiveDateTime,
}

/// A session's credit before its points: those hang on the streak, which may need one more look at the days.
#[derive(Debug)]
pub(super) struct Measure {
    pub(super) completion: Completion,
    /// Within the day's cap.
    pub(super) minutes: i32,
    pub(super) mark: Mark,
    /// The session's day with the session in it.
    pub(super) day: Day,
    /// Whether the day counts for streaks now.
    pub(super) counts: bool,
}

/// Everything that a submit changes.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) minutes: i32,
    pub(super) completed: bool,
    pub(super) points: Points,
    pub(super) streak: i32,
    pub(super) day: Day,
    pub(super) hour: i32,
    /// The user's totals with this session.
    pub(super) standing: Standing,
    pub(super) signs: Vec<Sign>,
    /// How the day divides, with this session.
    pub(super) splits: Splits,
    /// Whether the credit goes onto the boards.
    pub(super) on_boards: bool,
    pub(super) response: SubmitResponse,
}

/// The columns of the day's row and of the month's that divide them.
#[derive(Debug)]
pub(super) struct Splits {
    pub(super) by_hour: String,
    pub(super) by_category: String,
    pub(super) by_project: String,
    pub(super) month_by_day: String,
    pub(super) month_by_hour: String,
    pub(super) month_by_category: String,
    pub(super) month_by_project: String,
}

/// Measures the session by the server's clock and the calendar day it belongs to.
pub(super) fn measure(case: &Case<'_>, facts: &Facts) -> Measure {
    let Case {
        row,
        submission,
        moment,
        stopped_at,
        ..
    } = case;
    let Credit {
        completion,
        minutes,
    } = time::credit(&Measured {
        planned: row.planned_duration,
        started_at: row.started_at,
        stopped_at: *stopped_at,
        client_start: submission.start_time,
        client_end: submission.end_time,
        previous_end: facts.around.previous_end,
        next_start: facts.around.next_start,
    });
    let already = facts.around.day_minutes.unwrap_or(0);
    let minutes = within_day_cap(minutes, already);
    let mark = Mark {
        at: row.started_at,
        offset: moment.offset,
    };
    let before = facts.around.day_before(moment.day);
    let day = Day::with(before, moment.day, mark, minutes);
    Measure {
        completion,
        minutes,
        mark,
        day,
        counts: already + minutes >= DAY_COUNTS_FROM,
    }
}

/// Gives points, badges and flags, and adds the session to the totals. `credited_in_24h` are the most minutes
/// in any 24 hours that hold the session.
pub(super) fn settle(
    case: &Case<'_>,
    facts: Facts,
    measure: &Measure,
    advanced: Advanced,
    credited_in_24h: i32,
) -> Result<Settled, Error> {
    let Case {
        row,
        submission,
        moment,
        periods,
        now,
        ..
    } = case;
    let Facts {
        standing: before,
        around,
    } = facts;
    let minutes = measure.minutes;
    let completed = measure.completion == Completion::Completed;
    let points = award(measure.completion, minutes, advanced.at_session);
    let newly_counted = measure.counts && around.day_minutes.unwrap_or(0) < DAY_COUNTS_FROM;
    let mut standing = before.clone();
    standing.version += 1;
    standing.sessions += 1;
    standing.completed_sessions += i64::from(completed);
    standing.minutes += i64::from(minutes);
    add_points(&mut standing, points, moment.day, periods);
    standing.days_week += i32::from(newly_counted && periods.in_week(moment.day));
    standing.days_month += i32::from(newly_counted && periods.in_month(moment.day));
    standing.set_streak(advanced.streak);
    raise_favorites(
        &mut standing,
        moment.hour,
        around.hour_minutes,
        &row.category,
        around.category_minutes,
        minutes,
    );

    let reached = badges::Facts {
        completion: measure.completion,
        hour: moment.hour,
        completed_sessions: standing.completed_sessions,
        minutes: standing.minutes,
        longest_streak: standing.streak_longest,
        days_in_week: around.other_days_in_week + i32::from(measure.counts),
    };
    let new_badges = badges::earned(&reached)
        .filter(|badge| !before.badges().any(|held| held == *badge))
        .map(str::to_owned)
        .collect();
    let signs = signs_in_times(
        row.started_at,
        *now,
        submission.start_time,
        submission.end_time,
        credited_in_24h,
    );
    let suspect = around.suspect_flags > 0
        || signs
            .iter()
            .any(|sign| sign.severity() == Severity::Suspect);
    let sums = Sums {
        sessions: 1,
        minutes: minutes.into(),
        points,
    };
    let response = SubmitResponse {
        success: true,
        session_id: row.session_id.clone(),
        status: measure.completion.into(),
        credited_minutes: minutes,
        points_awarded: points,
        points: PointsSummary::from(&standing),
        streaks: StreakSummary::new(&standing, periods.today),
        new_badges,
    };
    Ok(Settled {
        minutes,
        completed,
        points,
        streak: advanced.at_session,
        day: measure.day,
        hour: moment.hour,
        standing,
        signs,
        splits: split(&around, moment, row, sums)?,
        on_boards: minutes > 0 && !suspect,
        response,
    })
}

/// The divisions of the day and the month with one more session.
fn split(
    around: &Around,
    moment: &LocalMoment,
    row: &SessionRow,
    sums: Sums,
) -> Result<Splits, Error> {
    let with = |text: &Option<String>, key: &str| {
        let mut split = Split::read(text.as_deref())?;
        split.add(key, sums);
        split.to_text()
    };
    let (hour, day) = (moment.hour.to_string(), moment.day.day().to_string());
    Ok(Splits {
        by_hour: with(&around.by_hour, &hour)?,
        by_category: with(&around.by_category, &row.category)?,
        by_project: with(&around.by_project, &row.project_id)?,
        month_by_day: with(&around.month_by_day, &day)?,
        month_by_hour: with(&around.month_by_hour, &hour)?,
        month_by_category: with(&around.month_by_category, &row.category)?,
        month_by_project: with(&around.month_by_project, &row.project_id)?,
    })
}

fn add_points(standing: &mut Standing, points: Points, day: NaiveDate, periods: &Periods) {
    let when = |holds: bool| if holds { points.0 } else { 0 };
    standing.points += points.0;
    standing.points_today += when(day == periods.today);
    standing.points_week += when(periods.in_week(day));
    standing.points_month += when(periods.in_month(day));
}

/// Minutes only grow, so the new maximum is the old one or what just grew. Ties go to the earlier hour
/// and the first category of the alphabet.
fn raise_favorites(
    standing: &mut Standing,
    hour: i32,
    hour_minutes: i64,
    category: &str,
    category_minutes: i64,
    minutes: i32,
) {
    if minutes == 0 {
        return;
    }
    let hour_minutes = hour_minutes + i64::from(minutes);
    if hour_minutes > standing.best_hour_minutes
        || (hour_minutes == standing.best_hour_minutes && hour < standing.best_hour)
    {
        (standing.best_hour, standing.best_hour_minutes) = (hour, hour_minutes);
    }
    let category_minutes = category_minutes + i64::from(minutes);
    if category_minutes > standing.favorite_category_minutes
        || (category_minutes == standing.favorite_category_minutes
            && category < standing.favorite_category.as_str())
    {
        category.clone_into(&mut standing.favorite_category);
        standing.favorite_category_minutes = category_minutes;
    }
}
