use std::sync::Arc;

use auth_types::UserId;
use chrono::{DateTime, NaiveDate, Utc};
use db_kit::{Backend, Db, DbError};
use futures_util::FutureExt;
use service_kit::http::RequestId;

use super::choose::{Choice, choose};
use super::late;
use super::queries::{Candidates, FactsArguments, Settlement};
use super::settle::{Case, Settled, measure, settle};
use super::store::{InTransaction, Store};
use crate::error::Error;
use crate::rules::integrity::{self, Sign, Work};
use crate::rules::streaks::{self, Advanced, Day};
use crate::rules::time::{OPEN_AFTER_PLANNED_END, Periods, local_moment, month_of, zone};
use crate::sessions::digest::digest;
use crate::sessions::model::{self, NewFlag, SessionRow};
use crate::sessions::wire::Submission;
use crate::sessions::{events, queries as session_queries};
use crate::state::AppState;
use crate::sync;

/// Of submits of one user that race, one wins each round.
const ROUNDS: usize = 64;

/// A submit on its way.
#[derive(Debug)]
struct Attempt {
    user: UserId,
    submission: Submission,
    digest: String,
    /// When it arrived.
    now: DateTime<Utc>,
    request_id: RequestId,
}

/// How a round ended.
#[derive(Debug)]
enum Outcome {
    /// Settled now.
    Settled(String),
    /// Settled before, by the same submit.
    Answered(String),
    /// Refused: locked fields differ.
    Differs(SessionRow, Vec<&'static str>),
    /// Not open any more; with the user's zone.
    Late(SessionRow, String),
    /// What was read had changed when it was to be written.
    Beaten,
}

/// Submits a session and gives the answer's text, which is stored with it.
///
/// # Errors
/// 404 and 409 when there is no such session to submit, 422 when locked fields differ.
pub(in crate::sessions) async fn submit(
    state: &AppState,
    user: UserId,
    mut submission: Submission,
    request_id: RequestId,
) -> Result<String, Error> {
    if let Some(id) = &mut submission.session_id {
        *id = model::session_id(id)?;
    }
    // Locked fields are not part of it: they are compared with the plan itself.
    let digest = digest(&(
        &submission.note,
        submission.start_time.and_utc().timestamp_micros(),
        submission.end_time.and_utc().timestamp_micros(),
        submission.quality_rating,
        &submission.tags,
    ))?;
    let attempt = Arc::new(Attempt {
        user,
        submission,
        digest,
        now: state.clock.now(),
        request_id,
    });
    for round in 0..ROUNDS {
        match once(state, &attempt, round > 0).await? {
            Outcome::Settled(answer) => {
                state.wake();
                return Ok(answer);
            }
            Outcome::Answered(answer) => return Ok(answer),
            Outcome::Differs(row, names) => {
                flag_mismatch(state, row, attempt.now).await?;
                return Err(Error::LockedFieldsDiffer(names));
            }
            Outcome::Late(row, zone) => {
                let attempt = Arc::clone(&attempt);
                let keep = move |db: &mut Db| {
                    late::keep(
                        db,
                        &row,
                        &zone,
                        &attempt.submission,
                        &attempt.digest,
                        attempt.now,
                    )
                };
                if let Some(answer) = state.pool.write_tx(keep).await? {
                    state.wake();
                    return Ok(answer);
                }
            }
            Outcome::Beaten => {}
        }
    }
    Err(DbError::Busy.into())
}

/// One round; after the first it is patient.
async fn once(state: &AppState, attempt: &Arc<Attempt>, patient: bool) -> Result<Outcome, Error> {
    match state.pool.backend() {
        Backend::Postgres => attempt.run(&mut &state.submits, patient).await,
        Backend::Sqlite => {
            let attempt = Arc::clone(attempt);
            let work = move |db: &mut Db| {
                // Nothing in it waits for anything but the database, which has this thread.
                let done = attempt.run(&mut InTransaction(db), patient).now_or_never();
                done.unwrap_or_else(|| Err(DbError::Busy.into()))
            };
            state.pool.write_tx(work).await
        }
    }
}

/// The flag stays although the submit is refused, so it has a transaction of its own.
async fn flag_mismatch(state: &AppState, row: SessionRow, now: DateTime<Utc>) -> Result<(), Error> {
    let flag = move |db: &mut Db| {
        let seq = sync::bump(db, row.user_id)?;
        let now = now.naive_utc();
        if let Some(nth) = session_queries::count_mismatch(db, &row.session_id, seq, now)?
            && nth <= Sign::MISMATCHES_RECORDED
        {
            let sign = Sign::LockedMismatch(nth);
            session_queries::insert_flag(
                db,
                &NewFlag::new(&row.session_id, row.user_id.get(), sign, now),
            )?;
        }
        Ok::<_, Error>(())
    };
    state.pool.write_tx(flag).await?;
    state.live.wake();
    Ok(())
}

impl Attempt {
    /// One round: two reads, and one write of everything or of nothing. One that is patient waits for its turn.
    async fn run(&self, store: &mut impl Store, patient: bool) -> Result<Outcome, Error> {
        let now = self.now.naive_utc();
        let candidates = store.candidates(self.candidates()).await?;
        // The zone is the user's: the same in each row.
        let zone_now = candidates
            .first()
            .map(|(_, zone)| zone.clone())
            .unwrap_or_default();
        let rows = candidates.into_iter().map(|(row, _)| row).collect();
        let row = match choose(rows, &self.submission, &self.digest, now)? {
            Choice::Session(row) => row,
            Choice::Answered(answer) => return Ok(Outcome::Answered(answer)),
            Choice::Differs(row, names) => return Ok(Outcome::Differs(row, names)),
        };
        if !row.is_open(now) {
            return Ok(Outcome::Late(row, zone_now));
        }
        self.settle(store, &row, &zone_now, patient).await
    }

