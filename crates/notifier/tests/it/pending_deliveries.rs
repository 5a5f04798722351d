//! Notifications for a chat that waits for its interval, hangs, is paused or is removed.

use db_kit::DbError;
use diesel::prelude::*;
use test_kit::{ChatReply, wait_until};
use uuid::Uuid;

use crate::digests::submitted;
use crate::kit::{Stage, TIMEOUT};

diesel::table! {
    deliveries (id) {
        id -> Text, state -> Text, attempts -> BigInt, payload -> Nullable<Text>,
    }
}

type RowValues = (String, i64, bool);

impl Stage {
    /// Returns the state, the attempts, and whether the payload is kept, of each delivery.
    fn row_values(&self) -> Vec<RowValues> {
        let rows = self.pool().read_blocking(|db| {
            let columns = (deliveries::state, deliveries::attempts, deliveries::payload);
            let rows = deliveries::table.select(columns).order(deliveries::id);
            Ok::<_, DbError>(rows.load::<(String, i64, Option<String>)>(db)?)
        });
        let rows = rows.unwrap().into_iter();
        rows.map(|(state, tries, payload)| (state, tries, payload.is_some()))
            .collect()
    }

    async fn wait_for_rows(&self, wanted: &[(&str, i64, bool)]) {
        wait_until("the rows", TIMEOUT, async || {
            let row_values = self.row_values();
            let row_values = row_values
                .iter()
                .map(|(state, tries, has_payload)| (state.as_str(), *tries, *has_payload));
            row_values.eq(wanted.iter().copied()).then_some(())
        })
        .await;
    }

    /// Lets the chat of project 3 accept a first message.
    async fn connect_chat(&self) -> Uuid {
        self.configure(3, 1, Some("a")).await;
        let id = self.start_session(3, Some(1), "note-00").await;
        self.chat.next_message().await;
        self.wait_for_feedback_about(id).await;
        id
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_during_a_hanging_chat_are_posted_once() {
    let stage = Stage::set().await;
    stage.connect_chat().await;
    stage.chat.script([ChatReply::Hang]);
    let first = stage.start_session(3, Some(1), "note-a1").await;
    stage.chat.next_message().await;
    let second = stage.start_session(3, Some(1), "note-a2").await;
    let (delivered, sent) = (("delivered", 1, false), ("sending", 1, true));
    stage
        .wait_for_rows(&[delivered, sent, ("pending", 0, true)])
        .await;
    for id in [first, second] {
        assert_eq!(
            stage.wait_for_feedback_about(id).await.0,
            "notification.delivered.v1"
        );
    }
    // The first one timed out, so it was posted twice; the second one was not.
    let texts: Vec<String> = stage
        .chat
        .messages()
        .iter()
        .map(|one| one.text().to_owned())
        .collect();
    let times = |note: &str| texts.iter().filter(|text| text.contains(note)).count();
    assert_eq!([times("note-a1"), times("note-a2")], [2, 1], "{texts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pending_deliveries_are_posted_after_a_restart() {
    let mut stage = Stage::set_with(service_kit::Clock::system(), |config| {
        config.chat.interval_ms = 1_500;
    })
    .await;
    stage.connect_chat().await;
    // The chat waits for its interval.
    let id = stage.start_session(3, Some(1), "note-a1").await;
    stage.stop().await;
    assert_eq!(stage.chat.messages().len(), 1);
    stage.start().await;
    assert_eq!(
        stage.wait_for_feedback_about(id).await.0,
        "notification.delivered.v1"
    );
    assert_eq!(stage.chat.messages().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pending_deliveries_of_a_removed_chat_are_skipped() {
    let stage = Stage::set_with(service_kit::Clock::system(), |config| {
        config.chat.interval_ms = 1_500;
    })
    .await;
    stage.connect_chat().await;
    let id = stage.start_session(3, Some(1), "note-a1").await;
    stage.configure(3, 2, None).await;
    let (event, data) = stage.wait_for_feedback_about(id).await;
    assert_eq!(event, "notification.skipped.v1");
    assert_eq!(data["reason"], "The project has no chat");
    assert_eq!(stage.chat.messages().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pending_and_later_deliveries_of_a_paused_chat_are_skipped() {
    let stage = Stage::set_with(service_kit::Clock::system(), |config| {
        config.chat.interval_ms = 1_500;
    })
    .await;
    stage.connect_chat().await;
    let early = stage.start_session(3, Some(1), "note-a1").await;
    stage.pause(3, 1).await;
    let late = stage.start_session(3, Some(1), "note-a2").await;
    for id in [early, late] {
        let (event, data) = stage.wait_for_feedback_about(id).await;
        assert_eq!(event, "notification.skipped.v1");
        assert_eq!(data["reason"], "The project's chat is disabled");
    }
    assert_eq!(stage.chat.messages().len(), 1);
    stage.configure(3, 2, Some("a")).await;
    let kept = stage.start_session(3, Some(2), "note-a3").await;
    assert_eq!(
        stage.wait_for_feedback_about(kept).await.0,
        "notification.delivered.v1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_redeliveries_of_an_event_are_posted_once() {
    let stage = Stage::set().await;
    stage.connect_chat().await;
    let other = stage.start_process().await;
    let (id, plan) = (Uuid::now_v7(), stage.started(3, Some(1), "note-a1"));
    let copies: Vec<_> = (0..50).map(|_| (id, plan.clone())).collect();
    stage.publish_all(&copies).await;
    stage.wait_for_feedback_about(id).await;
    stage.publish_all(&copies).await;
    let last = stage.start_session(3, Some(1), "note-a2").await;
    stage.wait_for_feedback_about(last).await;
    other.stop().await;
    let messages = stage.chat.messages();
    let seen = messages
        .iter()
        .filter(|message| message.text().contains("note-a1"));
    assert_eq!(seen.count(), 1);
    assert_eq!(stage.row_values().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_post_each_start_once_without_waiting_for_each_other() {
    let stage = Stage::set_with(service_kit::Clock::system(), |config| {
        config.chat.interval_ms = 50;
    })
    .await;
    stage.connect_chat().await;
    let other = stage.start_process().await;
    let plans: Vec<_> = (0..300)
        .map(|n| {
            (
                Uuid::now_v7(),
                stage.started(3, Some(1), &format!("note-{n:03}.")),
            )
        })
        .collect();
    for some in plans.chunks(3) {
        stage.publish_all(some).await;
    }
    for (id, _) in &plans {
        assert_eq!(
            stage.wait_for_feedback_about(*id).await.0,
            "notification.delivered.v1"
        );
    }
    let messages = stage.chat.messages();
    for n in 0..300 {
        let note = format!("note-{n:03}.");
        let seen = messages.iter().map(|one| one.text().matches(&note).count());
        assert_eq!(seen.sum::<usize>(), 1, "{note}");
    }
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_and_its_end_consumed_by_two_processes_at_once_see_each_other() {
    let stage = Stage::set().await;
    stage.connect_chat().await;
    let other = stage.start_process().await;
    for _ in 0..10 {
        let plan = stage.started(3, Some(1), "note-a1");
        let end = submitted(&plan, &["finished"]);
        let (plans, ends) = ([(Uuid::now_v7(), plan)], [(Uuid::now_v7(), end)]);
        tokio::join!(stage.publish_all(&ends), stage.publish_all(&plans));
        // Sooner than an end waits for a start that does not arrive.
        for id in [plans[0].0, ends[0].0] {
            assert_eq!(
                stage.wait_for_feedback_about(id).await.0,
                "notification.delivered.v1"
            );
        }
    }
    other.stop().await;
}
