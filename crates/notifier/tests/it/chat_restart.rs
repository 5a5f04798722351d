use db_kit::DbError;
use diesel::prelude::*;
use test_kit::ChatReply;

use crate::kit::Stage;

diesel::table! {
    deliveries (id) { id -> Text, state -> Text, payload -> Nullable<Text>, }
}
diesel::table! {
    destinations (id) { id -> Text, sealed -> Nullable<Text>, lease_owner -> Nullable<Text>, }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undelivered_message_waits_in_the_database_for_the_next_start() {
    let mut stage = Stage::set().await;
    stage.chat.usually(ChatReply::Status(500));
    stage.configure(3, 1, Some("a")).await;
    let id = stage.start_session(3, Some(1), "later").await;
    stage.chat.next_message().await;
    stage.stop().await;
    let held = stage
        .pool()
        .read_blocking::<Option<String>, DbError>(|db| {
            Ok(destinations::table
                .select(destinations::lease_owner)
                .first(db)?)
        })
        .unwrap();
    assert_eq!(held, None, "a stopped process holds nothing");
    stage.chat.usually(ChatReply::Status(200));
    stage.start().await;
    assert_eq!(
        stage.wait_for_feedback_about(id).await.0,
        "notification.delivered.v1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_process_was_sending_is_sent_again_as_a_possible_duplicate() {
    let mut stage = Stage::set().await;
    stage.chat.usually(ChatReply::Status(500));
    stage.configure(3, 1, Some("a")).await;
    let id = stage.start_session(3, Some(1), "interrupted").await;
    stage.chat.next_message().await;
    stage.stop().await;
    // The state after `kill -9` between the chat's response and its record, once the lease has expired.
    stage.execute(
        "UPDATE deliveries SET state = 'sending', next_attempt_at = created_at; \
         UPDATE destinations SET lease_owner = 'dead', due_at = updated_at, free_at = updated_at",
    );
    stage.chat.usually(ChatReply::Status(200));
    stage.start().await;
    assert_eq!(
        stage.wait_for_feedback_about(id).await.0,
        "notification.delivered.v1"
    );
    assert_eq!(
        stage.metric("notification_possible_duplicates_total").await,
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_is_stored_in_clear_and_no_note_after_delivery() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("T1/secret-path")).await;
    let id = stage.start_session(3, Some(1), "private words").await;
    stage.wait_for_feedback_about(id).await;
    let (sealed, kept) = stage
        .pool()
        .read_blocking::<_, DbError>(|db| {
            let sealed: Option<String> =
                destinations::table.select(destinations::sealed).first(db)?;
            let kept: (String, Option<String>) = deliveries::table
                .select((deliveries::state, deliveries::payload))
                .first(db)?;
            Ok((sealed.unwrap(), kept))
        })
        .unwrap();
    assert!(
        sealed.starts_with("v2.") && !sealed.contains("secret"),
        "{sealed}"
    );
    assert_eq!(kept, ("delivered".to_owned(), None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_after_the_lease_expired_leaves_the_new_lease_alone() {
    let mut stage = Stage::set().await;
    stage.chat.usually(ChatReply::Hang);
    stage.configure(3, 1, Some("a")).await;
    stage.start_session(3, Some(1), "slow").await;
    stage.chat.next_message().await;
    // As if the lease had expired while the database was silent, and the same process had a new one.
    stage.execute("UPDATE destinations SET due_at = '2999-01-01 00:00:00'");
    // The stop waits until the chat has timed out and the outcome is recorded.
    stage.stop().await;
    let (held, state) = stage
        .pool()
        .read_blocking::<(Option<String>, String), DbError>(|db| {
            let owner = destinations::table.select(destinations::lease_owner);
            let state = deliveries::table.select(deliveries::state);
            Ok((owner.first(db)?, state.first(db)?))
        })
        .unwrap();
    assert!(held.is_some());
    assert_eq!(state, "sending");
}
