use broker::{Broker, ConsumeOptions, ConsumerHandle, Delivery, Queue, Verdict};
use db_kit::{Pool, inbox};
use service_kit::Clock;
use uuid::Uuid;

use super::queries;
use super::word::Word;
use crate::chat_settings;
use crate::error::Error;

/// The consumer's name in the inbox.
const CONSUMER: &str = "worksession.feedback";

/// Starts to listen to the notifier.
pub(crate) fn spawn(broker: &Broker, pool: Pool, clock: Clock) -> ConsumerHandle {
    broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        move |delivery| {
            let (pool, clock) = (pool.clone(), clock.clone());
            async move { hear(&pool, &clock, delivery).await }
        },
    )
}

async fn hear(pool: &Pool, clock: &Clock, delivery: Delivery) -> Verdict {
    let (id, word) = match Word::read(&delivery.body) {
        Ok(read) => read,
        Err(reason) => return Verdict::Park(reason),
    };
    match take_in(pool, clock, id, word).await {
        Ok(()) => Verdict::Ack,
        Err(cause) => {
            log::warn!("feedback {id} is tried again: {cause}");
            Verdict::Retry
        }
    }
}

async fn take_in(pool: &Pool, clock: &Clock, id: Uuid, word: Word) -> Result<(), Error> {
    let now = clock.now_naive();
    pool.write_tx(move |db| {
        if !inbox::record(db, CONSUMER, id, now)? {
            return Ok(());
        }
        match word {
            Word::Settled(notification) => {
                if queries::hold_session(db, &notification.session_id)? {
                    queries::record(db, &notification)?;
                }
            }
            Word::Disabled {
                project,
                revision,
                reason,
            } => {
                chat_settings::queries::switch_off(db, project, revision, &reason, now)?;
            }
        }
        Ok(())
    })
    .await
}
