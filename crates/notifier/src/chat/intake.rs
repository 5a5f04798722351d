use std::sync::Arc;

use broker::{Broker, ConsumeOptions, ConsumerHandle, Delivery, Queue, Verdict};
use event_types::{
    Event, EventData, IntegrationConfigured, SessionAbandoned, SessionStarted, SessionSubmitted,
};
use tokio::sync::Notify;

use super::ledger::{Ledger, Planning};
use crate::intake::{conclude, data, decode};

/// What an event asks of the notifier.
enum Word {
    /// A plan to be told.
    Plan(Planning),
    /// Where a project's chat is.
    Destination(IntegrationConfigured),
    /// Nothing in this version.
    Nothing,
}

/// Starts to take events in; `wake` is told after each commit.
pub(crate) fn consume(broker: &Broker, ledger: Ledger, wake: Arc<Notify>) -> ConsumerHandle {
    broker.consume(
        Queue::NotifyChat,
        ConsumeOptions::default(),
        move |delivery| {
            let (ledger, wake) = (ledger.clone(), Arc::clone(&wake));
            async move { take_in(&ledger, &wake, delivery).await }
        },
    )
}

async fn take_in(ledger: &Ledger, wake: &Notify, delivery: Delivery) -> Verdict {
    let (event, word) = match read(&delivery.body) {
        Ok(read) => read,
        Err(reason) => return Verdict::Park(reason),
    };
    let id = event.id;
    let committed = match word {
        Word::Nothing => return Verdict::Ack,
        Word::Plan(plan) => ledger.take_plan(id, event.requestid, plan).await,
        Word::Destination(destination) => ledger.take_destination(id, destination).await,
    };
    conclude(id, committed, wake)
}

fn read(body: &[u8]) -> Result<(Event, Word), String> {
    let event = decode(body)?;
    let word = match event.event_type.as_str() {
        SessionStarted::TYPE => plan(&event)?,
        IntegrationConfigured::TYPE => destination(&event)?,
        SessionSubmitted::TYPE | SessionAbandoned::TYPE => Word::Nothing,
        other => return Err(format!("the notifier of this version knows no {other:?}")),
    };
    Ok((event, word))
}

/// A session on a team project has somebody to tell, or a team that sees that there is no chat; any other
/// session is its user's own affair.
fn plan(event: &Event) -> Result<Word, String> {
    let started: SessionStarted = data(event)?;
    let Some(number) = started.project.id.strip_prefix("team_") else {
        return Ok(Word::Nothing);
    };
    let project_id = number
        .parse()
        .map_err(|_| format!("{:?} is no project", started.project.id))?;
    Ok(Word::Plan(Planning {
        session_id: started.session_id,
        project_id,
        revision: started.chat.as_ref().map(|chat| chat.revision),
        payload: event.data.to_string(),
    }))
}

fn destination(event: &Event) -> Result<Word, String> {
    let configured: IntegrationConfigured = data(event)?;
    if configured
        .sealed
        .as_ref()
        .is_some_and(|sealed| sealed.contains('\0'))
    {
        return Err("the address is not sealed text".to_owned());
    }
    Ok(Word::Destination(configured))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn event(event_type: &str, data: serde_json::Value) -> Vec<u8> {
        serde_json::json!({
            "specversion": "1.0", "id": "01945b7a-0000-7000-8000-000000000001", "source": "test", "type": event_type,
            "subject": "x", "time": "2026-11-21T12:00:00Z", "datacontenttype": "application/json", "data": data
        })
        .to_string()
        .into_bytes()
    }

    #[test]
    fn what_is_unreadable_or_of_another_version_is_parked_with_a_reason() {
        let reason = |body: &[u8]| read(body).err().unwrap();
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
    fn sessions_that_end_are_taken_note_of_without_a_message() {
        for ended in ["session.submitted.v1", "session.abandoned.v1"] {
            assert!(matches!(
                read(&event(ended, serde_json::json!({}))).unwrap().1,
                Word::Nothing
            ));
        }
    }
}
