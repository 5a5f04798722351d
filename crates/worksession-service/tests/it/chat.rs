use broker::{Message, PublishOutcome};
use chrono::DateTime;
use diesel::prelude::*;
use event_types::{
    ChatAddress, ChatDestination, ChatProvider, EventData, IntegrationConfigured,
    IntegrationDisabled, Notification, NotificationDelivered, NotificationFailed,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use service_kit::seal::{Purpose, SealingKeys};
use uuid::Uuid;

use crate::broker_fixture::data;
use crate::fake_notifier::{CHAT_URL, KEY, outbox_events, publish, start_service};
use crate::service_fixture::Service;

diesel::table! {
    notifications (session_id, event_id) {
        event_id -> Text,
        session_id -> Text,
        team_project_id -> Nullable<BigInt>,
        outcome -> Text,
        reason -> Nullable<Text>,
    }
}

async fn chat(service: &Service, path: &str) -> Value {
    service
        .api
        .get(path)
        .bearer("user-")
        .send()
        .await
        .expect(200)
        .json()["chat"]
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_address_is_published_sealed_and_its_removal_without_an_address() {
    let (service, _broker) = start_service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let body = json!({"provider": "slack", "webhook_url": CHAT_URL});
    let call = service
        .api
        .put(&path)
        .bearer("user-")
        .header("x-request-id", "trace-7");
    call.json(body).send().await.expect(200);
    service
        .api
        .delete(&path)
        .bearer("user-")
        .send()
        .await
        .expect(204);

    let mut events = outbox_events(&service).await;
    assert_eq!(events.len(), 2);
    // The ids of one instant are unordered, and the clock stands still.
    events.sort_by_key(|(_, event)| data(event)["revision"].as_i64());
    for (exchange, event) in &events {
        assert_eq!(exchange, "work.private");
        assert_eq!(event.event_type, IntegrationConfigured::TYPE);
        assert!(
            !serde_json::to_string(event)
                .unwrap()
                .contains("very-secret")
        );
    }
    assert_eq!(events[0].1.requestid.as_deref(), Some("trace-7"));
    let set: IntegrationConfigured = events[0].1.data_as().unwrap();
    assert_eq!((set.project_id, set.revision), (project, 1));
    let sealer = SealingKeys::new(&KEY, []).sealer(Purpose::Chats).unwrap();
    let sealed = set.sealed.unwrap();
    let plain = sealer
        .open_text(&IntegrationConfigured::seal_context(project, 1), &sealed)
        .unwrap();
    let to: ChatDestination = serde_json::from_str(plain.expose_secret()).unwrap();
    let webhook_url = CHAT_URL.to_owned();
    assert_eq!(to.provider, ChatProvider::Slack);
    assert_eq!(to.address, ChatAddress::Hook { webhook_url });
    assert!(
        sealer
            .open(&IntegrationConfigured::seal_context(project, 2), &sealed)
            .is_err()
    );
    let removed: IntegrationConfigured = events[1].1.data_as().unwrap();
    assert_eq!(
        (removed.project_id, removed.revision, removed.sealed),
        (project, 2, None)
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_matrix_room_is_published_sealed_and_each_event_has_the_announce_list() {
    let (service, _broker) = start_service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let put = |body: Value| service.api.put(&path).bearer("user-").json(body).send();
    let mut body = json!({
        "provider": "matrix", "homeserver_url": "https://matrix.example", "room_id": "!room:matrix.example",
        "access_token": "very-secret", "announce": ["abandoned", "planned"]
    });
    let set = put(body.clone()).await.expect(200);
    assert!(!set.text().contains("very-secret"));
    assert_eq!(
        set.json()["chat"]["announce"],
        json!(["planned", "abandoned"])
    );
    assert_eq!(chat(&service, &path).await, set.json()["chat"]);

    let start =
        json!({"category": "coding", "duration": 25, "project_id": format!("team_{project}")});
    let call = service.api.post("/api/session/start").bearer("user-");
    call.json(start).send().await.expect(201);
    for wrong in [json!(["started"]), json!("planned"), json!([1])] {
        body["announce"] = wrong;
        put(body.clone()).await.expect(400);
    }
    body["announce"] = json!([]);
    assert_eq!(
        put(body).await.expect(200).json()["chat"]["announce"],
        json!([])
    );

    let events = outbox_events(&service).await;
    let of = |name: &str| events.iter().find(|(_, event)| event.event_type == name);
    let (_, started) = of("session.started.v1").unwrap();
    assert_eq!(
        data(started)["chat"],
        json!({"provider": "matrix", "channel": "", "revision": 1, "announce": ["planned", "abandoned"]})
    );
    let (_, configured) = of(IntegrationConfigured::TYPE).unwrap();
    assert!(!configured.data.as_str().contains("very-secret"));
    let set: IntegrationConfigured = configured.data_as().unwrap();
    let context = IntegrationConfigured::seal_context(project, set.revision);
    let plain = SealingKeys::new(&KEY, [])
        .sealer(Purpose::Chats)
        .unwrap()
        .open_text(&context, &set.sealed.unwrap());
    let to: ChatDestination = serde_json::from_str(plain.unwrap().expose_secret()).unwrap();
    let room = ChatAddress::Room {
        homeserver_url: "https://matrix.example/".to_owned(),
        room_id: "!room:matrix.example".to_owned(),
        access_token: "very-secret".to_owned(),
    };
    assert_eq!((to.provider, to.address), (ChatProvider::Matrix, room));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_chat_changes_get_a_revision_each() {
    let (service, _broker) = start_service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let tasks = (0..16).map(|n| {
        let body = json!({"provider": "slack", "webhook_url": format!("https://chat.example/{n}")});
        tokio::spawn(service.api.put(&path).bearer("user-").json(body).send())
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().expect(200);
    }
    let revisions = outbox_events(&service).await.into_iter();
    let mut revisions: Vec<i64> = revisions
        .map(|(_, event)| event.data_as::<IntegrationConfigured>().unwrap().revision)
        .collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=16).collect::<Vec<_>>());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_notifier_disables_only_the_revision_it_names() {
    let (service, broker) = start_service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let slack = json!({"provider": "slack", "webhook_url": CHAT_URL});
    let put = || {
        service
            .api
            .put(&path)
            .bearer("user-")
            .json(slack.clone())
            .send()
    };
    let disable = async |id: Uuid, revision: i64| {
        let data = IntegrationDisabled {
            project_id: project,
            revision,
            reason: "It answered 410".into(),
        };
        assert_eq!(publish(&broker, id, &data).await, PublishOutcome::Confirmed);
    };
    put().await.expect(200);
    let first = Uuid::now_v7();
    disable(first, 1).await;
    let off = json!({"provider": "slack", "channel": "", "status": "off", "reason": "It answered 410", "created_by": 7, "client_id": null, "announce": ["planned", "finished"], "last_test": null});
    assert_eq!(chat(&service, &path).await, off);

    put().await.expect(200);
    let on = json!({"provider": "slack", "channel": "", "status": "active", "reason": null, "created_by": 7, "client_id": null, "announce": ["planned", "finished"], "last_test": null});
    disable(Uuid::now_v7(), 1).await;
    assert_eq!(
        chat(&service, &path).await,
        on,
        "revision 1 was replaced before"
    );
    disable(Uuid::now_v7(), 2).await;
    assert_eq!(chat(&service, &path).await["status"], "off");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_outcome_is_recorded_once_and_the_latest_wins() {
    let (service, broker) = start_service().await;
    let started = service
        .api
        .post("/api/session/start")
        .bearer("user-")
        .json(json!({"category": "coding", "duration": 25}));
    let started = started.send().await.expect(201).json();
    let session_id: Uuid = started["session_id"].as_str().unwrap().parse().unwrap();
    let (event_id, at) = (Uuid::now_v7(), DateTime::UNIX_EPOCH);
    let project_id = Some(3);
    let failed = |reason: &str| NotificationFailed {
        notification: Notification {
            about: "session.started.v1".to_owned(),
            also: Vec::new(),
            event_id,
            session_id,
            project_id,
            at,
        },
        reason: reason.into(),
    };
    let first = Uuid::now_v7();
    for (id, reason) in [(first, "It answered 500"), (first, "Once more")] {
        assert_eq!(
            publish(&broker, id, &failed(reason)).await,
            PublishOutcome::Confirmed
        );
    }
    let row = |outcome: &str, reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        vec![(
            event_id.to_string(),
            session_id.to_string(),
            project_id,
            outcome.to_owned(),
            reason,
        )]
    };
    assert_eq!(
        recorded_outcomes(&service).await,
        row("failed", Some("It answered 500"))
    );
    let data = NotificationDelivered {
        notification: Notification {
            about: "session.started.v1".to_owned(),
            also: Vec::new(),
            event_id,
            session_id,
            project_id,
            at,
        },
    };
    assert_eq!(
        publish(&broker, Uuid::now_v7(), &data).await,
        PublishOutcome::Confirmed
    );
    assert_eq!(recorded_outcomes(&service).await, row("delivered", None));

    // The session of this outcome does not exist, so nothing is stored.
    let of_unknown_session = NotificationDelivered {
        notification: Notification {
            about: "session.started.v1".to_owned(),
            also: Vec::new(),
            event_id: Uuid::now_v7(),
            session_id: Uuid::now_v7(),
            project_id,
            at,
        },
    };
    assert_eq!(
        publish(&broker, Uuid::now_v7(), &of_unknown_session).await,
        PublishOutcome::Confirmed
    );
    assert_eq!(recorded_outcomes(&service).await, row("delivered", None));

    let unreadable = Message {
        exchange: event_types::Exchange::Public,
        routing_key: "notification.delivered.v9".to_owned(),
        id: Uuid::now_v7(),
        body: b"{}".as_slice().into(),
        has_subscriber: false,
    };
    let outcome = broker.publisher().publish(unreadable).await;
    assert!(
        matches!(outcome, PublishOutcome::Unreadable(_)),
        "{outcome:?}"
    );
    service.stop().await;
}

type OutcomeRow = (String, String, Option<i64>, String, Option<String>);

async fn recorded_outcomes(service: &Service) -> Vec<OutcomeRow> {
    let columns = notifications::all_columns;
    let load = move |db: &mut db_kit::Db| {
        notifications::table
            .select(columns)
            .load(db)
            .map_err(db_kit::DbError::from)
    };
    service.database.pool(1).read(load).await.unwrap()
}
