use auth_types::UserId;
use db_kit::Db;

use super::queries;
use super::wire::SessionEdit;
use crate::error::Error;
use crate::rules::locked::{self, LockedFields};
use crate::sessions::history;
use crate::sessions::model;
use crate::sessions::record::RecordRow;
use crate::state::AppState;
use crate::sync;

/// Changes the editable fields of a submitted session. Its points stay the same, and a repeated submit still gets its
/// first response.
///
/// # Errors
/// 404 without such a session, 422 when locked fields differ from the plan, 409 before the submit.
pub(super) async fn edit(
    state: &AppState,
    user: UserId,
    id: &str,
    edit: SessionEdit,
) -> Result<RecordRow, Error> {
    let id = model::session_id(id)?;
    let now = state.clock.now_naive();
    let change = move |db: &mut Db| {
        // The plan never changes, and a submit is final: this read stays valid.
        let row = history::queries::find(db, user, &id)?.ok_or(Error::SessionNotFound)?;
        let differing = locked::differences(&plan(&row), &edit.locked());
        if !differing.is_empty() {
            return Err(Error::LockedFieldsDiffer(differing));
        }
        if row.submitted_at.is_none() {
            return Err(Error::SessionNotSubmitted);
        }
        if edit.changes_nothing() {
            return Ok(row);
        }
        let seq = sync::bump(db, user)?;
        queries::update(db, user, id, edit, seq, now)?.ok_or(Error::SessionNotFound)
    };
    let edited = state.pool.write_tx(change).await?;
    state.live.wake();
    Ok(edited)
}

fn plan(row: &RecordRow) -> LockedFields<'_> {
    LockedFields {
        category: &row.category,
        duration: row.planned_duration.into(),
        project_id: &row.project_id,
        planning_note: &row.planning_note,
    }
}
