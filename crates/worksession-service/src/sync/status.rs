use auth_types::UserId;

use super::cursor::SyncCursor;
use super::queries::{self, MAX_CHANGES, SyncRow};
use super::wire::{ChangeData, ChangeKind, SyncChange, SyncStatus};
use crate::app_state::AppState;
use crate::error::Error;
use crate::projects::ProjectRef;

/// Returns what changed for the user after `since`.
pub(super) async fn load(
    state: &AppState,
    user: UserId,
    since: SyncCursor,
) -> Result<SyncStatus, Error> {
    let now = state.clock.now();
    let read = state.read(move |db| queries::list(db, user, since));
    let mut rows = read.await?;
    let (counter, searched_to) = rows
        .first()
        .map_or((0, None), |row| (row.counter, row.searched_to));
    // The running session has no number, so it comes last.
    let is_running = |row: &mut SyncRow| row.kind.as_deref() == Some("running");
    let running = rows.pop_if(is_running).and_then(|row| row.session);
    let has_more = rows.len() > MAX_CHANGES;
    rows.truncate(MAX_CHANGES);
    let last = match rows.last().and_then(|row| row.seq) {
        Some(last) if has_more => last,
        _ => searched_to.unwrap_or(counter).min(counter),
    };
    Ok(SyncStatus {
        success: true,
        server_time: now,
        cursor: SyncCursor::after(last).to_string(),
        more: last < counter,
        running_session: running.map(Into::into),
        changes: rows.into_iter().filter_map(convert).collect(),
    })
}

/// Converts a row; none for one with nothing but the counter.
fn convert(row: SyncRow) -> Option<SyncChange> {
    let at = row.changed_at?.and_utc();
    let (kind, id, data) = match (row.session, row.project, row.settings) {
        (Some(session), _, _) => {
            let id = session.session_id.clone();
            let data = ChangeData::Session(Box::new(session.into()));
            (ChangeKind::Session, id, data)
        }
        (_, Some(project), _) => {
            let id = ProjectRef::Personal(project.id).to_string();
            (ChangeKind::Project, id, ChangeData::Project(project.into()))
        }
        (_, _, Some(settings)) => {
            let data = ChangeData::Preferences(settings.into());
            (ChangeKind::Preferences, "preferences".to_owned(), data)
        }
        (None, None, None) => return None,
    };
    Some(SyncChange { kind, id, at, data })
}
