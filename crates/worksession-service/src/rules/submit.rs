//! The decision about a submit: refused, repeated, or credited with every row that it writes.

use auth_types::TeamId;
use chrono::{Datelike, NaiveDateTime};

use super::badges;
use super::integrity::{self, CreditedInterval, IntegrityFlag, detect_flags};
use super::locked::{self, LockedFields, SubmittedFields};
use super::points::{Points, award};
use super::streaks::{self, DAY_COUNTS_FROM, LocalInstant, StreakDay, StreakUpdate};
use super::time::{
    self, Completion, Credit, LocalMoment, MeasuredTimes, Periods, local_moment, month_of,
    within_day_cap, zone,
};
use crate::error::Error;
use crate::rollups::{Breakdown, PointsSummary, SessionSums, StreakSummary, UserTotals};
use crate::sessions::events;
use crate::sessions::model::{NewFlag, SessionRow, SessionStatus};
use crate::sessions::submit::rows::{
    BadgeRow, BoardRow, CategoryRow, DayRow, HourRow, LoadedSubmit, MonthRow, SubmitAttempt,
    SubmitFacts, SubmitOutcome, SubmitRows, SubmittedSession, TotalsRow,
};
use crate::sessions::wire::{Submission, SubmitResponse};

/// Decides an attempt on the session that was loaded for it.
pub(crate) fn decide(attempt: &SubmitAttempt, loaded: Option<LoadedSubmit>) -> SubmitOutcome {
    let Some(loaded) = loaded else {
        return SubmitOutcome::Refused(match attempt.submission.session_id {
            Some(_) => Error::SessionNotFound,
            None => Error::NoOpenSession,
        });
    };
    let differing = differences(&loaded.session, &attempt.submission);
    let Some(facts) = &loaded.facts else {
        return submitted_before(attempt, loaded.session, &differing);
    };
    if !differing.is_empty() {
        return SubmitOutcome::Differs(Box::new(loaded.session), differing);
    }
    let evaluation = SubmitEvaluation::new(attempt, &loaded, facts);
    let rows = match loaded.session.is_open(evaluation.now) {
        true => evaluation.credited(),
        false => evaluation.too_late(),
    };
    match rows {
        Ok(rows) => SubmitOutcome::Submitted(Box::new(rows)),
        Err(cause) => SubmitOutcome::Refused(cause),
    }
}

/// Whether the streak with this session depends on all counted days.
pub(crate) fn needs_counted_days(loaded: &LoadedSubmit) -> bool {
    let Some(facts) = &loaded.facts else {
        return false;
    };
    let moment = local_moment(loaded.session.started_at, zone(&loaded.session.zone));
    let mark = mark(&loaded.session, &moment);
    let day = StreakDay::with(facts.around.day_before(moment.day), moment.day, mark, 1);
    facts.totals.streak().advance(&day, mark, true).is_none()
}

/// Whether the credit within 24 hours may become too much with this session.
pub(crate) fn may_be_long_day(loaded: &LoadedSubmit) -> bool {
    loaded.facts.as_ref().is_some_and(|facts| {
        IntegrityFlag::may_be_long_day(facts.around.minutes_near + loaded.session.planned_duration)
    })
}

/// Returns the locked fields that differ from the plan.
fn differences(session: &SessionRow, submission: &Submission) -> Vec<&'static str> {
    let project = submission.project.map(|project| project.to_string());
    let given = SubmittedFields {
        category: submission.category.as_deref(),
        duration: submission.duration,
        project_id: project.as_deref(),
        planning_note: None,
    };
    locked::differences(&LockedFields::from(session), &given)
}

fn submitted_before(
    attempt: &SubmitAttempt,
    session: SessionRow,
    differing: &[&str],
) -> SubmitOutcome {
    let same = differing.is_empty() && session.submit_digest.as_ref() == Some(&attempt.digest);
    match session.submit_result {
        Some(answer) if same => SubmitOutcome::Answered(answer),
        _ => SubmitOutcome::Refused(Error::AlreadySubmitted),
    }
}

