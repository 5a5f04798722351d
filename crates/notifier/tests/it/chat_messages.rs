use std::time::Duration;

use broker::PublishOutcome;
use event_types::Exchange;
use test_kit::{ChatMessage, TestBackend};
use uuid::Uuid;

use crate::kit::{Stage, notifications};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_started_session_is_posted_to_the_team_chat_and_its_outcome_is_published() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("T1/B1/secret")).await;
    let id = stage
        .start_session(3, Some(1), "Write the <parser> & tell @channel")
        .await;
    let message = stage.chat.next_message().await;
    assert_eq!(message.path, "/services/T1/B1/secret");
    for part in [
        "ada",
        "coding",
        "50 min",
        "Apollo (Core)",
        "&lt;parser&gt; &amp;",
        "<!date^",
    ] {
        assert!(message.text().contains(part), "{part}: {}", message.text());
    }
    assert!(!message.text().contains("@channel"));
    let (kind, data) = stage.wait_for_feedback_about(id).await;
    assert_eq!(
        (kind.as_str(), &data["project_id"]),
        ("notification.delivered.v1", &3.into())
    );
    let feedback = stage.feedback();
    assert_eq!(feedback[0].requestid.as_deref(), Some("request-1"));
    assert_eq!(feedback[0].source, "notifier");
    assert_eq!(
        stage
            .metric("notifications_total{outcome=\"delivered\"}")
            .await,
        1
    );
    stage.api().get("/health/ready").send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redelivered_event_is_posted_once() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let (id, started) = (Uuid::now_v7(), stage.started(3, Some(1), "once"));
    for _ in 0..5 {
        stage.publish_event_as(id, &started).await;
    }
    stage.wait_for_feedback_about(id).await;
    // A second post would come before this message or with it.
    let last = stage.start_session(3, Some(1), "last").await;
    stage.wait_for_feedback_about(last).await;
    let messages = stage.chat.messages();
    let text: Vec<&str> = messages.iter().map(ChatMessage::text).collect();
    let text = text.concat();
    assert_eq!(text.matches("once").count(), 1, "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_waits_for_the_revision_that_it_was_meant_for() {
    let stage = Stage::set().await;
    let early = stage.start_session(3, Some(2), "early").await;
    stage.configure(3, 1, Some("old")).await;
    assert!(
        stage
            .chat
            .next_message_within(Duration::from_millis(1_500))
            .await
            .is_none()
    );
    stage.configure(3, 2, Some("new")).await;
    assert_eq!(stage.chat.next_message().await.path, "/services/new");
    stage.wait_for_feedback_about(early).await;
    // An older revision that arrives late changes nothing, and its messages go to the newest one.
    stage.configure(3, 1, Some("old")).await;
    stage.start_session(3, Some(1), "late").await;
    assert_eq!(stage.chat.next_message().await.path, "/services/new");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_chat_a_notification_is_skipped_and_a_personal_session_has_none() {
    let stage = Stage::set().await;
    let mut personal = stage.started(3, None, "mine");
    personal.project.id = "personal_9".to_owned();
    let personal = stage.publish_event(&personal).await;
    let without = stage.start_session(3, None, "no chat").await;
    let (kind, data) = stage.wait_for_feedback_about(without).await;
    assert_eq!(
        (kind.as_str(), &data["reason"]),
        ("notification.skipped.v1", &"The project has no chat".into())
    );

    stage.configure(4, 1, Some("a")).await;
    stage.configure(4, 2, None).await;
    let removed = stage.start_session(4, Some(1), "taken away").await;
    assert_eq!(
        stage.wait_for_feedback_about(removed).await.0,
        "notification.skipped.v1"
    );
    assert!(
        stage
            .feedback()
            .iter()
            .flat_map(notifications)
            .all(|notification| notification["event_id"] != personal.to_string().as_str())
    );
    assert!(stage.chat.messages().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_event_is_dead_lettered_and_does_not_block_the_queue() {
    let stage = Stage::set().await;
    let expected = |outcome: &PublishOutcome| match TestBackend::current() {
        TestBackend::Sqlite => matches!(outcome, PublishOutcome::Unreadable(_)),
        TestBackend::Postgres => *outcome == PublishOutcome::Confirmed,
    };
    for (key, body) in [
        ("session.started.v1", "{\"not\":\"an event\"}"),
        ("session.started.v2", "\u{0}"),
        ("session.started.v1", ""),
    ] {
        let outcome = stage
            .publish(Uuid::now_v7(), Exchange::Public, key, body.as_bytes())
            .await;
        assert!(expected(&outcome), "{outcome:?}");
    }
    stage.configure(3, 1, Some("a")).await;
    stage.start_session(3, Some(1), "after").await;
    assert!(stage.chat.next_message().await.text().contains("after"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_post_each_message_once() {
    let stage = Stage::set().await;
    let second = stage.start_process().await;
    for project in 1..=5 {
        stage
            .configure(project, 1, Some(&format!("p{project}")))
            .await;
    }
    let mut ids = Vec::new();
    for n in 0..60 {
        ids.push(
            stage
                .start_session(n % 5 + 1, Some(1), &format!("note-{n:02}."))
                .await,
        );
    }
    for id in &ids {
        assert_eq!(
            stage.wait_for_feedback_about(*id).await.0,
            "notification.delivered.v1"
        );
    }
    let messages = stage.chat.messages();
    let text: String = messages.iter().map(|message| message.text()).collect();
    for n in 0..ids.len() {
        assert_eq!(text.matches(&format!("note-{n:02}.")).count(), 1, "{text}");
    }
    second.stop().await;
}
