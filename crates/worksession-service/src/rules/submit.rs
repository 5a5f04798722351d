//! The decision about a submit: refuse it, repeat its response, or credit it and build every row to store.

use auth_types::TeamId;
use chrono::{Datelike, NaiveDateTime};

use super::badges;
use super::credit::{self, Completion, Credit, MeasuredTimes, within_day_cap};
use super::integrity::{self, CreditedInterval, IntegrityFlag, detect_flags};
use super::locked_fields::{self, LockedFields, SubmittedFields};
use super::points::{Points, award};
use super::streaks::{self, LocalInstant, MIN_COUNTED_MINUTES, StreakDay, StreakUpdate};
use super::time::{LocalMoment, Periods, local_moment, month_of, zone};
use crate::error::Error;
use crate::rollups::{Breakdown, PointsSummary, SessionSums, StreakSummary, UserTotals};
use crate::sessions::events;
use crate::sessions::model::{NewFlag, SessionRow, SessionStatus};
use crate::sessions::submit::rows::{
    BadgeRow, BoardRow, CategoryRow, DayRow, HourRow, LoadedSubmit, MonthRow, SubmitAttempt,
    SubmitContext, SubmitOutcome, SubmitRows, SubmittedSession, TotalsRow,
};
use crate::sessions::wire::{Submission, SubmitResponse};

/// Decides a submit attempt, given the session that was loaded for it.
pub(crate) fn decide(attempt: &SubmitAttempt, loaded: Option<LoadedSubmit>) -> SubmitOutcome {
    let Some(loaded) = loaded else {
        return SubmitOutcome::Refused(match attempt.submission.session_id {
            Some(_) => Error::SessionNotFound,
            None => Error::NoOpenSession,
        });
    };
    let differing = list_differing(&loaded.session, &attempt.submission);
    let Some(context) = &loaded.context else {
        return repeat_or_refuse(attempt, loaded.session, &differing);
    };
    if !differing.is_empty() {
        return SubmitOutcome::Differs(Box::new(loaded.session), differing);
    }
    let evaluation = SubmitEvaluation::new(attempt, &loaded, context);
    let rows = match loaded.session.is_open(evaluation.now) {
        true => evaluation.build_rows(),
        false => evaluation.build_late_rows(),
    };
    match rows {
        Ok(rows) => SubmitOutcome::Submitted(Box::new(rows)),
        Err(cause) => SubmitOutcome::Refused(cause),
    }
}

/// Whether all counted days are needed to compute the streak after this session.
pub(crate) fn needs_counted_days(loaded: &LoadedSubmit) -> bool {
    let Some(context) = &loaded.context else {
        return false;
    };
    let moment = local_moment(loaded.session.started_at, zone(&loaded.session.zone));
    let start = start_instant(&loaded.session, &moment);
    let day = StreakDay::with(context.nearby.day_before(moment.day), moment.day, start, 1);
    context.totals.streak().advance(&day, start, true).is_none()
}

/// Whether this session may push the credited minutes within 24 hours over the limit.
pub(crate) fn may_be_long_day(loaded: &LoadedSubmit) -> bool {
    loaded.context.as_ref().is_some_and(|context| {
        IntegrityFlag::may_be_long_day(context.nearby.minutes + loaded.session.planned_duration)
    })
}

/// Returns the locked fields that differ from the plan.
fn list_differing(session: &SessionRow, submission: &Submission) -> Vec<&'static str> {
    let project = submission.project.map(|project| project.to_string());
    let submitted = SubmittedFields {
        category: submission.category.as_deref(),
        duration: submission.duration,
        project_id: project.as_deref(),
        planning_note: None,
    };
    locked_fields::compare(&LockedFields::from(session), &submitted)
}

fn repeat_or_refuse(
    attempt: &SubmitAttempt,
    session: SessionRow,
    differing: &[&str],
) -> SubmitOutcome {
    let is_same = differing.is_empty() && session.submit_digest.as_ref() == Some(&attempt.digest);
    match session.submit_result {
        Some(response) if is_same => SubmitOutcome::Answered(response),
        _ => SubmitOutcome::Refused(Error::AlreadySubmitted),
    }
}

fn start_instant(session: &SessionRow, moment: &LocalMoment) -> LocalInstant {
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
    context: &'a SubmitContext,
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
    /// Limited by the daily cap.
    minutes: i32,
    points: Points,
    /// The streak after the session, and the streak that multiplies its points.
    advanced: StreakUpdate,
    /// The session's day, including the session.
    day: StreakDay,
    /// Whether the day now counts towards the streak.
    counts: bool,
}

