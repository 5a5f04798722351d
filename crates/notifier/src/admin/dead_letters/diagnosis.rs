use event_types::{
    ChatTestRequested, ChatTested, Event, EventData, IntegrationConfigured, IntegrationDisabled,
    LogoutRequested, MailRequested, MembershipChanged, NotificationDelivered, NotificationFailed,
    NotificationSkipped, SessionAbandoned, SessionRevoked, SessionStarted, SessionSubmitted,
    TeamChanged, UserChanged, WebhookAttempted, WebhookConfigured, WebhookDisabled, WebhookDue,
    WebhookReplayed,
};

/// RabbitMQ's cause for a message that was redelivered too often.
const DELIVERY_LIMIT: &str = "delivery_limit";

/// Returns why this version cannot read a message, as far as its body shows. The consumer has logged its own reason.
pub(super) fn diagnose(cause: Option<&str>, body: &[u8]) -> String {
    match reading_error(body) {
        Some(reason) => reason,
        None if cause == Some(DELIVERY_LIMIT) => "it was redelivered too often".to_owned(),
        None => "this version can read it".to_owned(),
    }
}

fn reading_error(body: &[u8]) -> Option<String> {
    let event = match Event::decode(body) {
        Ok(event) => event,
        Err(error) => return Some(error.to_string()),
    };
    macro_rules! read {
        ($($known:ty),+ $(,)?) => {
            match event.event_type.as_str() {
                $(<$known>::TYPE => event.data_as::<$known>().err().map(|error| error.to_string()),)+
                other => Some(format!("this version does not know {other:?}")),
            }
        };
    }
    read!(
        ChatTestRequested,
        ChatTested,
        IntegrationConfigured,
        IntegrationDisabled,
        LogoutRequested,
        MailRequested,
        MembershipChanged,
        NotificationDelivered,
        NotificationFailed,
        NotificationSkipped,
        SessionAbandoned,
        SessionRevoked,
        SessionStarted,
        SessionSubmitted,
        TeamChanged,
        UserChanged,
        WebhookAttempted,
        WebhookConfigured,
        WebhookDisabled,
        WebhookDue,
        WebhookReplayed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(specversion: &str, event_type: &str, data: &str) -> String {
        format!(
            "{{\"specversion\":\"{specversion}\",\"id\":\"01945b7a-0000-7000-8000-000000000001\",\"source\":\"test\",\
             \"type\":\"{event_type}\",\"subject\":\"x\",\"time\":\"2026-11-21T12:00:00Z\",\
             \"datacontenttype\":\"application/json\",\"data\":{data}}}"
        )
    }

    #[test]
    fn a_dead_letter_is_diagnosed_from_its_body() {
        let reason = |body: &str| diagnose(Some("rejected"), body.as_bytes());
        assert!(reason("{").contains("does not decode"));
        assert!(reason(&event("0.3", "session.started.v1", "{}")).contains("\"0.3\" is not 1.0"));
        assert!(reason(&event("1.0", "session.started.v2", "{}")).contains("session.started.v2"));
        assert!(reason(&event("1.0", "mail.requested.v1", "{}")).contains("missing field"));
        let fine = event(
            "1.0",
            "identity.session_revoked.v1",
            "{\"user_id\":1,\"sids\":[]}",
        );
        assert_eq!(reason(&fine), "this version can read it");
        assert!(diagnose(Some(DELIVERY_LIMIT), fine.as_bytes()).contains("too often"));
        assert!(diagnose(None, &vec![b'x'; 70_000]).contains("70000 bytes"));
    }
}
