// The tables of every service with events, as defined in `sql/`.
#![allow(missing_docs, reason = "columns are documented in sql/")]

diesel::table! {
    inbox (consumer, event_id) {
        consumer -> Text,
        event_id -> Text,
        received_at -> Timestamp,
    }
}

diesel::table! {
    outbox (state, id) {
        id -> Text,
        exchange -> Text,
        routing_key -> Text,
        body -> Text,
        created_at -> Timestamp,
        state -> Text,
    }
}

diesel::table! {
    outbox_leases (first_id) {
        first_id -> Text,
        last_id -> Text,
        batch_id -> Text,
        expires_at -> Timestamp,
    }
}
