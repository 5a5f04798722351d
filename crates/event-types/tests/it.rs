//! Published events decode again, and what cannot be an event is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use auth_types::TeamRole;
use chrono::{TimeZone, Utc};
use event_types::{
    ChatTestRequested, ChatTested, Event, EventData, EventError, Exchange, IntegrationConfigured,
    MAX_EVENT_BYTES, Mail, MailRequested, MailTemplate, MembershipChanged, NotificationDelivered,
    SessionRevoked, TeamChanged, TeamRef, UserChanged, WebhookAttempted, WebhookConfigured,
    WebhookDisabled, WebhookDue, WebhookOutcome, WebhookReplayed, WebhookSecret, WebhookTarget,
    WebhookTest,
};
use serde_json::json;
use uuid::Uuid;

fn sample() -> Event {
    let data = IntegrationConfigured {
        project_id: 7,
        revision: 2,
        sealed: None,
        paused: false,
    };
    let at = Utc.with_ymd_and_hms(2026, 11, 21, 8, 0, 0).unwrap();
    Event::new(
        Uuid::from_u128(1),
        "worksession-service",
        at,
        Some("r-1".into()),
        &data,
    )
    .unwrap()
}

#[test]
fn an_event_reads_back_as_it_was_published() {
    let event = sample();
    let read = Event::decode(event.encode().unwrap().as_bytes()).unwrap();
    assert_eq!(read, event);
    assert_eq!(read.event_type, "integration.configured.v1");
    assert_eq!(
        read.data_as::<IntegrationConfigured>().unwrap().project_id,
        7
    );
    assert_eq!(
        Exchange::from_name(IntegrationConfigured::EXCHANGE.name()),
        Some(Exchange::Private)
    );
}

#[test]
fn an_event_of_another_type_version_or_size_is_refused() {
    assert!(matches!(
        sample().data_as::<NotificationDelivered>(),
        Err(EventError::OtherType { .. })
    ));
    let other = Event {
        specversion: "0.3".into(),
        ..sample()
    };
    assert!(matches!(
        Event::decode(serde_json::to_string(&other).unwrap().as_bytes()),
        Err(EventError::SpecVersion(_))
    ));
    let huge = vec![b' '; MAX_EVENT_BYTES + 1];
    assert!(matches!(Event::decode(&huge), Err(EventError::TooLong(_))));
    assert!(matches!(Event::decode(b"{"), Err(EventError::Json(_))));
}

/// Returns the published data, which must decode to the same value.
fn published<T: EventData + PartialEq + std::fmt::Debug>(data: &T) -> serde_json::Value {
    let at = Utc.with_ymd_and_hms(2026, 11, 21, 8, 0, 0).unwrap();
    let event = Event::new(Uuid::from_u128(1), "identity-service", at, None, data).unwrap();
    let read = Event::decode(event.encode().unwrap().as_bytes()).unwrap();
    assert_eq!(&read.data_as::<T>().unwrap(), data);
    assert_eq!(read.event_type, T::TYPE);
    read.data.read().unwrap()
}

fn team() -> TeamRef {
    TeamRef {
        id: "5".parse().unwrap(),
        slug: "core".into(),
        name: "Core".into(),
    }
}

#[test]
fn identity_events_have_exactly_this_shape() {
    let user_id = "7".parse().unwrap();
    let revoked = SessionRevoked {
        user_id,
        sids: vec!["a".into(), "b".into()],
        clients: vec!["app".into()],
    };
    let expected = json!({ "user_id": 7, "sids": ["a", "b"], "clients": ["app"] });
    assert_eq!(published(&revoked), expected);
    let changed = UserChanged {
        user_id,
        deleted: true,
        is_active: false,
    };
    let expected = json!({ "user_id": 7, "deleted": true, "is_active": false });
    assert_eq!(published(&changed), expected);
    // As published before these types had their last field.
    let before: SessionRevoked =
        serde_json::from_value(json!({ "user_id": 7, "sids": ["a"] })).unwrap();
    assert_eq!(before.clients, Vec::<String>::new());
    let before: UserChanged =
        serde_json::from_value(json!({ "user_id": 7, "deleted": false })).unwrap();
    assert!(before.is_active);
    let core = json!({ "id": 5, "slug": "core", "name": "Core" });
    for (role, expected) in [
        (Some(TeamRole::Owner), json!("owner")),
        (Some(TeamRole::Member), json!("member")),
        (None, json!(null)),
    ] {
        let membership = MembershipChanged {
            user_id,
            team: team(),
            role,
        };
        assert_eq!(
            published(&membership),
            json!({ "user_id": 7, "team": core, "role": expected })
        );
        assert_eq!(membership.subject(), "team/5");
    }
    let gone = TeamChanged {
        team: team(),
        deleted: false,
    };
    assert_eq!(published(&gone), json!({ "team": core, "deleted": false }));
    for exchange in [
        SessionRevoked::EXCHANGE,
        UserChanged::EXCHANGE,
        MembershipChanged::EXCHANGE,
        TeamChanged::EXCHANGE,
    ] {
        assert_eq!(exchange, Exchange::Public);
    }
}

