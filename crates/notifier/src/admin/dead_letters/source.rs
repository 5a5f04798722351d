use broker::{BrokerUrl, DeadLetterError, DeadLetterQueue};
use db_kit::{DbError, Pool, outbox};

use super::super::context::{Context, Failure};
use super::cursor::{CursorSource, DeadLetterCursor};

/// A place where dead letters are stored.
pub(super) enum DeadLetterSource {
    Queue(Box<DeadLetterQueue>),
    /// The outbox of a part.
    Outbox(&'static str, Pool),
}

impl DeadLetterSource {
    /// Opens the broker's dead-letter queue, if there is a broker, and the outboxes of the known parts.
    pub(super) async fn open_all(context: &Context) -> Result<Vec<Self>, Failure> {
        let mut sources = Vec::new();
        match &context.broker {
            BrokerUrl::Memory if context.others.is_empty() => {
                return Err(DeadLetterError::NoBroker.into());
            }
            BrokerUrl::Memory => {}
            url @ BrokerUrl::Amqp(_) => {
                let queue = DeadLetterQueue::connect(url, &context.prefix, "admin parked").await?;
                sources.push(Self::Queue(Box::new(queue)));
            }
        }
        let others = context.others.iter();
        sources.extend(others.map(|(part, pool)| Self::Outbox(part, pool.clone())));
        sources.push(Self::Outbox("notifier", context.pool.clone()));
        Ok(sources)
    }

    /// Returns the number of dead letters, without those that another command has received.
    pub(super) async fn count(&self) -> Result<u64, Failure> {
        Ok(match self {
            Self::Queue(queue) => queue.count().await?.into(),
            Self::Outbox(_, pool) => {
                let count = pool.read::<_, DbError, _>(|db| Ok(outbox::count_unroutable(db)?));
                u64::try_from(count.await?).unwrap_or_default()
            }
        })
    }

    /// Starts an iteration over the first `total` dead letters.
    pub(super) async fn open_cursor(&self, total: u64) -> Result<DeadLetterCursor, Failure> {
        let source = match self {
            Self::Queue(queue) => CursorSource::Queue(Box::new(queue.check_out().await?)),
            Self::Outbox(part, pool) => CursorSource::Outbox {
                part,
                pool: pool.clone(),
                after: None,
            },
        };
        Ok(DeadLetterCursor::new(source, total))
    }

    pub(super) async fn close(self) {
        if let Self::Queue(queue) = self {
            queue.close().await;
        }
    }
}
