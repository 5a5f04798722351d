use chrono::{DateTime, Utc};
use db_kit::Db;
use db_kit::outbox::{self, NewOutboxRow};
use diesel::QueryResult;
use event_types::{Event, EventData};
use uuid::Uuid;

/// The notifier's name in the events it makes.
const SOURCE: &str = "notifier";

/// Writes an event to the outbox; call it in the transaction of the change, and wake the relay after it.
pub(crate) fn enqueue<T: EventData>(
    db: &mut Db,
    now: DateTime<Utc>,
    request_id: Option<String>,
    data: &T,
) -> QueryResult<()> {
    let id = Uuid::now_v7();
    let body = Event::new(id, SOURCE, now, request_id, data).and_then(|event| event.encode());
    let row = NewOutboxRow {
        id,
        exchange: T::EXCHANGE.name(),
        routing_key: T::TYPE,
        // Our own small types always encode; if one did not, the change would not happen either.
        body: body.map_err(|error| diesel::result::Error::SerializationError(Box::new(error)))?,
        created_at: now.naive_utc(),
    };
    outbox::insert(db, &row)
}
