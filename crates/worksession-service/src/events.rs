use chrono::{DateTime, Utc};
use db_kit::Db;
use db_kit::outbox::{self, NewOutboxRow};
use diesel::QueryResult;
use event_types::EventData;
use service_kit::http::RequestId;

/// The `source` of this service's events.
pub(crate) const SOURCE: &str = "worksession-service";

/// Returns the outbox row of an event, for the transaction of the change that the event reports.
pub(crate) fn outbox_row<T: EventData>(
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
    data: &T,
) -> QueryResult<NewOutboxRow> {
    NewOutboxRow::for_event(SOURCE, now, request_id.map(ToString::to_string), data)
}

/// Inserts an event into the outbox. Call it in the transaction of the change that the event reports.
pub(crate) fn enqueue<T: EventData>(
    db: &mut Db,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
    data: &T,
) -> QueryResult<()> {
    outbox::insert(db, &outbox_row(now, request_id, data)?)
}