impl<'a> SubmitEvaluation<'a> {
    fn new(
        attempt: &'a SubmitAttempt,
        loaded: &'a LoadedSubmit,
        context: &'a SubmitContext,
    ) -> Self {
        let (session, now) = (&loaded.session, attempt.now.naive_utc());
        Self {
            attempt,
            loaded,
            session,
            context,
            moment: local_moment(session.started_at, zone(&session.zone)),
            periods: Periods::new(local_moment(now, zone(&loaded.zone)).day),
            now,
        }
    }

    fn build_rows(&self) -> Result<SubmitRows, Error> {
        let (credit, user_id) = (self.compute_credit(), self.attempt.user);
        let totals = self.compute_totals(&credit);
        let new_badges = self.list_new_badges(&credit, &totals);
        let flags = self.detect_flags(&credit);
        let response = self.build_response(Some(&credit), &totals, new_badges);
        let mut rows = self.build_session_row(&response)?;
        rows.session.local_day = Some(self.moment.day);
        rows.session.utc_offset = Some(self.moment.offset);
        let is_suspect =
            self.context.nearby.suspect_flags > 0 || flags.iter().any(IntegrityFlag::is_suspect);
        rows.session.on_boards = credit.minutes > 0 && !is_suspect;
        if rows.session.on_boards {
            rows.boards = self.build_boards(&credit);
        }
        let (streak, now) = (credit.advanced.at_session, self.attempt.now);
        let request_id = &self.attempt.request_id;
        let event = events::build_submitted(self.session, &response, streak, now, request_id)?;
        rows.events.push(event);
        let (day, month) = self.build_day_and_month(&credit)?;
        rows.days.push(day);
        rows.months.push(month);
        rows.totals.push(TotalsRow { user_id, totals });
        rows.hours.push(HourRow {
            user_id,
            hour: self.moment.hour,
            minutes: credit.minutes,
        });
        rows.categories.push(CategoryRow {
            user_id,
            category: self.session.category.clone(),
            minutes: credit.minutes,
        });
        let badge = |badge| BadgeRow {
            user_id,
            badge,
            earned_at: self.now,
        };
        rows.badges = response.new_badges.into_iter().map(badge).collect();
        let id = &self.session.session_id;
        let row = |flag| NewFlag::new(id, user_id, flag, self.now);
        rows.flags = flags.into_iter().map(row).collect();
        Ok(rows)
    }

    /// Stores the note of a session that is no longer open, without any credit. If the sweeper has not marked the session
    /// as abandoned yet, this does, and adds the event.
    fn build_late_rows(&self) -> Result<SubmitRows, Error> {
        let response = self.build_response(None, &self.context.totals, Vec::new());
        let (mut rows, session) = (self.build_session_row(&response)?, self.session);
        rows.session.ended_at = session.ended_at.unwrap_or(session.expected_end_at);
        if session.status != SessionStatus::Abandoned {
            let event = events::build_abandoned(session, self.attempt.now)?;
            rows.events.push(event);
        }
        Ok(rows)
    }

