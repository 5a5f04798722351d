//! The notifier's tables, written by hand. Outbox and inbox belong to `db-kit`.
#![allow(unreachable_pub, reason = "code of diesel's table macro")]

diesel::table! {
    destinations (medium, id) {
        medium -> Text,
        id -> Text,
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
    deliveries (id) {
        id -> Text,
        medium -> Text,
        kind -> Text,
        destination_id -> Text,
        revision -> BigInt,
        session_id -> Nullable<Text>,
        user_id -> Nullable<BigInt>,
        request_id -> Nullable<Text>,
        payload -> Nullable<Text>,
        state -> Text,
        step -> BigInt,
        attempts -> BigInt,
        tries -> BigInt,
        next_attempt_at -> Timestamp,
        give_up_at -> Timestamp,
        message_id -> Nullable<Text>,
        reason -> Nullable<Text>,
        created_at -> Timestamp,
        settled_at -> Nullable<Timestamp>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(deliveries, destinations);
