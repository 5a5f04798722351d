//! Test messages that show whether a project's chat is connected.

use chrono::{DateTime, TimeDelta};
use event_types::{ChatTestRequested, ChatTested, EventData};
use service_kit::Clock;
use test_kit::{ChatReply, wait_until};
use uuid::Uuid;

use crate::kit::{Stage, TIMEOUT, data};

impl Stage {
    pub(crate) async fn test(&self, revision: i64) -> Uuid {
        let requested = ChatTestRequested {
            test_id: Uuid::now_v7(),
            project_id: 3,
            project_name: "Apollo".to_owned(),
            revision,
            requested_by: "ada".to_owned(),
            channel: "focus".to_owned(),
        };
        self.publish_event(&requested).await;
        requested.test_id
    }

    pub(crate) async fn tested(&self, test: Uuid) -> ChatTested {
        let id = test.to_string();
        let (kind, data) = self
            .wait_for_feedback(move |event| data(event)["test_id"] == id.as_str())
            .await;
        assert_eq!(kind, ChatTested::TYPE);
        serde_json::from_value(data).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_test_is_posted_and_reported_as_a_test() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let test = stage.test(1).await;
    let message = stage.chat.next_message().await;
    assert_eq!(message.path, "/services/a");
    let expected = "Test message from *ada*: focus sessions on Apollo will be posted here.";
    assert_eq!(message.text(), expected);
    let result = stage.tested(test).await;
    assert_eq!(
        (result.outcome.as_str(), result.reason, result.project_id),
        ("delivered", None, 3)
    );
    let notified = stage.feedback();
    assert!(
        notified
            .iter()
            .all(|event| !event.event_type.starts_with("notification"))
    );

    stage.chat.script([ChatReply::Status(404)]);
    let test = stage.test(1).await;
    let result = stage.tested(test).await;
    assert_eq!(result.outcome, "failed");
    assert_eq!(result.reason.as_deref(), Some("The chat answered 404"));
    let off = stage.test(1).await;
    assert_eq!(stage.tested(off).await.outcome, "skipped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_chat_test_is_given_up_within_a_minute() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    stage.chat.usually(ChatReply::Status(500));
    stage.configure(3, 1, Some("a")).await;
    let test = stage.test(1).await;
    stage.chat.next_message().await;
    let noted = async || (stage.metric("notification_retries_total").await == 1).then_some(());
    wait_until("the retry to be noted", TIMEOUT, noted).await;
    manual_clock.advance(TimeDelta::seconds(60));
    let result = stage.tested(test).await;
    assert_eq!(result.outcome, "failed");
    assert_eq!(result.reason.as_deref(), Some("The chat answered 500"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_test_is_given_up_within_a_minute_even_if_the_chat_asks_for_an_hour() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    stage
        .chat
        .usually(ChatReply::RetryAfter(429, "3600".to_owned()));
    stage.configure(3, 1, Some("a")).await;
    stage.start_session(3, Some(1), "waits").await;
    stage.chat.next_message().await;
    let noted = async || (stage.metric("notification_retries_total").await == 1).then_some(());
    wait_until("the retry to be noted", TIMEOUT, noted).await;
    let test = stage.test(1).await;
    let waits = async || (stage.metric("notifications_waiting").await == 2).then_some(());
    wait_until("the test to be written down", TIMEOUT, waits).await;
    manual_clock.advance(TimeDelta::seconds(60));
    let result = stage.tested(test).await;
    assert_eq!(result.outcome, "failed");
    assert_eq!(
        result.reason.as_deref(),
        Some("The chat asked us to wait longer than we keep trying")
    );
    assert_eq!(stage.chat.messages().len(), 1, "it is left alone");
}
