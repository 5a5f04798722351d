use chrono::{DateTime, Utc};
use db_kit::{Db, outbox};
use event_types::{Event, EventData};
use service_kit::http::RequestId;
use uuid::{NoContext, Timestamp, Uuid};

use crate::error::Error;

/// The `source` of this service's events.
const SOURCE: &str = "worksession-service";

/// Writes an event to the outbox, in the transaction of the change it tells of.
/// Wake the relay after the commit.
pub(crate) fn enqueue<T: EventData>(
    db: &mut Db,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
    data: &T,
) -> Result<(), Error> {
    let row = outbox_row(now, request_id, data)?;
    outbox::insert(db, &row)?;
    Ok(())
}

/// The outbox row of an event, for a statement that writes it together with the change.
pub(crate) fn outbox_row<T: EventData>(
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
    data: &T,
) -> Result<outbox::NewOutboxRow, Error> {
    let id = uuid_v7(now);
    let event = Event::new(id, SOURCE, now, request_id.map(ToString::to_string), data)
        .map_err(Error::internal)?;
    Ok(outbox::NewOutboxRow {
        id,
        exchange: T::EXCHANGE.name(),
        routing_key: T::TYPE,
        body: event.encode().map_err(Error::internal)?,
        created_at: now.naive_utc(),
    })
}

/// An id that sorts by time, of the injected clock.
pub(crate) fn uuid_v7(now: DateTime<Utc>) -> Uuid {
    let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
    Uuid::new_v7(Timestamp::from_unix(
        NoContext,
        seconds,
        now.timestamp_subsec_nanos(),
    ))
}