    /// Computes the credit from the server's clock and the session's local day.
    fn compute_credit(&self) -> SubmitCredit {
        let (session, submission) = (self.session, &self.attempt.submission);
        let nearby = &self.context.nearby;
        let Credit {
            completion,
            minutes,
        } = credit::credit(&MeasuredTimes {
            planned: session.planned_duration,
            started_at: session.started_at,
            stopped_at: session.ended_at.unwrap_or(self.now),
            client_start: submission.start_time,
            client_end: submission.end_time,
            previous_end: nearby.previous_end,
            next_start: nearby.next_start,
        });
        let before = nearby.day_minutes.unwrap_or(0);
        let minutes = within_day_cap(minutes, before);
        let (date, start) = (self.moment.day, start_instant(session, &self.moment));
        let day = StreakDay::with(nearby.day_before(date), date, start, minutes);
        let counts = before + minutes >= MIN_COUNTED_MINUTES;
        let advanced = self.context.totals.streak().advance(&day, start, counts);
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
    fn compute_totals(&self, credit: &SubmitCredit) -> UserTotals {
        let (day, periods) = (self.moment.day, &self.periods);
        let before = self.context.nearby.day_minutes.unwrap_or(0);
        let is_newly_counted = credit.counts && before < MIN_COUNTED_MINUTES;
        let points = |applies: bool| if applies { credit.points.0 } else { 0 };
        let mut totals = self.context.totals.clone();
        totals.version += 1;
        totals.sessions += 1;
        totals.completed_sessions += i64::from(credit.completion == Completion::Completed);
        totals.minutes += i64::from(credit.minutes);
        totals.points += credit.points.0;
        totals.points_today += points(day == periods.today);
        totals.points_week += points(periods.in_week(day));
        totals.points_month += points(periods.in_month(day));
        totals.days_week += i32::from(is_newly_counted && periods.in_week(day));
        totals.days_month += i32::from(is_newly_counted && periods.in_month(day));
        totals.set_streak(credit.advanced.streak);
        if credit.minutes > 0 {
            let minutes = |before: i64| before + i64::from(credit.minutes);
            let (nearby, category) = (&self.context.nearby, &self.session.category);
            totals.raise_best_hour(self.moment.hour, minutes(nearby.hour_minutes));
            totals.raise_favorite(category, minutes(nearby.category_minutes));
        }
        totals
    }

    fn list_new_badges(&self, credit: &SubmitCredit, totals: &UserTotals) -> Vec<String> {
        let reached = badges::BadgeFacts {
            completion: credit.completion,
            hour: self.moment.hour,
            completed_sessions: totals.completed_sessions,
            minutes: totals.minutes,
            longest_streak: totals.streak_longest,
            days_in_week: self.context.nearby.other_days_in_week + i32::from(credit.counts),
        };
        badges::list_earned(&reached)
            .filter(|badge| !totals.badges().any(|owned| owned == *badge))
            .map(str::to_owned)
            .collect()
    }

    fn detect_flags(&self, credit: &SubmitCredit) -> Vec<IntegrityFlag> {
        let nearby = self.context.nearby.minutes + credit.minutes;
        let credited_in_24h = if IntegrityFlag::may_be_long_day(nearby) {
            let own = CreditedInterval::new(self.session.started_at, credit.minutes);
            integrity::max_minutes_in_24h(&own, &self.loaded.nearby_credit)
        } else {
            nearby
        };
        detect_flags(
            self.session.started_at,
            self.now,
            self.attempt.submission.start_time,
            self.attempt.submission.end_time,
            credited_in_24h,
        )
    }

    /// Builds the response. `credit` is `None` if the submit came too late.
    fn build_response(
        &self,
        credit: Option<&SubmitCredit>,
        totals: &UserTotals,
        new_badges: Vec<String>,
    ) -> SubmitResponse {
        SubmitResponse {
            success: true,
            session_id: self.session.session_id.clone(),
            status: credit.map_or(SessionStatus::Abandoned, |credit| credit.completion.into()),
            credited_minutes: credit.map_or(0, |credit| credit.minutes),
            points_awarded: credit.map(|credit| credit.points).unwrap_or_default(),
            points: PointsSummary::from(totals),
            streaks: StreakSummary::new(totals, self.periods.today, self.now),
            new_badges,
        }
    }

    /// Builds only the session's own row.
    fn build_session_row(&self, response: &SubmitResponse) -> Result<SubmitRows, Error> {
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

    fn build_day_and_month(&self, credit: &SubmitCredit) -> Result<(DayRow, MonthRow), Error> {
        let nearby = &self.context.nearby;
        let sums = SessionSums {
            sessions: 1,
            minutes: credit.minutes.into(),
            points: credit.points,
        };
        let with = |text: &Option<String>, key: &str| {
            let mut breakdown = Breakdown::parse(text.as_deref())?;
            breakdown.add(key, sums);
            breakdown.to_text()
        };
        let (category, project) = (&self.session.category, &self.session.project_id);
        let (hour, date) = (self.moment.hour.to_string(), self.moment.day);
        let day = DayRow {
            user_id: self.attempt.user,
            day: date,
            sessions: 1,
            minutes: credit.minutes,
            points_centi: credit.points.0,
            first_start: credit.day.first.at,
            first_offset: credit.day.first.offset,
            last_start: credit.day.last.at,
            last_offset: credit.day.last.offset,
            by_hour: with(&nearby.by_hour, &hour)?,
            by_category: with(&nearby.by_category, category)?,
            by_project: with(&nearby.by_project, project)?,
        };
        let month = MonthRow {
            user_id: self.attempt.user,
            month: month_of(date),
            by_day: with(&nearby.month_by_day, &date.day().to_string())?,
            by_hour: with(&nearby.month_by_hour, &hour)?,
            by_category: with(&nearby.month_by_category, category)?,
            by_project: with(&nearby.month_by_project, project)?,
        };
        Ok((day, month))
    }

    /// Returns the rows for the global leaderboard and the team's leaderboard, by the UTC day on which the session started.
    fn build_boards(&self, credit: &SubmitCredit) -> Vec<BoardRow> {
        let periods = Periods::new(self.session.started_at.date()).starts();
        let team = self.session.team_id.map(TeamId::get);
        let scopes = std::iter::once(0).chain(team);
        let board = |scope| {
            periods.map(|(period, start)| BoardRow {
                scope,
                period,
                start,
                user_id: self.attempt.user,
                username: self.session.username.clone(),
                points_centi: credit.points.0,
                minutes: credit.minutes,
                sessions: 1,
                reached_at: self.now,
            })
        };
        scopes.flat_map(board).collect()
    }
}