#[test]
fn a_mail_request_has_nothing_but_its_template_in_clear() {
    let requested = MailRequested {
        template: "invitation".into(),
        sealed: "v2.k.x".into(),
    };
    assert_eq!(
        published(&requested),
        json!({ "template": "invitation", "sealed": "v2.k.x" })
    );
    assert_eq!(requested.subject(), "mail/invitation");
    assert_eq!(MailRequested::EXCHANGE, Exchange::Private);
    assert_eq!(MailRequested::seal_context("invitation"), "mail/invitation");
}

#[test]
fn a_sealed_mail_opens_to_exactly_this_json() {
    let at = Utc.with_ymd_and_hms(2026, 11, 21, 8, 0, 0).unwrap();
    let time = "2026-11-21T08:00:00Z";
    let (link, username) = ("https://x/t".to_owned(), "ada".to_owned());
    let cases = [
        (
            MailTemplate::Invitation {
                team: "Core".into(),
                invited_by: "bob".into(),
                link: link.clone(),
                expires_at: at,
            },
            json!({ "template": "invitation", "team": "Core", "invited_by": "bob", "link": link, "expires_at": time }),
        ),
        (
            MailTemplate::VerifyEmail {
                username: username.clone(),
                link: link.clone(),
                expires_at: at,
            },
            json!({ "template": "verify_email", "username": "ada", "link": link, "expires_at": time }),
        ),
        (
            MailTemplate::ResetPassword {
                username: username.clone(),
                link: link.clone(),
                expires_at: at,
            },
            json!({ "template": "reset_password", "username": "ada", "link": link, "expires_at": time }),
        ),
        (
            MailTemplate::NewSignIn {
                username: username.clone(),
                at,
                address: "192.0.2.7".into(),
                user_agent: None,
            },
            json!({ "template": "new_sign_in", "username": "ada", "at": time, "address": "192.0.2.7", "user_agent": null }),
        ),
        (
            MailTemplate::CodesRefused {
                username: username.clone(),
                at,
                address: None,
                user_agent: Some("curl/8.17.0".into()),
            },
            json!({ "template": "codes_refused", "username": "ada", "at": time, "address": null, "user_agent": "curl/8.17.0" }),
        ),
        (
            MailTemplate::EmailChanged {
                username: username.clone(),
                new_address_hint: "n…@e…".into(),
                at,
            },
            json!({ "template": "email_changed", "username": "ada", "new_address_hint": "n…@e…", "at": time }),
        ),
        (
            MailTemplate::SecurityChanged {
                username: username.clone(),
                what: "password".into(),
                at,
            },
            json!({ "template": "security_changed", "username": "ada", "what": "password", "at": time }),
        ),
        (
            MailTemplate::ChatSwitchedOff {
                username: username.clone(),
                project_id: 12,
                project: "Beacon".into(),
                team: "Core".into(),
                provider: "slack".into(),
                reason: "It answered 404".into(),
                at,
                link: link.clone(),
            },
            json!({ "template": "chat_switched_off", "username": "ada", "project_id": 12, "project": "Beacon",
                "team": "Core", "provider": "slack", "reason": "It answered 404", "at": time, "link": link }),
        ),
        (
            MailTemplate::WebhookSwitchedOff {
                username: username.clone(),
                webhook_id: 7,
                description: "wall".into(),
                origin: "https://hooks.example".into(),
                reason: "It answered 410".into(),
                at,
                link: link.clone(),
            },
            json!({ "template": "webhook_switched_off", "username": "ada", "webhook_id": 7, "description": "wall",
                "origin": "https://hooks.example", "reason": "It answered 410", "at": time, "link": link }),
        ),
        (
            MailTemplate::HooksPaused {
                username,
                reason: "It has no access".into(),
                hooks: vec!["The wall".into()],
                more: 2,
                at,
                link: link.clone(),
            },
            json!({ "template": "hooks_paused", "username": "ada", "reason": "It has no access", "hooks": ["The wall"],
                "more": 2, "at": time, "link": link }),
        ),
    ];
    assert_eq!(
        cases.each_ref().map(|(text, _)| text.template()),
        MailTemplate::TEMPLATES
    );
    for (text, expected) in cases {
        assert_eq!(expected["template"], text.template());
        let mail = Mail {
            to: "ada@example.com".into(),
            text,
        };
        let json = serde_json::to_value(&mail).unwrap();
        assert_eq!(json, json!({ "to": "ada@example.com", "text": expected }));
        assert!(serde_json::from_value::<Mail>(json).unwrap() == mail);
        let shown = format!("{mail:?}");
        assert!(
            !shown.contains("ada") && !shown.contains("https"),
            "{shown}"
        );
    }
    // From an earlier or a later version.
    let sparse = r#"{"to":"a@b","text":{"template":"new_sign_in","username":"ada","at":"2026-11-21T08:00:00Z","address":"x","added":1}}"#;
    assert!(serde_json::from_str::<Mail>(sparse).is_ok());
    let unknown = r#"{"to":"a@b","text":{"template":"newsletter"}}"#;
    assert!(serde_json::from_str::<Mail>(unknown).is_err());
}

