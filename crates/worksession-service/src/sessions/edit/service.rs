use auth_types::UserId;
use db_kit::Db;

use super::queries;
use super::wire::SessionEdit;
use crate::app_state::AppState;
use crate::error::Error;
use crate::rules::locked_fields::{self, LockedFields};
use crate::sessions::record::RecordRow;
use crate::sessions::{history, model};
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
    let id = model::parse_session_id(id)?;
    let now = state.clock.now_naive();
    let change = move |db: &mut Db| {
        // The plan never changes, and a submit is final: this read stays valid.
        let row = history::queries::find(db, user, &id)?.ok_or(Error::SessionNotFound)?;
        let differing = locked_fields::compare(&locked_fields_of(&row), &edit.submitted_fields());
        if !differing.is_empty() {
            return Err(Error::LockedFieldsDiffer(differing));
        }
        if row.submitted_at.is_none() {
            return Err(Error::SessionNotSubmitted);
        }
        if edit.is_empty() {
            return Ok(row);
        }
        let seq = sync::bump(db, user)?;
        queries::update(db, user, id, edit, seq, now)?.ok_or(Error::SessionNotFound)
    };
    let edited = state.pool.write_tx(change).await?;
    state.streams.wake();
    Ok(edited)
}

fn locked_fields_of(row: &RecordRow) -> LockedFields<'_> {
    LockedFields {
        category: &row.category,
        duration: row.planned_duration.into(),
        project_id: &row.project_id,
        planning_note: &row.planning_note,
    }
}
