//! The notifier's tables, by hand; outbox and inbox belong to `db-kit`.
#![allow(unreachable_pub, reason = "code of diesel's table macro")]

diesel::table! {
    destinations (project_id) {
        project_id -> BigInt,
        revision -> BigInt,
        state -> Text,
        sealed -> Nullable<Text>,
        reason -> Nullable<Text>,
        failures -> BigInt,
        free_at -> Timestamp,
        due_at -> Nullable<Timestamp>,
        lease_owner -> Nullable<Text>,
        updated_at -> Timestamp,
        sending -> Nullable<Text>,
    }
}

diesel::table! {
    deliveries (event_id) {
        event_id -> Text,
        session_id -> Text,
        project_id -> BigInt,
        revision -> BigInt,
        request_id -> Nullable<Text>,
        payload -> Nullable<Text>,
        state -> Text,
        attempts -> BigInt,
        next_attempt_at -> Timestamp,
        give_up_at -> Timestamp,
        reason -> Nullable<Text>,
        created_at -> Timestamp,
        settled_at -> Nullable<Timestamp>,
        kind -> Text,
        batch_id -> Nullable<Text>,
    }
}

diesel::table! {
    mails (event_id) {
        event_id -> Text,
        template -> Text,
        sealed -> Nullable<Text>,
        request_id -> Nullable<Text>,
        state -> Text,
        attempts -> BigInt,
        due_at -> Timestamp,
        lease_owner -> Nullable<Text>,
        give_up_at -> Timestamp,
        reason -> Nullable<Text>,
        created_at -> Timestamp,
        settled_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    webhooks (webhook_id) {
        webhook_id -> BigInt,
        revision -> BigInt,
        state -> Text,
        sealed -> Nullable<Text>,
        failures -> BigInt,
        failing_since -> Nullable<Timestamp>,
        free_at -> Timestamp,
        due_at -> Nullable<Timestamp>,
        lease_owner -> Nullable<Text>,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    webhook_calls (delivery_id) {
        delivery_id -> Text,
        webhook_id -> BigInt,
        revision -> BigInt,
        user_id -> BigInt,
        request_id -> Nullable<Text>,
        body -> Text,
        state -> Text,
        step -> BigInt,
        attempts -> BigInt,
        tries -> BigInt,
        next_attempt_at -> Timestamp,
        give_up_at -> Timestamp,
        reason -> Nullable<Text>,
        settled_at -> Nullable<Timestamp>,
    }
}
