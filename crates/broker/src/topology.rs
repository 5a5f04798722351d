use event_types::Exchange;

use crate::Message;

/// The exchange of dead letters: a fanout exchange.
pub(crate) const DEAD_LETTER_EXCHANGE: &str = "work.dlx";

/// The dead-letter queue, which keeps messages until an operator handles them.
pub(crate) const DEAD_LETTER_QUEUE: &str = "work.parked";

/// The additional routing key of events that have a subscribed webhook. Most sessions have none, and a queue of all
/// session events would cost the broker as much as the chat queue. A broker that an earlier version configured still
/// routes all of them; the consumer ignores events without a subscriber.
pub(crate) const SUBSCRIBED_KEY: &str = "listened";

/// The queues that have a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Sessions for the notifier's chat messages, with addresses and test requests.
    NotifyChat,
    /// Mails for the notifier.
    NotifyMail,
    /// Webhook deliveries and addresses for the notifier.
    NotifyWebhooks,
    /// Logouts that the notifier reports to OAuth clients.
    NotifyLogouts,
    /// Changes of accounts and teams, from the identity service to the work-session service.
    WorksessionIdentity,
    /// Delivery results, from the notifier to the work-session service.
    WorksessionFeedback,
    /// Session events with a subscribed webhook, from the work-session service to itself, so that it creates webhook
    /// deliveries outside of requests.
    WorksessionWebhooks,
}

impl Queue {
    pub(crate) const ALL: [Self; 7] = [
        Self::NotifyChat,
        Self::NotifyMail,
        Self::NotifyWebhooks,
        Self::NotifyLogouts,
        Self::WorksessionIdentity,
        Self::WorksessionFeedback,
        Self::WorksessionWebhooks,
    ];

    /// Returns the name of the queue, without a configured prefix.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotifyChat => "notify.chat",
            Self::NotifyMail => "notify.mail",
            Self::NotifyWebhooks => "notify.webhooks",
            Self::NotifyLogouts => "notify.logouts",
            Self::WorksessionIdentity => "worksession.identity",
            Self::WorksessionFeedback => "worksession.feedback",
            Self::WorksessionWebhooks => "worksession.webhooks",
        }
    }

    /// Returns what is routed to the queue. New versions of an event arrive too; a consumer that does not know one
    /// rejects it, and it becomes a dead letter. `WorksessionWebhooks` gets only those with a subscriber.
    pub(crate) fn bindings(self) -> &'static [(Exchange, &'static str)] {
        match self {
            Self::NotifyChat => &[
                (Exchange::Public, "session.#"),
                (Exchange::Private, "integration.configured.v1"),
                (Exchange::Private, "chat.test_requested.v1"),
            ],
            Self::NotifyMail => &[(Exchange::Private, "mail.requested.v1")],
            Self::NotifyWebhooks => &[
                (Exchange::Private, "webhook.configured.v1"),
                (Exchange::Private, "webhook.due.v1"),
                (Exchange::Private, "webhook.replayed.v1"),
                // A deleted account's deliveries are deleted too.
                (Exchange::Public, "identity.user_changed.#"),
            ],
            Self::NotifyLogouts => &[(Exchange::Private, "identity.logout_requested.v1")],
            Self::WorksessionIdentity => &[(Exchange::Public, "identity.#")],
            Self::WorksessionFeedback => &[
                (Exchange::Public, "notification.#"),
                (Exchange::Public, "integration.disabled.#"),
                (Exchange::Public, "chat.#"),
                (Exchange::Public, "webhook.#"),
            ],
            Self::WorksessionWebhooks => &[(Exchange::Public, SUBSCRIBED_KEY)],
        }
    }

    /// Whether a message with this key reaches any of these queues.
    #[must_use]
    pub fn is_any_bound(exchange: Exchange, key: &str) -> bool {
        Self::ALL.iter().any(|queue| queue.is_bound(exchange, key))
    }

    /// Returns the queues that a message reaches, each once, as RabbitMQ would route it.
    pub(crate) fn routed(message: &Message) -> impl Iterator<Item = Self> + '_ {
        Self::ALL.into_iter().filter(|queue| {
            queue.is_bound(message.exchange, &message.routing_key)
                || message.has_subscriber && queue.is_bound(message.exchange, SUBSCRIBED_KEY)
        })
    }

    fn is_bound(self, exchange: Exchange, key: &str) -> bool {
        let matches = |pattern| match exchange {
            Exchange::Public => topic_matches(pattern, key),
            Exchange::Private => pattern == key,
        };
        let mut bindings = self.bindings().iter();
        bindings.any(|&(bound, pattern)| bound == exchange && matches(pattern))
    }
}