fn mark(session: &SessionRow, moment: &LocalMoment) -> LocalInstant {
    LocalInstant {
        at: session.started_at,
        offset: moment.offset,
    }
}

/// An attempt on a session that is not yet submitted.
struct SubmitEvaluation<'a> {
    attempt: &'a SubmitAttempt,
    loaded: &'a LoadedSubmit,
    session: &'a SessionRow,
    facts: &'a SubmitFacts,
    /// The session's start on the user's calendar.
    moment: LocalMoment,
    /// The user's current periods.
    periods: Periods,
    /// When the submit arrived.
    now: NaiveDateTime,
}

/// The credit of a session.
struct SubmitCredit {
    completion: Completion,
    /// Limited by the day's cap.
    minutes: i32,
    points: Points,
    /// The streak with the session, and the run that multiplies its points.
    advanced: StreakUpdate,
    /// The session's day, including the session.
    day: StreakDay,
    /// Whether the day counts for streaks now.
    counts: bool,
}

impl<'a> SubmitEvaluation<'a> {
    fn new(attempt: &'a SubmitAttempt, loaded: &'a LoadedSubmit, facts: &'a SubmitFacts) -> Self {
        let (session, now) = (&loaded.session, attempt.now.naive_utc());
        Self {
            attempt,
            loaded,
            session,
            facts,
            moment: local_moment(session.started_at, zone(&session.zone)),
            periods: Periods::of(local_moment(now, zone(&loaded.zone)).day),
            now,
        }
    }

    fn credited(&self) -> Result<SubmitRows, Error> {
        let (earned, user_id) = (self.earned(), self.attempt.user);
        let totals = self.totals(&earned);
        let new_badges = self.new_badges(&earned, &totals);
        let signs = self.signs(&earned);
        let response = self.response(Some(&earned), &totals, new_badges);
        let mut rows = self.rows(&response)?;
        rows.session.local_day = Some(self.moment.day);
        rows.session.utc_offset = Some(self.moment.offset);
        let suspect =
            self.facts.around.suspect_flags > 0 || signs.iter().any(IntegrityFlag::is_suspect);
        rows.session.on_boards = earned.minutes > 0 && !suspect;
        if rows.session.on_boards {
            rows.boards = self.boards(&earned);
        }
        let (streak, now) = (earned.advanced.at_session, self.attempt.now);
        let request_id = &self.attempt.request_id;
        let event = events::submitted(self.session, &response, streak, now, request_id)?;
        rows.events.push(event);
        let (day, month) = self.day_and_month(&earned)?;
        rows.days.push(day);
        rows.months.push(month);
        rows.totals.push(TotalsRow { user_id, totals });
        rows.hours.push(HourRow {
            user_id,
            hour: self.moment.hour,
            minutes: earned.minutes,
        });
        rows.categories.push(CategoryRow {
            user_id,
            category: self.session.category.clone(),
            minutes: earned.minutes,
        });
        let badge = |badge| BadgeRow {
            user_id,
            badge,
            earned_at: self.now,
        };
        rows.badges = response.new_badges.into_iter().map(badge).collect();
        let id = &self.session.session_id;
        let flag = |sign| NewFlag::new(id, user_id, sign, self.now);
        rows.flags = signs.into_iter().map(flag).collect();
        Ok(rows)
    }

    /// Stores the note of a session that is no longer open, without any credit. If the sweeper has not abandoned the
    /// session yet, this does, with its event.
    fn too_late(&self) -> Result<SubmitRows, Error> {
        let response = self.response(None, &self.facts.totals, Vec::new());
        let mut rows = self.rows(&response)?;
        rows.session.ended_at = self
            .session
            .ended_at
            .unwrap_or(self.session.expected_end_at);
        if self.session.status != SessionStatus::Abandoned {
            let event = events::abandoned(self.session, self.attempt.now)?;
            rows.events.push(event);
        }
        Ok(rows)
    }