#[test]
fn webhook_events_have_exactly_this_shape() {
    let id = Uuid::from_u128(9);
    let at = Utc.with_ymd_and_hms(2026, 11, 21, 8, 0, 0).unwrap();
    let configured = WebhookConfigured {
        webhook_id: 5,
        revision: 2,
        sealed: None,
        paused: false,
    };
    assert_eq!(
        published(&configured),
        json!({ "webhook_id": 5, "revision": 2, "sealed": null, "paused": false })
    );
    assert_eq!(configured.subject(), "webhook/5");
    assert_eq!(WebhookConfigured::seal_context(5, 2), "webhook/5/2");
    let replayed = WebhookReplayed {
        webhook_id: 5,
        delivery_id: id,
    };
    assert_eq!(
        published(&replayed),
        json!({ "webhook_id": 5, "delivery_id": id })
    );
    let event = sample();
    let due = WebhookDue {
        webhook_id: 5,
        revision: 2,
        delivery_id: id,
        user_id: "7".parse().unwrap(),
        event: event.clone(),
    };
    assert_eq!(
        published(&due),
        json!({ "webhook_id": 5, "revision": 2, "delivery_id": id, "user_id": 7, "event": event })
    );
    let test = WebhookTest {
        webhook_id: 5,
        requested_by: "ada".into(),
    };
    assert_eq!(
        published(&test),
        json!({ "webhook_id": 5, "requested_by": "ada" })
    );
    let attempted = WebhookAttempted {
        webhook_id: 5,
        delivery_id: id,
        step: 3,
        outcome: WebhookOutcome::Pending,
        attempts: 3,
        status_code: Some(503),
        duration_ms: Some(12),
        reason: Some("The receiver answered 503".into()),
        next_attempt_at: Some(at),
        at,
    };
    let time = "2026-11-21T08:00:00Z";
    assert_eq!(
        published(&attempted),
        json!({
            "webhook_id": 5, "delivery_id": id, "step": 3, "outcome": "pending", "attempts": 3, "status_code": 503,
            "duration_ms": 12, "reason": "The receiver answered 503", "next_attempt_at": time, "at": time
        })
    );
    let disabled = WebhookDisabled {
        webhook_id: 5,
        revision: 2,
        reason: "The receiver answered 410".into(),
    };
    assert_eq!(
        published(&disabled),
        json!({ "webhook_id": 5, "revision": 2, "reason": "The receiver answered 410" })
    );
    for exchange in [WebhookAttempted::EXCHANGE, WebhookDisabled::EXCHANGE] {
        assert_eq!(exchange, Exchange::Public);
    }
    for exchange in [
        WebhookConfigured::EXCHANGE,
        WebhookDue::EXCHANGE,
        WebhookReplayed::EXCHANGE,
    ] {
        assert_eq!(exchange, Exchange::Private);
    }
}

#[test]
fn a_sealed_webhook_opens_to_exactly_this_json_and_is_never_shown() {
    let at = Utc.with_ymd_and_hms(2026, 11, 21, 8, 0, 0).unwrap();
    let secret = |text: &str, until| WebhookSecret {
        secret: text.into(),
        until,
    };
    let target = WebhookTarget {
        url: "https://hidden.example/x".into(),
        secrets: vec![
            secret("whsec_hidden", None),
            secret("whsec_older", Some(at)),
        ],
    };
    let json = serde_json::to_value(&target).unwrap();
    assert_eq!(
        json,
        json!({
            "url": "https://hidden.example/x",
            "secrets": [
                { "secret": "whsec_hidden", "until": null },
                { "secret": "whsec_older", "until": "2026-11-21T08:00:00Z" }
            ]
        })
    );
    assert!(serde_json::from_value::<WebhookTarget>(json).unwrap() == target);
    let shown = format!("{target:?} {:?}", target.secrets);
    assert!(
        !shown.contains("hidden") && !shown.contains("older"),
        "{shown}"
    );
}

#[test]
fn a_chat_test_is_requested_in_private_and_reported_in_public() {
    let at = Utc.with_ymd_and_hms(2026, 11, 21, 8, 0, 0).unwrap();
    let test_id = Uuid::from_u128(9);
    let requested = ChatTestRequested {
        test_id,
        project_id: 3,
        project_name: "Beacon".into(),
        revision: 2,
        requested_by: "ada".into(),
        channel: "focus".into(),
    };
    assert_eq!(
        published(&requested),
        json!({ "test_id": test_id, "project_id": 3, "project_name": "Beacon", "revision": 2, "requested_by": "ada", "channel": "focus" })
    );
    let tested = ChatTested {
        test_id,
        project_id: 3,
        outcome: "delivered".into(),
        reason: None,
        at,
    };
    assert_eq!(
        published(&tested),
        json!({ "test_id": test_id, "project_id": 3, "outcome": "delivered", "reason": null, "at": "2026-11-21T08:00:00Z" })
    );
    assert_eq!(
        (ChatTestRequested::EXCHANGE, ChatTested::EXCHANGE),
        (Exchange::Private, Exchange::Public)
    );
}
