use std::sync::Arc;

use broker::{BatchOptions, Broker, ConsumerHandle, Delivery, Queue};
use event_types::{
    ChatTarget, ChatTestRequested, Event, EventData, IntegrationConfigured, SessionAbandoned,
    SessionProject, SessionStarted, SessionSubmitted,
};
use tokio::sync::Notify;
use uuid::Uuid;

use super::model::Kind;
use super::store::{ChatEvent, ChatEventContent, NewNotification, store_events};
use super::{ChatMedium, NO_CHAT};
use crate::consumer::{data, decode, store_batch};
use crate::delivery::{DeliveryStore, Settings};

/// Why a plan is not sent to an existing chat.
const NOT_ANNOUNCED: &str = "Session starts are not announced in the project's chat";

/// Starts to consume events. `wake` is signalled when there is something to send.
pub(crate) fn consume(
    broker: &Broker,
    store: DeliveryStore<ChatMedium>,
    wake: Arc<Notify>,
) -> ConsumerHandle {
    let options = BatchOptions::default();
    broker.consume_batches(Queue::NotifyChat, options, move |deliveries| {
        let (store, wake) = (store.clone(), Arc::clone(&wake));
        async move {
            let decoded = deliveries.iter().map(decode_event).collect();
            let commit = |events| store.write(|tx| store_events(tx, events));
            store_batch(decoded, |event| event.id, commit, &wake).await
        }
    })
}

/// Decodes an event. Returns `None` if it concerns no chat.
fn decode_event(delivery: &Delivery) -> Result<Option<ChatEvent>, String> {
    let event = decode(delivery)?;
    let content = match event.event_type.as_str() {
        SessionStarted::TYPE => plan(&event)?.map(ChatEventContent::Notification),
        SessionSubmitted::TYPE => finished(&event)?.map(ChatEventContent::Notification),
        SessionAbandoned::TYPE => abandoned(&event)?.map(ChatEventContent::Notification),
        IntegrationConfigured::TYPE => Some(ChatEventContent::Destination(destination(&event)?)),
        ChatTestRequested::TYPE => Some(ChatEventContent::Notification(test(&event)?)),
        other => return Err(format!("this notifier version does not know {other:?}")),
    };
    Ok(content.map(|content| ChatEvent {
        id: event.id,
        request_id: event.requestid,
        content,
    }))
}

/// A start on a team project becomes a notification even if nothing is sent, so that the team sees why. Other sessions are
/// private to their user.
fn plan(event: &Event) -> Result<Option<NewNotification>, String> {
    let started: SessionStarted = data(event)?;
    let Some(project_id) = team_project(&started.project)? else {
        return Ok(None);
    };
    let skipped = match &started.chat {
        None => Some(NO_CHAT),
        Some(chat) if !chat.announces(ChatTarget::PLANNED) => Some(NOT_ANNOUNCED),
        Some(_) => None,
    };
    Ok(Some(NewNotification {
        kind: Kind::Plan,
        session_id: started.session_id,
        project_id,
        revision: started.chat.map(|chat| chat.revision).unwrap_or_default(),
        skipped,
        payload: event.data.as_str().to_owned(),
    }))
}

fn finished(event: &Event) -> Result<Option<NewNotification>, String> {
    let ended: SessionSubmitted = data(event)?;
    let (id, project) = (ended.session_id, &ended.project);
    let chat = ended
        .chat
        .filter(|chat| chat.announces(ChatTarget::FINISHED));
    end(event, Kind::Finished, id, project, chat)
}

fn abandoned(event: &Event) -> Result<Option<NewNotification>, String> {
    let ended: SessionAbandoned = data(event)?;
    let (id, project) = (ended.session_id, &ended.project);
    let chat = ended
        .chat
        .filter(|chat| chat.announces(ChatTarget::ABANDONED));
    end(event, Kind::Abandoned, id, project, chat)
}

/// Creates the notification of an ended session, if its chat announces that.
fn end(
    event: &Event,
    kind: Kind,
    session_id: Uuid,
    project: &SessionProject,
    announced: Option<ChatTarget>,
) -> Result<Option<NewNotification>, String> {
    let (Some(project_id), Some(chat)) = (team_project(project)?, announced) else {
        return Ok(None);
    };
    Ok(Some(NewNotification {
        kind,
        session_id,
        project_id,
        revision: chat.revision,
        skipped: None,
        payload: event.data.as_str().to_owned(),
    }))
}

