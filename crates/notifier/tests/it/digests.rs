//! Several notifications in one message, and the order of the notifications about one session.

use std::time::Duration;

use broker::PublishOutcome;
use chrono::NaiveDateTime;
use db_kit::DbError;
use diesel::prelude::*;
use event_types::{ChatTestRequested, SessionAbandoned, SessionStarted, SessionSubmitted};
use test_kit::{ChatMessage, ChatReply, TestBackend, wait_until};
use uuid::Uuid;

use crate::kit::{Stage, TIMEOUT};

diesel::table! {
    deliveries (id) { id -> Text, }
}
diesel::table! {
    destinations (id) { id -> Text, due_at -> Nullable<Timestamp>, }
}

pub(crate) fn submitted(started: &SessionStarted, announce: &[&str]) -> SessionSubmitted {
    let mut chat = started.chat.clone().unwrap();
    chat.announce = announce.iter().map(|&what| what.to_owned()).collect();
    SessionSubmitted {
        session_id: started.session_id,
        user: started.user.clone(),
        project: started.project.clone(),
        category: started.category.clone(),
        planned_duration: 50,
        started_at: started.started_at,
        expected_end_at: started.expected_end_at,
        client: started.client.clone(),
        chat: Some(chat),
        status: "completed".to_owned(),
        credited_minutes: 47,
        points_awarded: 4.7,
        streak: 3,
        submitted_at: started.expected_end_at,
    }
}

/// Returns the notes in a message, in their order.
fn notes(message: &ChatMessage) -> Vec<String> {
    let parts = message.text().split("note-").skip(1);
    parts.map(|rest| rest.chars().take(2).collect()).collect()
}

fn is_end(message: &ChatMessage) -> bool {
    notes(message).is_empty() && message.text().contains("finished")
}

impl Stage {
    /// Starts sessions whose notifications wait for a chat that is not configured yet.
    async fn start_unconfigured_sessions(&self, names: &[&str]) -> Vec<Uuid> {
        let mut ids = Vec::new();
        for name in names {
            ids.push(
                self.start_session(3, Some(1), &format!("note-{name}"))
                    .await,
            );
        }
        self.rows(ids.len()).await;
        ids
    }

    /// Waits until so many notifications are stored.
    async fn rows(&self, wanted: usize) {
        let pool = self.pool();
        wait_until("the notifications to be stored", TIMEOUT, async || {
            let count =
                pool.read(|db| Ok::<_, DbError>(deliveries::table.count().get_result::<i64>(db)?));
            (usize::try_from(count.await.unwrap()).unwrap() == wanted).then_some(())
        })
        .await;
    }

    /// Returns when the scheduler looks at a project's chat next; long ago if that is not scheduled.
    fn next_due(&self, project: i64) -> NaiveDateTime {
        let due = self.pool().read_blocking(|db| {
            let due = destinations::table
                .find(project.to_string())
                .select(destinations::due_at);
            Ok::<_, DbError>(due.first::<Option<NaiveDateTime>>(db)?)
        });
        due.unwrap().unwrap_or_default()
    }