    /// Computes the credit by the server's clock and the session's local day.
    fn earned(&self) -> SubmitCredit {
        let (session, submission) = (self.session, &self.attempt.submission);
        let around = &self.facts.around;
        let Credit {
            completion,
            minutes,
        } = time::credit(&MeasuredTimes {
            planned: session.planned_duration,
            started_at: session.started_at,
            stopped_at: session.ended_at.unwrap_or(self.now),
            client_start: submission.start_time,
            client_end: submission.end_time,
            previous_end: around.previous_end,
            next_start: around.next_start,
        });
        let already = around.day_minutes.unwrap_or(0);
        let minutes = within_day_cap(minutes, already);
        let (date, mark) = (self.moment.day, mark(session, &self.moment));
        let day = StreakDay::with(around.day_before(date), date, mark, minutes);
        let counts = already + minutes >= DAY_COUNTS_FROM;
        let advanced = self.facts.totals.streak().advance(&day, mark, counts);
        let advanced = advanced
            .unwrap_or_else(|| streaks::recount_with(&self.loaded.counted_days, &day, counts));
        SubmitCredit {
            completion,
            minutes,
            points: award(completion, minutes, advanced.at_session),
            advanced,
            day,
            counts,
        }
    }

    /// Returns the user's totals including this session.
    fn totals(&self, earned: &SubmitCredit) -> UserTotals {
        let (day, periods) = (self.moment.day, &self.periods);
        let already = self.facts.around.day_minutes.unwrap_or(0);
        let newly_counted = earned.counts && already < DAY_COUNTS_FROM;
        let points = |holds: bool| if holds { earned.points.0 } else { 0 };
        let mut totals = self.facts.totals.clone();
        totals.version += 1;
        totals.sessions += 1;
        totals.completed_sessions += i64::from(earned.completion == Completion::Completed);
        totals.minutes += i64::from(earned.minutes);
        totals.points += earned.points.0;
        totals.points_today += points(day == periods.today);
        totals.points_week += points(periods.in_week(day));
        totals.points_month += points(periods.in_month(day));
        totals.days_week += i32::from(newly_counted && periods.in_week(day));
        totals.days_month += i32::from(newly_counted && periods.in_month(day));
        totals.set_streak(earned.advanced.streak);
        if earned.minutes > 0 {
            let minutes = |before: i64| before + i64::from(earned.minutes);
            let (around, category) = (&self.facts.around, &self.session.category);
            totals.raise_best_hour(self.moment.hour, minutes(around.hour_minutes));
            totals.raise_favorite(category, minutes(around.category_minutes));
        }
        totals
    }

    fn new_badges(&self, earned: &SubmitCredit, totals: &UserTotals) -> Vec<String> {
        let reached = badges::BadgeFacts {
            completion: earned.completion,
            hour: self.moment.hour,
            completed_sessions: totals.completed_sessions,
            minutes: totals.minutes,
            longest_streak: totals.streak_longest,
            days_in_week: self.facts.around.other_days_in_week + i32::from(earned.counts),
        };
        badges::earned(&reached)
            .filter(|badge| !totals.badges().any(|held| held == *badge))
            .map(str::to_owned)
            .collect()
    }

    fn signs(&self, earned: &SubmitCredit) -> Vec<IntegrityFlag> {
        let near = self.facts.around.minutes_near + earned.minutes;
        let credited_in_24h = if IntegrityFlag::may_be_long_day(near) {
            let own = CreditedInterval::new(self.session.started_at, earned.minutes);
            integrity::max_minutes_in_24h(&own, &self.loaded.work_near)
        } else {
            near
        };
        detect_flags(
            self.session.started_at,
            self.now,
            self.attempt.submission.start_time,
            self.attempt.submission.end_time,
            credited_in_24h,
        )
    }