    fn candidates(&self) -> Candidates {
        Candidates {
            user_id: self.user.get(),
            session_id: self.submission.session_id.clone(),
            submit_digest: self.digest.clone(),
            open_after: self.now.naive_utc() - OPEN_AFTER_PLANNED_END,
            start_time: self.submission.start_time,
            category: self.submission.category.clone(),
            duration: self.submission.duration,
            project_id: self.submission.project.map(|project| project.to_string()),
        }
    }

    async fn settle(
        &self,
        store: &mut impl Store,
        row: &SessionRow,
        zone_now: &str,
        patient: bool,
    ) -> Result<Outcome, Error> {
        let now = self.now.naive_utc();
        let case = Case {
            row,
            submission: &self.submission,
            moment: local_moment(row.started_at, zone(&row.zone)),
            stopped_at: row.ended_at.unwrap_or(now),
            periods: Periods::of(local_moment(now, zone(zone_now)).day),
            now,
        };
        let of = FactsArguments::new(row, &case.moment, &case.periods);
        let facts = store.facts(of).await?;
        let measure = measure(&case, &facts);
        let advanced =
            match facts
                .standing
                .streak()
                .advance(&measure.day, measure.mark, measure.counts)
            {
                Some(advanced) => advanced,
                None => {
                    let days = store.counted_days(row.user_id).await?;
                    recount(days, &measure.day, measure.counts)
                }
            };
        let near = facts.around.minutes_near;
        let credited_in_24h = busiest_day(store, row, near, measure.minutes).await?;
        let seen_seq = facts.around.seq;
        let settled = settle(&case, facts, &measure, advanced, credited_in_24h)?;
        let answer = serde_json::to_string(&settled.response).map_err(Error::internal)?;
        let mut settlement = self.settlement(&case, &settled, seen_seq, answer.clone())?;
        settlement.patient = patient;
        Ok(if store.settle(settlement).await? {
            Outcome::Settled(answer)
        } else {
            Outcome::Beaten
        })
    }

