//! Each chat, as strict as the real one.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use event_types::ChatProvider;
use serde_json::json;
use service_kit::Clock;
use test_kit::{ChatReply, chat_wait, wait_until};

use crate::kit::{Stage, TIMEOUT};

const NOTE: &str = "Write the <parser> & tell @channel\n- [x](https://evil.example)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_chat_accepts_a_start_and_a_test_message() {
    for kind in ChatProvider::ALL {
        let stage = Stage::set_with_strict(kind).await;
        let id = stage.start_session(3, Some(1), NOTE).await;
        let (said, _) = stage.wait_for_feedback_about(id).await;
        let message = stage.chat.next_message().await;
        assert_eq!(said, "notification.delivered.v1", "{kind:?} {message:?}");
        for part in ["ada", "coding", "50 min", "Apollo", "parser"] {
            assert!(
                message.body.to_string().contains(part),
                "{kind:?} {message:?}"
            );
        }
        let tested = stage.test(1).await;
        assert_eq!(stage.tested(tested).await.outcome, "delivered", "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_chats_own_form_of_retry_after_is_respected() {
    for kind in ChatProvider::ALL {
        let stage = Stage::set_with_strict(kind).await;
        let (body, header) = chat_wait(kind, 2_900);
        stage.chat.script([match header {
            Some(wait) => ChatReply::RetryAfter(429, wait),
            None => ChatReply::Said(429, body),
        }]);
        let id = stage.start_session(3, Some(1), NOTE).await;
        assert_eq!(
            stage.wait_for_feedback_about(id).await.0,
            "notification.delivered.v1"
        );
        let [first, second] = [
            stage.chat.next_message().await,
            stage.chat.next_message().await,
        ];
        let waited = second.at - first.at;
        assert!(
            waited >= Duration::from_millis(2_900),
            "{kind:?} {waited:?}"
        );
        assert_eq!(
            (first.path, first.raw),
            (second.path, second.raw),
            "{kind:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_chat_that_no_longer_knows_the_address_is_disabled() {
    for kind in ChatProvider::ALL {
        let stage = Stage::set_with_strict(kind).await;
        stage.chat.forget();
        let id = stage.start_session(3, Some(1), NOTE).await;
        assert_eq!(
            stage.wait_for_feedback_about(id).await.0,
            "notification.failed.v1",
            "{kind:?}"
        );
        let disabled = |event: &event_types::Event| event.event_type == "integration.disabled.v1";
        let (_, data) = stage.wait_for_feedback(disabled).await;
        assert_eq!(data["project_id"], 3, "{kind:?}");
        let seen: String = stage
            .feedback()
            .iter()
            .map(|event| event.data.to_string())
            .collect();
        assert!(!seen.contains("x7hq9s2v"), "{kind:?} {seen}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn matrix_recognises_a_resent_message() {
    let stage = Stage::set_with_strict(ChatProvider::Matrix).await;
    // The chat accepts the message, and the response is lost.
    stage.chat.script([ChatReply::Hang]);
    let id = stage.start_session(3, Some(1), "once").await;
    assert_eq!(
        stage.wait_for_feedback_about(id).await.0,
        "notification.delivered.v1"
    );
    let messages = stage.chat.messages();
    assert_eq!(messages.len(), 2);
    let duplicates = stage.metric("notification_possible_duplicates_total");
    assert_eq!(duplicates.await, 0);
    let transactions: BTreeSet<&str> = messages
        .iter()
        .map(|message| message.path.as_str())
        .collect();
    assert_eq!(
        transactions.len(),
        1,
        "one transaction, and so one message: {transactions:?}"
    );
    let other = stage.start_session(3, Some(1), "twice").await;
    stage.wait_for_feedback_about(other).await;
    assert_ne!(stage.chat.messages()[2].path, messages[0].path);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_that_only_a_later_version_knows_is_not_called() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    let pager = json!({"provider": "pager", "webhook_url": stage.chat.hook("a")});
    stage.connect(&pager).await;
    let test = stage.test(1).await;
    wait_until("the retry to be noted", TIMEOUT, async || {
        (stage.metric("notification_retries_total").await == 1).then_some(())
    })
    .await;
    manual_clock.advance(TimeDelta::seconds(60));
    let result = stage.tested(test).await;
    let unknown = "this version of the notifier does not know the chat";
    assert_eq!(result.reason.as_deref(), Some(unknown));
    assert!(stage.chat.messages().is_empty());
    assert_eq!(stage.metric("integrations_disabled_total").await, 0);
}
