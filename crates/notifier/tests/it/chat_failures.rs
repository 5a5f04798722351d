use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta};
use service_kit::Clock;
use test_kit::{ChatReply, wait_until};

use crate::kit::{Stage, TIMEOUT, destination};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chats_retry_after_is_respected_to_the_second() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    stage
        .chat
        .script([ChatReply::RetryAfter(429, "3".to_owned())]);
    let first = stage.start_session(3, Some(1), "first").await;
    let limited = stage.chat.next_message().await;
    // Other messages to the same address wait as well.
    stage.start_session(3, Some(1), "second").await;
    let next = stage.chat.next_message().await;
    assert!(
        next.at - limited.at >= Duration::from_secs(3),
        "{:?}",
        next.at - limited.at
    );
    stage.chat.next_message().await;
    assert_eq!(
        stage.wait_for_feedback_about(first).await.0,
        "notification.delivered.v1"
    );
    assert_eq!(stage.metric("notification_retries_total").await, 1);
    assert_eq!(
        stage.metric("notification_possible_duplicates_total").await,
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_that_is_down_is_retried_and_given_up_after_hours() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    stage.chat.usually(ChatReply::Status(503));
    stage.configure(3, 1, Some("a")).await;
    let id = stage.start_session(3, Some(1), "never").await;
    for attempt in 1..=6 {
        stage.chat.next_message().await;
        let noted =
            async || (stage.metric("notification_retries_total").await == attempt).then_some(());
        wait_until("the retry to be noted", TIMEOUT, noted).await;
        manual_clock.advance(TimeDelta::hours(2));
    }
    let (kind, data) = stage.wait_for_feedback_about(id).await;
    assert_eq!(
        (kind.as_str(), &data["reason"]),
        ("notification.failed.v1", &"The chat answered 503".into())
    );
    assert_eq!(stage.chat.messages().len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_that_is_gone_is_disabled_until_reconfigured() {
    let stage = Stage::set_with(Clock::system(), |config| config.chat.interval_ms = 300).await;
    stage.configure(3, 1, Some("gone")).await;
    stage.chat.script([ChatReply::Status(404)]);
    let first = stage.start_session(3, Some(1), "first").await;
    stage.chat.next_message().await;
    let second = stage.start_session(3, Some(1), "second").await;
    let (kind, data) = stage
        .wait_for_feedback(|event| event.event_type.starts_with("integration"))
        .await;
    assert_eq!(kind, "integration.disabled.v1");
    assert_eq!(
        (&data["project_id"], &data["revision"], &data["reason"]),
        (&3.into(), &1.into(), &"The chat answered 404".into())
    );
    let feedback = [
        stage.wait_for_feedback_about(first).await.0,
        stage.wait_for_feedback_about(second).await.0,
    ];
    assert_eq!(
        feedback,
        ["notification.failed.v1", "notification.skipped.v1"]
    );
    stage.configure(3, 2, Some("new")).await;
    let third = stage.start_session(3, Some(2), "third").await;
    assert_eq!(
        stage.wait_for_feedback_about(third).await.0,
        "notification.delivered.v1"
    );
    assert_eq!(stage.metric("integrations_disabled_total").await, 1);
    let seen: Vec<String> = stage
        .feedback()
        .iter()
        .map(|event| event.data.to_string())
        .collect();
    assert!(!seen.concat().contains("services"), "no address leaves");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_message_affects_only_itself() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    stage.chat.script([
        ChatReply::Status(400),
        ChatReply::Redirect("http://127.0.0.1:1/".to_owned()),
    ]);
    let refused = stage.start_session(3, Some(1), "bad").await;
    let (kind, data) = stage.wait_for_feedback_about(refused).await;
    assert_eq!(
        (kind.as_str(), &data["reason"]),
        ("notification.failed.v1", &"The chat answered 400".into())
    );
    let redirected = stage.start_session(3, Some(1), "elsewhere").await;
    assert_eq!(
        stage.wait_for_feedback_about(redirected).await.0,
        "notification.failed.v1"
    );
    let good = stage.start_session(3, Some(1), "good").await;
    assert_eq!(
        stage.wait_for_feedback_about(good).await.0,
        "notification.delivered.v1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_chat_delays_no_other_and_its_timeout_counts_as_a_possible_duplicate() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("hangs")).await;
    stage.configure(4, 1, Some("works")).await;
    stage.chat.script([ChatReply::Hang]);
    let slow = stage.start_session(3, Some(1), "slow").await;
    stage.chat.next_message().await;
    let before = Instant::now();
    let quick = stage.start_session(4, Some(1), "quick").await;
    stage.wait_for_feedback_about(quick).await;
    assert!(before.elapsed() < Duration::from_secs(3));
    assert_eq!(
        stage.wait_for_feedback_about(slow).await.0,
        "notification.delivered.v1"
    );
    assert_eq!(
        stage.metric("notification_possible_duplicates_total").await,
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_address_gets_one_message_per_interval() {
    let stage = Stage::set_with(Clock::system(), |config| config.chat.interval_ms = 700).await;
    stage.configure(3, 1, Some("a")).await;
    stage.start_session(3, Some(1), "note-0").await;
    let mut messages = vec![stage.chat.next_message().await];
    for n in 1..4 {
        stage.start_session(3, Some(1), &format!("note-{n}")).await;
        messages.push(stage.chat.next_message().await);
        assert!(messages[n].text().contains(&format!("note-{n}")));
    }
    let times: Vec<_> = messages.iter().map(|message| message.at).collect();
    for pair in times.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_millis(680), "{gap:?}");
        assert!(gap < Duration::from_millis(2_500), "{gap:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_address_gets_one_message_per_interval() {
    let stage = Stage::set_with(Clock::system(), |config| config.chat.interval_ms = 700).await;
    let (mut seen, mut times) = (Vec::new(), Vec::new());
    for project in 3..7 {
        stage.configure(project, 1, Some("shared")).await;
    }
    for project in 3..7 {
        let note = format!("note-{project}");
        seen.push(stage.start_session(project, Some(1), &note).await);
    }
    for _ in 3..7 {
        times.push(stage.chat.next_message().await.at);
    }
    for pair in times.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_millis(680), "{gap:?}");
    }
    for id in seen {
        assert_eq!(
            stage.wait_for_feedback_about(id).await.0,
            "notification.delivered.v1"
        );
    }
    // A wait for the interval is not a failure.
    assert_eq!(stage.metric("notification_retries_total").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_after_applies_to_all_projects_of_an_address_even_after_it_is_set_again() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("shared")).await;
    stage.configure(4, 1, Some("shared")).await;
    stage
        .chat
        .script([ChatReply::RetryAfter(429, "3".to_owned())]);
    stage.start_session(3, Some(1), "first").await;
    let limited = stage.chat.next_message().await;
    let noted = async || (stage.metric("notification_retries_total").await == 1).then_some(());
    wait_until("the answer to be noted", TIMEOUT, noted).await;
    stage.configure(3, 2, Some("shared")).await;
    stage.start_session(3, Some(2), "second").await;
    stage.start_session(4, Some(1), "third").await;
    let next = stage.chat.next_message().await;
    assert!(
        next.at - limited.at >= Duration::from_secs(3),
        "{:?}",
        next.at - limited.at
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_address_does_not_wait_for_as_long_as_the_previous_one_asked() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("old")).await;
    stage
        .chat
        .script([ChatReply::RetryAfter(429, "600".to_owned())]);
    stage.start_session(3, Some(1), "first").await;
    stage.chat.next_message().await;
    let noted = async || (stage.metric("notification_retries_total").await == 1).then_some(());
    wait_until("the answer to be noted", TIMEOUT, noted).await;
    stage.configure(3, 2, Some("new")).await;
    assert!(stage.chat.next_message().await.text().contains("first"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_chat_address_is_not_called_until_the_operator_allows_it() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let mut stage = Stage::set_with(clock, |config| config.http.allowed_cidrs.0.clear()).await;
    stage.configure(3, 1, Some("a")).await;
    let retries = async |count: u64| {
        let noted =
            async || (stage.metric("notification_retries_total").await == count).then_some(());
        wait_until("the retry to be noted", TIMEOUT, noted).await;
    };
    let test = stage.test(1).await;
    retries(1).await;
    manual_clock.advance(TimeDelta::seconds(60));
    let seen = stage.tested(test).await;
    assert_eq!(seen.outcome, "failed");
    assert_eq!(
        seen.reason.as_deref(),
        Some(
            "The chat address is not called: it is not a public one, and NOTIFIER__HTTP__ALLOWED_CIDRS does not name it"
        )
    );
    let kept = stage.start_session(3, Some(1), "knock").await;
    retries(2).await;
    assert!(stage.chat.messages().is_empty());
    assert_eq!(stage.metric("integrations_disabled_total").await, 0);

    stage.stop().await;
    stage.config.http.allowed_cidrs.0 = vec!["127.0.0.0/8".parse().unwrap()];
    stage.start().await;
    manual_clock.advance(TimeDelta::minutes(30));
    assert_eq!(
        stage.wait_for_feedback_about(kept).await.0,
        "notification.delivered.v1"
    );
    assert!(stage.chat.next_message().await.text().contains("knock"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_sealed_for_another_project_does_not_open() {
    let stage = Stage::set().await;
    let mut stolen = destination(9, 1, Some(&stage.chat.hook("stolen")));
    stolen.project_id = 3;
    stage.publish_event(&stolen).await;
    stage.start_session(3, Some(1), "not there").await;
    assert!(
        stage
            .chat
            .next_message_within(Duration::from_secs(2))
            .await
            .is_none()
    );
}
