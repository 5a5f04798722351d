/// Returns a sentence for the operator, from RabbitMQ's reply when a queue or an exchange exists with other
/// properties: `… inequivalent arg 'x-delivery-limit' for queue 'notify.chat' in vhost '/': received '10' but current
/// is '20'`. A reply that does not parse is included unchanged.
pub(super) fn describe_mismatch(action: &str, reply: &str) -> String {
    match ArgumentMismatch::parse(reply) {
        Some(mismatch) => mismatch.to_string(),
        None => format!("{action}: {reply}; {REMEDY}"),
    }
}

const REMEDY: &str = "drain and delete it, or set \u{2026}__BROKER__PREFIX to use other names";

struct ArgumentMismatch<'a> {
    kind: &'a str,
    name: &'a str,
    argument: &'a str,
    required: Option<&'a str>,
    current: Option<&'a str>,
}

impl<'a> ArgumentMismatch<'a> {
    fn parse(reply: &'a str) -> Option<Self> {
        let (_, rest) = reply.split_once("inequivalent arg '")?;
        let (argument, rest) = rest.split_once("' for ")?;
        let (kind, rest) = rest.split_once(" '")?;
        let (name, rest) = rest.split_once('\'')?;
        // A virtual host may have any name, and RabbitMQ cuts off the end of a long reply.
        let (required, current) = match rest.split_once("received ") {
            Some((_, values)) => match values.split_once(" but current is ") {
                Some((required, current)) => (value(required), value(current)),
                None => (value(values), None),
            },
            None => (None, None),
        };
        Some(Self {
            kind,
            name,
            argument,
            required,
            current,
        })
    }
}

impl std::fmt::Display for ArgumentMismatch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            kind,
            name,
            argument,
            ..
        } = self;
        write!(f, "the {kind} {name} exists with ")?;
        match self.current {
            Some(current) => write!(f, "{argument} {current}")?,
            None => write!(f, "another {argument}")?,
        }
        if let Some(required) = self.required {
            write!(f, ", but {required} is required")?;
        }
        write!(f, ": {REMEDY}")
    }
}

/// Returns the value in `'10'`, `none`, or `the value '10' of type 'long'`.
fn value(text: &str) -> Option<&str> {
    match text.split_once('\'') {
        Some((_, rest)) => Some(rest.split_once('\'').map_or(rest, |(value, _)| value)),
        None => text.split_whitespace().next(),
    }
    .filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::describe_mismatch;

    #[test]
    fn a_topology_mismatch_is_described_in_one_sentence_with_the_remedy() {
        for (reply, expected) in [
            (
                "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'a.notify.chat' in vhost '/': received '10' but current is '20'",
                "the queue a.notify.chat exists with x-delivery-limit 20, but 10 is required: ",
            ),
            (
                "PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange' for queue 'q' in vhost 'it's': received the value 'work.dlx' of type 'longstr' but current is none",
                "the queue q exists with x-dead-letter-exchange none, but work.dlx is required: ",
            ),
            (
                "PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'work.events' in vhost '/': received 'topic' but current is 'direct'",
                "the exchange work.events exists with type direct, but topic is required: ",
            ),
            (
                "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q' in vhost '/': received 'true' but cur",
                "the queue q exists with another durable, but true is required: ",
            ),
        ] {
            let sentence = describe_mismatch("declaring q", reply);
            assert!(sentence.starts_with(expected), "{sentence}");
            assert!(sentence.contains("__BROKER__PREFIX"), "{sentence}");
        }
        let other = describe_mismatch("declaring q", "PRECONDITION_FAILED - quorum queues are off");
        assert!(other.starts_with("declaring q: PRECONDITION_FAILED - quorum queues are off; "));
    }
}