fn team_project(project: &SessionProject) -> Result<Option<i64>, String> {
    let number = project.id.strip_prefix("team_").map(str::parse);
    let number = number.transpose();
    number.map_err(|_| format!("{:?} is not a project", project.id))
}

/// The team sees the result of a test as it does for a session.
fn test(event: &Event) -> Result<NewNotification, String> {
    let requested: ChatTestRequested = data(event)?;
    Ok(NewNotification {
        kind: Kind::Test,
        session_id: requested.test_id,
        project_id: requested.project_id,
        revision: requested.revision,
        skipped: None,
        payload: event.data.as_str().to_owned(),
    })
}

fn destination(event: &Event) -> Result<Settings, String> {
    let configured: IntegrationConfigured = data(event)?;
    if configured
        .sealed
        .as_ref()
        .is_some_and(|sealed| sealed.contains('\0'))
    {
        return Err("the address is not sealed text".to_owned());
    }
    Ok(Settings {
        id: configured.project_id.to_string(),
        revision: configured.revision,
        sealed: configured.sealed,
        paused: configured.paused,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::consumer::test_delivery;

    fn event(event_type: &str, data: serde_json::Value) -> Vec<u8> {
        serde_json::json!({
            "specversion": "1.0", "id": "01945b7a-0000-7000-8000-000000000001", "source": "test", "type": event_type,
            "subject": "x", "time": "2026-11-21T12:00:00Z", "datacontenttype": "application/json", "data": data
        })
        .to_string()
        .into_bytes()
    }

    #[test]
    fn an_unreadable_event_or_one_of_another_version_is_rejected_with_a_reason() {
        let reason = |body: &[u8]| decode_event(&test_delivery(body)).err().unwrap();
        assert!(reason(b"\xff\x00").contains("does not decode"));
        assert!(
            reason(&event("session.started.v2", serde_json::json!({})))
                .contains("session.started.v2")
        );
        assert!(
            reason(&event(
                "session.started.v1",
                serde_json::json!({ "session_id": 5 })
            ))
            .contains("decode")
        );
        assert!(reason(&vec![b'x'; 70_000]).contains("70000"));
    }

    #[test]
    fn the_end_of_a_session_is_notified_only_where_announced() {
        let submitted = |project: &str, announce: serde_json::Value| {
            let mut data = serde_json::json!({
                "session_id": "01945b7a-0000-7000-8000-000000000002", "user": {"id": 7, "username": "ada"},
                "project": {"id": project, "name": "Apollo", "type": "team", "team_id": 5, "team_name": "Core"},
                "category": "coding", "planned_duration": 50, "started_at": "2026-11-21T12:00:00Z",
                "expected_end_at": "2026-11-21T12:50:00Z", "client": "client_a", "status": "completed",
                "credited_minutes": 50, "points_awarded": 1.5, "streak": 3, "submitted_at": "2026-11-21T12:50:00Z",
                "reason": "not_submitted",
            });
            data["chat"] = match announce {
                serde_json::Value::Null => serde_json::Value::Null,
                announce => {
                    serde_json::json!({"provider": "slack", "channel": "c", "revision": 4, "announce": announce})
                }
            };
            data
        };
        let kind = |event_type: &str, data| {
            let decoded = decode_event(&test_delivery(&event(event_type, data))).unwrap();
            decoded.map(|event| match event.content {
                ChatEventContent::Notification(new) => (new.kind, new.project_id, new.revision),
                ChatEventContent::Destination(_) => panic!("no destination"),
            })
        };
        let json = |what: &[&str]| serde_json::json!(what);
        let (submitted_type, abandoned_type) = ("session.submitted.v1", "session.abandoned.v1");
        let finished = submitted("team_3", json(&["planned", "finished"]));
        assert_eq!(
            kind(submitted_type, finished.clone()),
            Some((Kind::Finished, 3, 4))
        );
        assert_eq!(kind(abandoned_type, finished), None);
        let abandoned = submitted("team_3", json(&["abandoned"]));
        assert_eq!(
            kind(abandoned_type, abandoned.clone()),
            Some((Kind::Abandoned, 3, 4))
        );
        assert_eq!(kind(submitted_type, abandoned), None);
        assert_eq!(
            kind(submitted_type, submitted("team_3", serde_json::Value::Null)),
            None
        );
        assert_eq!(
            kind(submitted_type, submitted("personal_3", json(&["finished"]))),
            None
        );
        let nowhere = submitted("team_x", json(&["finished"]));
        assert!(decode_event(&test_delivery(&event(submitted_type, nowhere))).is_err());
    }
}