/// Whether `key` matches a topic pattern of words between dots: `*` is one word, `#` any number of words.
fn topic_matches(pattern: &str, key: &str) -> bool {
    fn matches(pattern: &[&str], words: &[&str]) -> bool {
        match pattern.split_first() {
            None => words.is_empty(),
            Some((&"#", rest)) => {
                (0..=words.len()).any(|n| words.get(n..).is_some_and(|tail| matches(rest, tail)))
            }
            Some((first, rest)) => words.split_first().is_some_and(|(word, tail)| {
                (*first == "*" || first == word) && matches(rest, tail)
            }),
        }
    }
    matches(
        &pattern.split('.').collect::<Vec<_>>(),
        &key.split('.').collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_match_by_words() {
        for (pattern, key, expected) in [
            ("session.#", "session.started.v1", true),
            ("session.#", "session", true),
            ("session.#", "sessions.started", false),
            ("session.*", "session.started.v1", false),
            ("session.*.v1", "session.started.v1", true),
            ("#.v1", "a.b.v1", true),
            ("#", "", true),
            ("a.*", "a", false),
        ] {
            assert_eq!(topic_matches(pattern, key), expected, "{pattern} {key}");
        }
    }

    #[test]
    fn each_event_is_routed_to_its_queues() {
        use Exchange::{Private, Public};
        use Queue::{
            NotifyChat, NotifyLogouts, NotifyMail, NotifyWebhooks, WorksessionFeedback,
            WorksessionIdentity,
        };
        let message = |exchange, key: &str, has_subscriber| Message {
            exchange,
            routing_key: key.to_owned(),
            id: uuid::Uuid::nil(),
            body: [].into(),
            has_subscriber,
        };
        let routed =
            |exchange, key| Queue::routed(&message(exchange, key, false)).collect::<Vec<_>>();
        for (exchange, key, queue) in [
            (Public, "session.started.v1", NotifyChat),
            (Private, "integration.configured.v1", NotifyChat),
            (Private, "chat.test_requested.v1", NotifyChat),
            (Private, "mail.requested.v1", NotifyMail),
            (Private, "identity.logout_requested.v1", NotifyLogouts),
            (Private, "webhook.configured.v1", NotifyWebhooks),
            (Private, "webhook.due.v1", NotifyWebhooks),
            (Private, "webhook.replayed.v1", NotifyWebhooks),
            (Public, "webhook.attempted.v1", WorksessionFeedback),
            (Public, "webhook.disabled.v1", WorksessionFeedback),
            (Public, "chat.tested.v1", WorksessionFeedback),
            (Public, "integration.disabled.v1", WorksessionFeedback),
            (Public, "notification.failed.v1", WorksessionFeedback),
            (Public, "identity.session_revoked.v1", WorksessionIdentity),
        ] {
            assert_eq!(routed(exchange, key), [queue], "{key}");
        }
        let both = routed(Public, "identity.user_changed.v1");
        assert_eq!(both, [NotifyWebhooks, WorksessionIdentity]);
        let subscribed = message(Public, "session.started.v1", true);
        let both: Vec<_> = Queue::routed(&subscribed).collect();
        assert_eq!(both, [NotifyChat, Queue::WorksessionWebhooks]);
        assert_eq!(routed(Public, "integration.configured.v1"), []);
        assert_eq!(routed(Private, "session.started.v1"), []);
    }
}
