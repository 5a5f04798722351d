use chrono::{DateTime, Utc};
use db_kit::{Db, outbox};

use super::queries::{self, LateSubmit};
use crate::error::Error;
use crate::rollups::{self, PointsSummary, StreakSummary};
use crate::rules::points::Points;
use crate::rules::time::{Periods, local_moment, zone};
use crate::sessions::events;
use crate::sessions::model::{SessionRow, Status};
use crate::sessions::wire::{Submission, SubmitResponse};
use crate::sync;

/// Takes the submit of a session that is not open any more: the note is kept, nothing is credited.
/// None when the session changed since it was read. In a write transaction, because a session that the
/// sweeper has not seen yet is given up here and told of.
pub(super) fn keep(
    db: &mut Db,
    row: &SessionRow,
    zone_now: &str,
    submission: &Submission,
    digest: &str,
    now: DateTime<Utc>,
) -> Result<Option<String>, Error> {
    // First: the number of a change is the first lock that it takes.
    let seq = sync::bump(db, row.user_id)?;
    let periods = Periods::of(local_moment(now.naive_utc(), zone(zone_now)).day);
    let standing = rollups::standing(db, row.user_id, &periods)?;
    let response = SubmitResponse {
        success: true,
        session_id: row.session_id.clone(),
        status: Status::Abandoned,
        credited_minutes: 0,
        points_awarded: Points::default(),
        points: PointsSummary::from(&standing),
        streaks: StreakSummary::new(&standing, periods.today),
        new_badges: Vec::new(),
    };
    let answer = serde_json::to_string(&response).map_err(Error::internal)?;
    let late = LateSubmit {
        status: Status::Abandoned.as_str(),
        ended_at: row.ended_at.unwrap_or(row.expected_end_at),
        submitted_at: now.naive_utc(),
        start_time: submission.start_time,
        end_time: submission.end_time,
        note: submission.note.clone(),
        quality_rating: submission.quality_rating,
        tags: serde_json::to_string(&submission.tags).map_err(Error::internal)?,
        submit_digest: digest.to_owned(),
        submit_result: answer.clone(),
        changed_at: now.naive_utc(),
        seq,
    };
    if !queries::settle_late(db, &row.session_id, row.status, &late)? {
        return Ok(None);
    }
    if row.status != Status::Abandoned {
        outbox::insert(db, &events::abandoned(row, now)?)?;
    }
    Ok(Some(answer))
}