    async fn wait_until_delivered(&self, ids: &[Uuid]) {
        for id in ids {
            assert_eq!(
                self.wait_for_feedback_about(*id).await.0,
                "notification.delivered.v1"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_due_together_share_one_message_and_one_feedback_event() {
    let stage = Stage::set().await;
    let ids = stage
        .start_unconfigured_sessions(&["a1", "a2", "a3", "a4", "a5"])
        .await;
    stage.configure(3, 1, Some("a")).await;
    let message = stage.chat.next_message().await;
    assert_eq!(notes(&message), ["a1", "a2", "a3", "a4", "a5"]);
    stage.wait_until_delivered(&ids).await;
    assert_eq!(stage.feedback().len(), 1, "reported in one event");
    assert_eq!(stage.chat.messages().len(), 1);
    assert_eq!(
        stage
            .metric("notifications_total{outcome=\"delivered\"}")
            .await,
        5
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_digest_has_at_most_twenty_notifications_and_never_a_test() {
    let stage = Stage::set().await;
    let names: Vec<String> = (10..35).map(|n| n.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ids = stage.start_unconfigured_sessions(&names).await;
    let requested = ChatTestRequested {
        test_id: Uuid::now_v7(),
        project_id: 3,
        project_name: "Apollo".to_owned(),
        revision: 1,
        requested_by: "ada".to_owned(),
        channel: String::new(),
    };
    stage.publish_event(&requested).await;
    stage.rows(26).await;
    stage.configure(3, 1, Some("a")).await;
    let mut counts = Vec::new();
    for _ in 0..3 {
        let message = stage.chat.next_message().await;
        counts.push(notes(&message).len());
        assert_eq!(
            notes(&message).is_empty(),
            message.text().contains("Test message")
        );
    }
    assert_eq!(counts, [20, 5, 0]);
    stage.wait_until_delivered(&ids).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_digest_without_a_response_is_sent_again_unchanged() {
    let stage = Stage::set().await;
    let mut ids = stage.start_unconfigured_sessions(&["a1", "a2", "a3"]).await;
    // As if it had arrived first, out of order.
    stage.execute(&format!(
        "UPDATE deliveries SET next_attempt_at = '2020-01-01 00:00:00' WHERE id = '{}'",
        ids[2]
    ));
    stage.chat.script([ChatReply::Hang]);
    stage.configure(3, 1, Some("a")).await;
    let first = stage.chat.next_message().await;
    ids.push(stage.start_session(3, Some(1), "note-b1").await);
    stage.wait_until_delivered(&ids).await;
    assert_eq!(notes(&first), ["a1", "a2", "a3"]);
    // In any order of their due times.
    let mut later = stage.chat.messages().split_off(1);
    later.sort_by_key(notes);
    assert_eq!(later.len(), 2);
    assert_eq!(later[0].body, first.body);
    assert_eq!(notes(&later[1]), ["b1"]);
    assert_eq!(
        stage.metric("notification_possible_duplicates_total").await,
        3
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_digest_that_a_dead_process_was_sending_is_sent_again_unchanged() {
    let mut stage = Stage::set().await;
    stage.chat.usually(ChatReply::Status(500));
    let mut ids = stage.start_unconfigured_sessions(&["a1", "a2"]).await;
    stage.configure(3, 1, Some("a")).await;
    let first = stage.chat.next_message().await;
    ids.push(stage.start_session(3, Some(1), "note-b1").await);
    stage.rows(3).await;
    stage.stop().await;
    // The state after `kill -9` between the chat's response and its record, once the lease has expired.
    let (a1, a2) = (ids[0], ids[1]);
    stage.execute(&format!(
        "UPDATE deliveries SET next_attempt_at = created_at; \
         UPDATE deliveries SET state = 'sending' WHERE id IN ('{a1}', '{a2}'); \
         UPDATE destinations SET lease_owner = 'dead', due_at = updated_at, free_at = updated_at"
    ));
    let before = stage.chat.messages().len();
    stage.chat.usually(ChatReply::Status(200));
    stage.start().await;
    stage.wait_until_delivered(&ids).await;
    let after = stage.chat.messages();
    assert_eq!(after[before].body, first.body);
    assert_eq!(notes(&after[before + 1]), ["b1"]);
    assert_eq!(
        stage.metric("notification_possible_duplicates_total").await,
        2
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_digest_is_sent_one_by_one() {
    let stage = Stage::set().await;
    let ids = stage.start_unconfigured_sessions(&["a1", "a2", "a3"]).await;
    let refusal = || ChatReply::Status(400);
    // The chat refuses the digest, and later the one message at fault.
    stage
        .chat
        .script([refusal(), ChatReply::Status(200), refusal()]);
    stage.configure(3, 1, Some("a")).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(notes(&stage.chat.next_message().await));
    }
    assert_eq!(seen[0], ["a1", "a2", "a3"]);
    assert_eq!(seen[1..].concat(), ["a1", "a2", "a3"]);
    stage.wait_until_delivered(&[ids[0], ids[2]]).await;
    let (kind, data) = stage.wait_for_feedback_about(ids[1]).await;
    assert_eq!(
        (kind.as_str(), &data["reason"]),
        ("notification.failed.v1", &"The chat answered 400".into())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_session_is_notified_after_its_start_even_if_that_arrives_later() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let started = stage.started(3, Some(1), "note-a1");
    let end = stage
        .publish_event(&submitted(&started, &["finished"]))
        .await;
    let early = stage
        .chat
        .next_message_within(Duration::from_millis(1_500))
        .await;
    assert!(early.is_none(), "{early:?}");
    let plan = stage.publish_event(&started).await;
    assert_eq!(notes(&stage.chat.next_message().await), ["a1"]);
    assert!(is_end(&stage.chat.next_message().await));
    stage.wait_until_delivered(&[plan, end]).await;
    assert_eq!(
        stage.wait_for_feedback_about(plan).await.1["about"],
        "session.started.v1"
    );
    assert_eq!(
        stage.wait_for_feedback_about(end).await.1["about"],
        "session.submitted.v1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_session_waits_while_its_start_is_retried() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    stage.chat.script([ChatReply::Status(500)]);
    let started = stage.started(3, Some(1), "note-a1");
    stage.publish_event(&started).await;
    stage.chat.next_message().await;
    let end = stage
        .publish_event(&submitted(&started, &["finished"]))
        .await;
    assert_eq!(notes(&stage.chat.next_message().await), ["a1"]);
    assert!(is_end(&stage.chat.next_message().await));
    stage.wait_until_delivered(&[end]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_is_not_announced_creates_no_delivery() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let started = stage.started(3, Some(1), "note-a1");
    let plan = stage.publish_event(&started).await;
    stage.wait_until_delivered(&[plan]).await;
    stage
        .publish_event(&submitted(&started, &["planned", "abandoned"]))
        .await;
    let mut without = submitted(&started, &[]);
    without.chat = None;
    stage.publish_event(&without).await;
    let last = stage.start_session(3, Some(1), "note-a2").await;
    stage.wait_until_delivered(&[last]).await;
    stage.rows(2).await;
    assert_eq!(stage.feedback().len(), 2);

    let abandoned = SessionAbandoned {
        session_id: started.session_id,
        user: started.user.clone(),
        project: started.project.clone(),
        category: started.category.clone(),
        planned_duration: 50,
        started_at: started.started_at,
        expected_end_at: started.expected_end_at,
        client: started.client.clone(),
        chat: submitted(&started, &["abandoned"]).chat,
        reason: "not_submitted".to_owned(),
    };
    let end = stage.publish_event(&abandoned).await;
    stage.wait_until_delivered(&[end]).await;
    assert_eq!(
        stage.wait_for_feedback_about(end).await.1["about"],
        "session.abandoned.v1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_can_announce_ends_without_starts() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let mut started = stage.started(3, Some(1), "note-a1");
    started.chat.as_mut().unwrap().announce = vec!["finished".to_owned()];
    let plan = stage.publish_event(&started).await;
    let (kind, data) = stage.wait_for_feedback_about(plan).await;
    assert_eq!(
        (kind.as_str(), &data["reason"]),
        (
            "notification.skipped.v1",
            &"Session starts are not announced in the project's chat".into()
        )
    );
    let end = stage
        .publish_event(&submitted(&started, &["finished"]))
        .await;
    assert!(is_end(&stage.chat.next_message().await));
    stage.wait_until_delivered(&[end]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skipped_start_notification_releases_its_end_at_once() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let mut started = stage.started(3, Some(1), "note-a1");
    started.chat.as_mut().unwrap().announce = vec!["finished".to_owned()];
    let end = stage
        .publish_event(&submitted(&started, &["finished"]))
        .await;
    stage.rows(1).await;
    // The scheduler has looked at the end, which waits for its start.
    let waits = async || (stage.next_due(3) > stage.clock.now().naive_utc()).then_some(());
    wait_until("the hook to be let go", TIMEOUT, waits).await;
    stage.publish_event(&started).await;
    // Sooner than the scheduler looks for what a crash left behind.
    let seen = stage.chat.next_message_within(Duration::from_secs(8)).await;
    assert!(is_end(&seen.expect("the end")));
    stage.wait_until_delivered(&[end]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_cannot_be_stored_is_dead_lettered_alone() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let event = |note: &str| (Uuid::now_v7(), stage.started(3, Some(1), note));
    let first = event("note-a1");
    stage.publish_event_as(first.0, &first.1).await;
    stage.wait_until_delivered(&[first.0]).await;
    // Now another event of the same session cannot be stored, although it is no redelivery.
    stage.execute("CREATE UNIQUE INDEX of_a_session ON deliveries (session_id)");
    let conflicting = (Uuid::now_v7(), first.1);
    let events = [event("note-b1"), conflicting, event("note-b2")];
    let outcomes = stage.publish_all(&events).await;
    match TestBackend::current() {
        TestBackend::Sqlite => assert!(
            matches!(
                outcomes.as_slice(),
                [
                    PublishOutcome::Confirmed,
                    PublishOutcome::Unreadable(_),
                    PublishOutcome::Confirmed
                ]
            ),
            "{outcomes:?}"
        ),
        TestBackend::Postgres => {
            assert!(
                outcomes
                    .iter()
                    .all(|outcome| *outcome == PublishOutcome::Confirmed)
            );
        }
    }
    stage
        .wait_until_delivered(&[events[0].0, events[2].0])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_store_the_same_events_once() {
    let stage = Stage::set().await;
    let others = [stage.start_process().await, stage.start_process().await];
    for project in 1..=10 {
        stage
            .configure(project, 1, Some(&format!("p{project}")))
            .await;
    }
    let events: Vec<_> = (0..300)
        .map(|n| {
            (
                Uuid::now_v7(),
                stage.started(n % 10 + 1, Some(1), &format!("note-{n:03}")),
            )
        })
        .collect();
    let mut mixed = events.clone();
    mixed.reverse();
    let (first, second) = tokio::join!(stage.publish_all(&events), stage.publish_all(&mixed));
    assert!(
        first
            .iter()
            .chain(&second)
            .all(|outcome| *outcome == PublishOutcome::Confirmed),
        "{first:?}"
    );
    let ids: Vec<Uuid> = events.iter().map(|(id, _)| *id).collect();
    stage.wait_until_delivered(&ids).await;
    let messages = stage.chat.messages();
    let seen: String = messages.iter().map(|message| message.text()).collect();
    for n in 0..300 {
        assert_eq!(seen.matches(&format!("note-{n:03}")).count(), 1);
    }
    for other in others {
        other.stop().await;
    }
}