    fn settlement(
        &self,
        case: &Case<'_>,
        settled: &Settled,
        seen_seq: i64,
        answer: String,
    ) -> Result<Settlement, Error> {
        let event = events::submitted(
            case.row,
            &settled.response,
            settled.streak,
            self.now,
            &self.request_id,
        )?;
        let Settled {
            standing,
            day,
            response,
            ..
        } = settled;
        let flag = |sign: &Sign| {
            let (kind, severity) = (sign.kind(), sign.severity().name());
            format!("{kind}:{severity}:{}", sign.amount())
        };
        let utc = Periods::of(case.row.started_at.date());
        Ok(Settlement {
            session_id: case.row.session_id.clone(),
            user_id: self.user.get(),
            seen_status: case.row.status.as_str().to_owned(),
            seen_ended_at: case.row.ended_at,
            seen_seq,
            status: response.status.as_str().to_owned(),
            ended_at: case.stopped_at,
            submitted_at: case.now,
            start_time: self.submission.start_time,
            end_time: self.submission.end_time,
            credited_minutes: settled.minutes,
            points: settled.points.0,
            note: self.submission.note.clone(),
            quality_rating: self.submission.quality_rating,
            tags: serde_json::to_string(&self.submission.tags).map_err(Error::internal)?,
            submit_digest: self.digest.clone(),
            submit_result: answer,
            version: standing.version,
            completed: settled.completed.into(),
            streak_run: standing.streak_run,
            streak_longest: standing.streak_longest,
            streak_last_day: standing.streak_last_day,
            streak_last_start: standing.streak_last_start,
            streak_last_offset: standing.streak_last_offset,
            best_hour: standing.best_hour,
            best_hour_minutes: standing.best_hour_minutes,
            favorite_category: standing.favorite_category.clone(),
            favorite_category_minutes: standing.favorite_category_minutes,
            day: day.date,
            utc_offset: case.moment.offset,
            first_start: day.first.at,
            first_offset: day.first.offset,
            last_start: day.last.at,
            last_offset: day.last.offset,
            hour: settled.hour,
            category: case.row.category.clone(),
            badges: response.new_badges.join(","),
            flags: settled.signs.iter().map(flag).collect::<Vec<_>>().join(","),
            by_hour: settled.splits.by_hour.clone(),
            by_category: settled.splits.by_category.clone(),
            by_project: settled.splits.by_project.clone(),
            own_month: month_of(case.moment.day),
            month_by_day: settled.splits.month_by_day.clone(),
            month_by_hour: settled.splits.month_by_hour.clone(),
            month_by_category: settled.splits.month_by_category.clone(),
            month_by_project: settled.splits.month_by_project.clone(),
            on_boards: settled.on_boards,
            username: case.row.username.clone(),
            team_id: case.row.team_id.map(auth_types::TeamId::get),
            utc_day: utc.today,
            utc_week: utc.week.0,
            utc_month: utc.month.0,
            board_epoch: NaiveDate::default(),
            event_id: event.id.to_string(),
            event_exchange: event.exchange.to_owned(),
            event_type: event.routing_key.to_owned(),
            event_body: event.body,
            patient: false,
        })
    }
}

/// The most minutes in any 24 hours that hold this session; those around it are read only when they could
/// be too many.
async fn busiest_day(
    store: &mut impl Store,
    row: &SessionRow,
    near: i32,
    minutes: i32,
) -> Result<i32, Error> {
    if !Sign::may_be_long_day(near + minutes) {
        return Ok(near + minutes);
    }
    let own = Work::new(row.started_at, minutes);
    let others = store.work_near(row.user_id, row.started_at).await?;
    Ok(integrity::busiest_day(&own, &others))
}

/// Over all counted days as they are with this session.
fn recount(mut counted: Vec<Day>, day: &Day, counts: bool) -> Advanced {
    if counts {
        counted.retain(|other| other.date != day.date);
        let at = counted.partition_point(|other| other.date < day.date);
        counted.insert(at, *day);
    }
    streaks::recount(&counted, day)
}