    /// Builds the response. Without `earned` the submit came too late and has no credit.
    fn response(
        &self,
        earned: Option<&SubmitCredit>,
        totals: &UserTotals,
        new_badges: Vec<String>,
    ) -> SubmitResponse {
        SubmitResponse {
            success: true,
            session_id: self.session.session_id.clone(),
            status: earned.map_or(SessionStatus::Abandoned, |earned| earned.completion.into()),
            credited_minutes: earned.map_or(0, |earned| earned.minutes),
            points_awarded: earned.map(|earned| earned.points).unwrap_or_default(),
            points: PointsSummary::from(totals),
            streaks: StreakSummary::new(totals, self.periods.today),
            new_badges,
        }
    }

    /// Builds the session's own row, and none of the others.
    fn rows(&self, response: &SubmitResponse) -> Result<SubmitRows, Error> {
        let submission = &self.attempt.submission;
        let session = SubmittedSession {
            session_id: self.session.session_id.clone(),
            status: response.status,
            ended_at: self.session.ended_at.unwrap_or(self.now),
            local_day: None,
            utc_offset: None,
            submitted_at: self.now,
            start_time: submission.start_time,
            end_time: submission.end_time,
            credited_minutes: response.credited_minutes,
            points_centi: response.points_awarded.0,
            note: submission.note.clone(),
            quality_rating: submission.quality_rating,
            tags: serde_json::to_string(&submission.tags).map_err(Error::internal)?,
            submit_digest: self.attempt.digest.clone(),
            submit_result: serde_json::to_string(response).map_err(Error::internal)?,
            on_boards: false,
        };
        Ok(SubmitRows::new(self.attempt.user, self.loaded.seq, session))
    }

    fn day_and_month(&self, earned: &SubmitCredit) -> Result<(DayRow, MonthRow), Error> {
        let around = &self.facts.around;
        let sums = SessionSums {
            sessions: 1,
            minutes: earned.minutes.into(),
            points: earned.points,
        };
        let with = |text: &Option<String>, key: &str| {
            let mut split = Breakdown::read(text.as_deref())?;
            split.add(key, sums);
            split.to_text()
        };
        let (category, project) = (&self.session.category, &self.session.project_id);
        let (hour, date) = (self.moment.hour.to_string(), self.moment.day);
        let day = DayRow {
            user_id: self.attempt.user,
            day: date,
            sessions: 1,
            minutes: earned.minutes,
            points_centi: earned.points.0,
            first_start: earned.day.first.at,
            first_offset: earned.day.first.offset,
            last_start: earned.day.last.at,
            last_offset: earned.day.last.offset,
            by_hour: with(&around.by_hour, &hour)?,
            by_category: with(&around.by_category, category)?,
            by_project: with(&around.by_project, project)?,
        };
        let month = MonthRow {
            user_id: self.attempt.user,
            month: month_of(date),
            by_day: with(&around.month_by_day, &date.day().to_string())?,
            by_hour: with(&around.month_by_hour, &hour)?,
            by_category: with(&around.month_by_category, category)?,
            by_project: with(&around.month_by_project, project)?,
        };
        Ok((day, month))
    }

    /// Returns the rows of the boards of everybody and of the project's team, by the UTC day of the start.
    fn boards(&self, earned: &SubmitCredit) -> Vec<BoardRow> {
        let periods = Periods::of(self.session.started_at.date()).starts();
        let team = self.session.team_id.map(TeamId::get);
        let scopes = std::iter::once(0).chain(team);
        let board = |scope| {
            periods.map(|(period, start)| BoardRow {
                scope,
                period,
                start,
                user_id: self.attempt.user,
                username: self.session.username.clone(),
                points_centi: earned.points.0,
                minutes: earned.minutes,
                sessions: 1,
                reached_at: self.now,
            })
        };
        scopes.flat_map(board).collect()
    }
}
