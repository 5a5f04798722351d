//! Receivers that fail, ask for a pause, hang or are gone.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta};
use event_types::{WebhookAttempted, WebhookOutcome};
use service_kit::Clock;
use test_kit::ChatReply;
use uuid::Uuid;

use crate::kit::Stage;
use crate::webhook_kit::{SECRET, signed_at};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_receiver_is_called_ten_times_over_three_days() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    stage.chat.usually(ChatReply::Status(503));
    stage.webhook(5, 1, "a").await;
    let (call, event) = stage.request_call(5, 1).await;
    let hours = [2, 5, 10, 14, 20, 24].map(|hours| hours * 3_600);
    let waits = [5, 300, 1_800].into_iter().chain(hours);
    let mut attempts = 0;
    for wait in waits {
        attempts += 1;
        let message = stage.chat.next_message().await;
        assert_eq!(message.header("webhook-id"), call.to_string());
        assert_eq!(message.raw, event.encode().unwrap().as_bytes());
        assert_eq!(signed_at(&message), stage.clock.now().timestamp());
        assert!(message.is_signed_with(SECRET));
        let attempt = stage.wait_for_attempt(call, attempts).await;
        assert_eq!(
            (attempt.outcome, attempt.attempts),
            (WebhookOutcome::Pending, attempts)
        );
        assert_eq!(attempt.status_code, Some(503));
        let next = attempt.next_attempt_at.unwrap();
        assert_eq!((next - stage.clock.now()).num_seconds(), wait);
        manual_clock.advance(TimeDelta::seconds(wait));
    }
    stage.chat.next_message().await;
    let attempt = stage.wait_for_attempt(call, 10).await;
    assert_eq!(
        (attempt.outcome, attempt.next_attempt_at),
        (WebhookOutcome::Failed, None)
    );
    assert_eq!(attempt.reason.as_deref(), Some("The receiver answered 503"));
    manual_clock.advance(TimeDelta::days(1));
    let more = stage.chat.next_message_within(Duration::from_millis(1_500));
    assert!(more.await.is_none(), "ten are enough");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receivers_retry_after_delays_all_its_calls() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    stage
        .chat
        .script([ChatReply::RetryAfter(429, "3600".to_owned())]);
    stage.webhook(5, 1, "a").await;
    let (first, _) = stage.request_call(5, 1).await;
    let limited = stage.chat.next_message().await;
    let attempt = stage.wait_for_outcome(first, WebhookOutcome::Pending).await;
    let next = attempt.next_attempt_at.unwrap();
    assert_eq!(next - stage.clock.now(), TimeDelta::hours(1));
    let (second, _) = stage.request_call(5, 1).await;
    manual_clock.advance(TimeDelta::seconds(3_599));
    let early = stage.chat.next_message_within(Duration::from_millis(1_500));
    assert!(early.await.is_none(), "others to it wait as well");
    manual_clock.advance(TimeDelta::seconds(1));
    for _ in 0..2 {
        let message = stage.chat.next_message().await;
        assert!(signed_at(&message) - signed_at(&limited) >= 3_600);
    }
    stage
        .wait_for_outcome(second, WebhookOutcome::Delivered)
        .await;
    assert_eq!(
        stage.wait_for_attempt(first, 2).await.outcome,
        WebhookOutcome::Delivered
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_is_gone_is_disabled_until_reconfigured() {
    let stage = Stage::set().await;
    stage.chat.script([ChatReply::Status(410)]);
    stage.webhook(5, 1, "gone").await;
    let (first, _) = stage.request_call(5, 1).await;
    stage.wait_for_outcome(first, WebhookOutcome::Failed).await;
    let off = stage.wait_for_disabled(5).await;
    assert_eq!(
        (off.revision, off.reason.as_str()),
        (1, "The receiver answered 410")
    );
    let (second, _) = stage.request_call(5, 1).await;
    let attempt = stage
        .wait_for_outcome(second, WebhookOutcome::Skipped)
        .await;
    assert_eq!(attempt.reason.as_deref(), Some("The webhook is disabled"));
    assert_eq!((attempt.duration_ms, attempt.attempts), (None, 0));
    stage.webhook(5, 2, "new").await;
    let (third, _) = stage.request_call(5, 2).await;
    stage
        .wait_for_outcome(third, WebhookOutcome::Delivered)
        .await;
    // A skipped delivery can be replayed.
    stage.replay(5, second).await;
    assert_eq!(
        stage.wait_for_attempt(second, 2).await.outcome,
        WebhookOutcome::Delivered
    );
    assert_eq!(stage.metric("webhooks_disabled_total").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_fails_for_five_days_without_a_success_is_disabled() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    stage.webhook(5, 1, "a").await;
    let ended = async |reply: u16, outcome| -> (Uuid, WebhookAttempted) {
        stage.chat.usually(ChatReply::Status(reply));
        let (call, _) = stage.request_call(5, 1).await;
        stage.chat.next_message().await;
        (call, stage.wait_for_outcome(call, outcome).await)
    };
    let (failed, _) = ended(500, WebhookOutcome::Pending).await;
    manual_clock.advance(TimeDelta::days(4));
    stage.chat.usually(ChatReply::Status(200));
    stage.chat.next_message().await;
    assert_eq!(
        stage.wait_for_attempt(failed, 2).await.outcome,
        WebhookOutcome::Delivered
    );
    let (late, _) = ended(500, WebhookOutcome::Pending).await;
    manual_clock.advance(TimeDelta::days(4));
    stage.chat.next_message().await;
    stage.wait_for_attempt(late, 2).await;
    manual_clock.advance(TimeDelta::days(1));
    let (last, _) = stage.request_call(5, 1).await;
    let off = stage.wait_for_disabled(5).await;
    let reason = "Calls have failed for 5 days. Last error: The receiver answered 500";
    assert_eq!(off.reason, reason);
    let feedback = [
        stage.wait_for_attempt(late, 3).await,
        stage.wait_for_attempt(last, 1).await,
    ];
    assert!(
        feedback
            .iter()
            .all(|attempt| attempt.outcome != WebhookOutcome::Pending),
        "{feedback:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_receiver_delays_no_other() {
    let stage = Stage::set().await;
    stage.webhook(5, 1, "hangs").await;
    stage.webhook(6, 1, "works").await;
    stage.chat.script([ChatReply::Hang]);
    let (slow, _) = stage.request_call(5, 1).await;
    stage.chat.next_message().await;
    let before = Instant::now();
    let (quick, _) = stage.request_call(6, 1).await;
    stage
        .wait_for_outcome(quick, WebhookOutcome::Delivered)
        .await;
    assert!(before.elapsed() < Duration::from_secs(3));
    let attempt = stage.wait_for_outcome(slow, WebhookOutcome::Pending).await;
    assert_eq!(attempt.status_code, None);
    assert!(
        attempt.duration_ms.is_some_and(|took| took >= 9_000),
        "{attempt:?}"
    );
    assert_eq!(stage.metric("webhook_possible_duplicates_total").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_webhook_address_is_not_called_until_the_operator_allows_it() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let mut stage = Stage::set_with(clock, |config| config.http.allowed_cidrs.0.clear()).await;
    let mut calls = Vec::new();
    for (webhook, url) in [
        (5, stage.chat.hook("a")),
        (6, "http://[::1]:9/x".to_owned()),
    ] {
        stage.webhook_at(webhook, 1, &url).await;
        let (call, _) = stage.request_call(webhook, 1).await;
        let attempt = stage.wait_for_outcome(call, WebhookOutcome::Pending).await;
        let reason = attempt.reason.unwrap();
        assert!(
            reason.starts_with("The address is not called: it is not a public one")
                && reason.contains("NOTIFIER__HTTP__ALLOWED_CIDRS"),
            "{reason}"
        );
        calls.push(call);
    }
    assert!(stage.chat.messages().is_empty());
    assert_eq!(stage.metric("webhooks_disabled_total").await, 0);

    stage.stop().await;
    stage.config.http.allowed_cidrs.0 = vec!["127.0.0.0/8".parse().unwrap()];
    stage.start().await;
    manual_clock.advance(TimeDelta::seconds(5));
    let attempt = stage.wait_for_attempt(calls[0], 2).await;
    assert_eq!(attempt.outcome, WebhookOutcome::Delivered);
    // The other address is still not allowed.
    let attempt = stage.wait_for_attempt(calls[1], 2).await;
    assert_eq!(attempt.outcome, WebhookOutcome::Pending);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_calls_survive_a_restart_and_those_being_sent_are_possible_duplicates() {
    let mut stage = Stage::set().await;
    stage.chat.usually(ChatReply::Status(500));
    stage.webhook(5, 1, "a").await;
    let (call, _) = stage.request_call(5, 1).await;
    stage.wait_for_outcome(call, WebhookOutcome::Pending).await;
    stage.stop().await;
    // The state after `kill -9` between the receiver's response and its record, once the lease has expired.
    stage.execute(
        "UPDATE deliveries SET state = 'sending', next_attempt_at = '2026-01-01 00:00:00'; \
         UPDATE destinations SET lease_owner = 'dead', due_at = updated_at, free_at = updated_at",
    );
    stage.chat.usually(ChatReply::Status(200));
    stage.start().await;
    let attempt = stage.wait_for_attempt(call, 2).await;
    assert_eq!(
        (attempt.outcome, attempt.attempts),
        (WebhookOutcome::Delivered, 2)
    );
    assert_eq!(stage.metric("webhook_possible_duplicates_total").await, 1);
}
