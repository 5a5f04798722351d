//! What the consumers share: reading an event and telling the broker what became of it.

use broker::Verdict;
use db_kit::DbError;
use diesel::result::{DatabaseErrorKind, Error};
use event_types::{Event, EventData, EventError};
use tokio::sync::Notify;
use uuid::Uuid;

/// Reads an event; the error says why it is none.
pub(crate) fn decode(body: &[u8]) -> Result<Event, String> {
    let mut event = Event::decode(body).map_err(|error| error.to_string())?;
    // PostgreSQL stores no NUL; a request id that has one is none of ours.
    event.requestid = event.requestid.filter(|id| !id.contains('\0'));
    Ok(event)
}

/// Reads an event's data; the error says why they are none.
pub(crate) fn data<T: EventData>(event: &Event) -> Result<T, String> {
    event
        .data_as()
        .map_err(|error: EventError| error.to_string())
}

/// What the broker is to do after a try to commit; `wake` is told when there is something to send.
pub(crate) fn conclude(id: Uuid, committed: Result<(), DbError>, wake: &Notify) -> Verdict {
    match committed {
        Ok(()) => {
            wake.notify_one();
            Verdict::Ack
        }
        Err(error) if is_its_own_fault(&error) => Verdict::Park(error.to_string()),
        Err(error) => {
            log::warn!("the event {id} waits for the database: {error}");
            Verdict::Retry
        }
    }
}

/// Whether the same event would fail again and again; everything else (a full disk, a server that
/// restarts) passes.
fn is_its_own_fault(error: &DbError) -> bool {
    use DatabaseErrorKind::{CheckViolation, NotNullViolation, UniqueViolation};
    matches!(
        error,
        DbError::Query(
            Error::DatabaseError(CheckViolation | NotNullViolation | UniqueViolation, _)
                | Error::SerializationError(_)
        )
    )
}
