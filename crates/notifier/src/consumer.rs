//! Shared by the consumers: decoding events and acknowledging them.

use broker::{Acknowledgement, Delivery};
use db_kit::DbError;
use event_types::{Event, EventData, EventError};
use tokio::sync::Notify;
use uuid::Uuid;

/// Decodes an event. The error is the reason for the dead letter.
pub(crate) fn decode(delivery: &Delivery) -> Result<Event, String> {
    let mut event = delivery.event()?;
    // PostgreSQL cannot store NUL, and no request id of Holdfast contains one.
    event.requestid = event.requestid.filter(|id| !id.contains('\0'));
    Ok(event)
}

/// Decodes the data of an event. The error is the reason for the dead letter.
pub(crate) fn data<T: EventData>(event: &Event) -> Result<T, String> {
    event
        .data_as()
        .map_err(|error: EventError| error.to_string())
}

/// Returns how to acknowledge an event after its commit, and signals `wake` when there may be something to send.
pub(crate) fn acknowledge(id: Uuid, stored: Result<(), DbError>, wake: &Notify) -> Acknowledgement {
    match stored {
        Ok(()) => {
            wake.notify_one();
            Acknowledgement::Ack
        }
        Err(error) if error.is_lasting() => Acknowledgement::DeadLetter(error.to_string()),
        Err(error) => {
            log::warn!("the event {id} will be retried: {error}");
            Acknowledgement::Retry
        }
    }
}

/// Commits a batch of deliveries and returns an acknowledgement for each, in order. If the commit fails for good, the events
/// are committed one by one, so that only the one that causes it becomes a dead letter.
pub(crate) async fn store_batch<T, F>(
    decoded: Vec<Result<Option<T>, String>>,
    id: impl Fn(&T) -> Uuid,
    commit: impl Fn(Vec<T>) -> F,
    wake: &Notify,
) -> Vec<Acknowledgement>
where
    T: Clone,
    F: Future<Output = Result<(), DbError>>,
{
    let wanted: Vec<T> = decoded.iter().flatten().flatten().cloned().collect();
    let committed = match wanted.len() {
        0 => Ok(()),
        _ => commit(wanted.clone()).await,
    };
    let one_by_one = committed.as_ref().is_err_and(DbError::is_lasting) && wanted.len() > 1;
    if committed.is_ok() {
        wake.notify_one();
    } else if let (Err(error), false) = (&committed, one_by_one) {
        // The scheduler warns of the same once a second, and there may be a thousand batches.
        log::debug!("{} events will be retried: {error}", wanted.len());
    }
    let mut acknowledgements = Vec::with_capacity(decoded.len());
    for decoded in decoded {
        acknowledgements.push(match (decoded, &committed) {
            (Err(reason), _) => Acknowledgement::DeadLetter(reason),
            (Ok(None), _) | (Ok(Some(_)), Ok(())) => Acknowledgement::Ack,
            (Ok(Some(item)), Err(_)) if one_by_one => {
                acknowledge(id(&item), commit(vec![item]).await, wake)
            }
            (Ok(Some(_)), Err(error)) if error.is_lasting() => {
                Acknowledgement::DeadLetter(error.to_string())
            }
            (Ok(Some(_)), Err(_)) => Acknowledgement::Retry,
        });
    }
    acknowledgements
}

/// A delivery that was published directly to its queue.
#[cfg(test)]
pub(crate) fn test_delivery(body: &[u8]) -> Delivery {
    Delivery {
        id: Uuid::nil(),
        routing_key: String::new(),
        body: body.into(),
    }
}
