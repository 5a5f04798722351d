//! Webhook calls: signed, made once, replayed on request, and sent to the webhook as it is now.

use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use db_kit::DbError;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use event_types::{UserChanged, WebhookOutcome, WebhookSecret};
use service_kit::Clock;
use test_kit::{ChatReply, wait_until};
use uuid::Uuid;

use crate::kit::{Stage, TIMEOUT};
use crate::webhook_kit::{SECRET, secret, signed_at};

const NEWER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

fn count(stage: &Stage, what: &str) -> i64 {
    let count = format!("SELECT count(*) AS number FROM {what}");
    let number = stage
        .pool()
        .read_blocking::<Number, DbError>(|db| Ok(diesel::sql_query(count).get_result(db)?));
    number.unwrap().number
}

fn calls(stage: &Stage) -> i64 {
    count(stage, "deliveries")
}

async fn until_webhook_is(stage: &Stage, id: i64, state: &str) {
    let what = format!("destinations WHERE id = '{id}' AND state = '{state}'");
    wait_until("the webhook to be so", TIMEOUT, async || {
        (count(stage, &what) == 1).then_some(())
    })
    .await;
}

async fn until_calls(stage: &Stage, left: i64) {
    wait_until("calls to be deleted", TIMEOUT, async || {
        (calls(stage) == left).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_call_is_the_event_signed_as_standard_webhooks_specifies() {
    let stage = Stage::set().await;
    stage.webhook(5, 1, "a").await;
    let (call, event) = stage.request_call(5, 1).await;
    let message = stage.chat.next_message().await;
    assert_eq!(message.path, "/services/a");
    assert_eq!(message.header("webhook-id"), call.to_string());
    assert_eq!(message.header("content-type"), "application/json");
    assert!(message.header("user-agent").starts_with("Holdfast/"));
    assert_eq!(
        String::from_utf8(message.raw.clone()).unwrap(),
        event.encode().unwrap()
    );
    assert!((signed_at(&message) - stage.clock.now().timestamp()).abs() < 10);
    assert!(message.is_signed_with(SECRET));
    assert!(!message.is_signed_with(NEWER));
    let attempt = stage
        .wait_for_outcome(call, WebhookOutcome::Delivered)
        .await;
    assert_eq!(
        (attempt.status_code, attempt.attempts, attempt.reason),
        (Some(200), 1, None)
    );
    assert!(attempt.duration_ms.is_some_and(|took| took < 5_000));
    assert_eq!(
        stage
            .metric("webhook_calls_total{outcome=\"delivered\"}")
            .await,
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_secrets_sign_until_the_older_one_expires() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    let older = WebhookSecret {
        secret: SECRET.to_owned(),
        until: Some(stage.clock.now() + TimeDelta::hours(24)),
    };
    let secrets = vec![secret(NEWER), older];
    stage.webhook_with(5, 1, "a", secrets).await;
    let (call, _) = stage.request_call(5, 1).await;
    stage
        .wait_for_outcome(call, WebhookOutcome::Delivered)
        .await;
    let message = stage.chat.next_message().await;
    assert!(message.is_signed_with(SECRET) && message.is_signed_with(NEWER));
    manual_clock.advance(TimeDelta::hours(24));
    stage.request_call(5, 1).await;
    let message = stage.chat.next_message().await;
    assert!(!message.is_signed_with(SECRET) && message.is_signed_with(NEWER));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_call_waits_for_the_revision_that_it_was_meant_for() {
    let stage = Stage::set().await;
    let (first, _) = stage.request_call(5, 1).await;
    stage.webhook(5, 1, "old").await;
    stage
        .wait_for_outcome(first, WebhookOutcome::Delivered)
        .await;
    assert_eq!(stage.chat.next_message().await.path, "/services/old");
    let (second, _) = stage.request_call(5, 2).await;
    let (other, _) = stage.request_call(6, 1).await;
    stage.webhook(6, 1, "other").await;
    stage
        .wait_for_outcome(other, WebhookOutcome::Delivered)
        .await;
    assert_eq!(stage.chat.next_message().await.path, "/services/other");
    stage.webhook(5, 2, "new").await;
    stage
        .wait_for_outcome(second, WebhookOutcome::Delivered)
        .await;
    assert_eq!(stage.chat.next_message().await.path, "/services/new");
    // An older revision that arrives late changes nothing.
    stage.webhook(5, 1, "old").await;
    stage.request_call(5, 2).await;
    assert_eq!(stage.chat.next_message().await.path, "/services/new");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivered_call_is_replayed_on_request_and_an_unknown_one_fails() {
    let (clock, manual_clock) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set_with(clock, |_| {}).await;
    stage.webhook(5, 1, "a").await;
    let (call, _) = stage.request_call(5, 1).await;
    let first = stage.chat.next_message().await;
    stage
        .wait_for_outcome(call, WebhookOutcome::Delivered)
        .await;

    manual_clock.advance(TimeDelta::days(20));
    stage.replay(5, call).await;
    let again = stage.chat.next_message().await;
    assert_eq!(
        (again.header("webhook-id"), &again.raw),
        (first.header("webhook-id"), &first.raw)
    );
    assert_eq!(signed_at(&again) - signed_at(&first), 20 * 24 * 3_600);
    assert!(again.is_signed_with(SECRET));
    let attempt = stage.wait_for_attempt(call, 2).await;
    assert_eq!(
        (attempt.outcome, attempt.attempts),
        (WebhookOutcome::Delivered, 2)
    );

    // A delivery that is no longer stored, and one of another webhook.
    let unknown = Uuid::now_v7();
    stage.replay(5, unknown).await;
    let attempt = stage.wait_for_attempt(unknown, i64::MAX).await;
    assert_eq!(attempt.outcome, WebhookOutcome::Failed);
    assert_eq!(
        attempt.reason.as_deref(),
        Some("The call is no longer stored")
    );
    stage.replay(6, call).await;
    assert!(
        stage
            .chat
            .next_message_within(Duration::from_millis(1_200))
            .await
            .is_none()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removing_a_webhook_or_deleting_its_user_deletes_the_deliveries() {
    let stage = Stage::set().await;
    stage.webhook(5, 1, "a").await;
    stage.webhook(6, 1, "b").await;
    for webhook in [5, 6] {
        let (call, _) = stage.request_call(webhook, 1).await;
        stage
            .wait_for_outcome(call, WebhookOutcome::Delivered)
            .await;
    }
    assert_eq!(calls(&stage), 2, "kept for a replay");
    stage.remove_webhook(5, 2).await;
    until_calls(&stage, 1).await;
    // Late events about it change nothing.
    stage.webhook(5, 1, "a").await;
    stage.request_call(5, 1).await;
    until_calls(&stage, 1).await;
    assert_eq!(stage.chat.messages().len(), 2);

    let changed = |deleted| UserChanged {
        user_id: "7".parse().unwrap(),
        deleted,
        is_active: !deleted,
    };
    stage.publish_event(&changed(false)).await;
    stage.publish_event(&changed(true)).await;
    until_calls(&stage, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_webhook_is_not_called_until_adopted_in_any_order_of_events() {
    let stage = Stage::set().await;
    stage.webhook(5, 1, "a").await;
    stage.chat.script([ChatReply::Status(503)]);
    let (waiting, _) = stage.request_call(5, 1).await;
    let attempt = stage.wait_for_attempt(waiting, 1).await;
    assert_eq!(attempt.outcome, WebhookOutcome::Pending);
    // A pending call and a call requested before the pause are skipped.
    stage.pause_webhook(5, 1).await;
    let attempt = stage.wait_for_attempt(waiting, 2).await;
    assert_eq!(attempt.outcome, WebhookOutcome::Skipped);
    stage.webhook(5, 1, "a").await;
    let (late, _) = stage.request_call(5, 1).await;
    stage.wait_for_outcome(late, WebhookOutcome::Skipped).await;
    // The pause arrives before the address.
    stage.pause_webhook(6, 1).await;
    until_webhook_is(&stage, 6, "disabled").await;
    stage.webhook(6, 1, "a").await;
    let (late, _) = stage.request_call(6, 1).await;
    stage.wait_for_outcome(late, WebhookOutcome::Skipped).await;
    assert_eq!(stage.chat.messages().len(), 1);
    for webhook in [5, 6] {
        stage.webhook(webhook, 2, "a").await;
        until_webhook_is(&stage, webhook, "active").await;
        let (call, _) = stage.request_call(webhook, 2).await;
        stage
            .wait_for_outcome(call, WebhookOutcome::Delivered)
            .await;
    }
    stage.replay(5, waiting).await;
    let attempt = stage.wait_for_attempt(waiting, 3).await;
    assert_eq!(attempt.outcome, WebhookOutcome::Delivered);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_address_nor_secret_is_stored_or_returned_in_clear() {
    let stage = Stage::set().await;
    stage.chat.script([ChatReply::Status(500)]);
    stage.webhook(5, 1, "T1/hidden-path").await;
    let (call, _) = stage.request_call(5, 1).await;
    stage.wait_for_outcome(call, WebhookOutcome::Pending).await;
    let columns = "SELECT COALESCE(w.sealed, '') || c.payload || COALESCE(c.reason, '') AS line \
        FROM destinations w JOIN deliveries c ON c.destination_id = w.id";
    let rows = stage
        .pool()
        .read_blocking::<Vec<Line>, DbError>(|db| Ok(diesel::sql_query(columns).load(db)?));
    let rows = rows.unwrap();
    assert_eq!(rows.len(), 1);
    let feedback: Vec<String> = stage
        .feedback()
        .iter()
        .map(|event| event.data.to_string())
        .collect();
    let text = feedback.concat() + &rows[0].line;
    for secret in ["hidden-path", "whsec_", "MfKQ9r8GKYqr", "/services"] {
        assert!(!text.contains(secret), "{secret}");
    }
}
