#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use event_types::Event;
use uuid::Uuid;

use super::*;
use crate::delivery::delivery_row;

fn row(number: u128, kind: Kind) -> DeliveryRow {
    let id = Uuid::from_u128(number).to_string();
    DeliveryRow {
        session_id: Some(id.clone()),
        ..delivery_row(&id, kind.name())
    }
}

/// Returns what an event reports: the numbers of its notifications, or of its test.
fn numbers(row: &NewOutboxRow) -> Vec<u128> {
    let event = Event::decode(row.body.as_bytes()).unwrap();
    if row.routing_key == ChatTested::TYPE {
        let tested: ChatTested = event.data_as().unwrap();
        return vec![tested.test_id.as_u128()];
    }
    let delivered: NotificationDelivered = event.data_as().unwrap();
    let number = |notification: NotifiedEvent| notification.event_id.as_u128();
    delivered.notification.events().map(number).collect()
}

#[test]
fn an_outcome_event_holds_at_most_a_hundred_notifications_and_tests_have_their_own() {
    let kind = |number| match number {
        // Among the notifications of the first event, at its end, and last of all.
        7 | 101 | 253 => Kind::Test,
        _ if number % 2 == 0 => Kind::Finished,
        _ => Kind::Plan,
    };
    let rows: Vec<DeliveryRow> = (1..=253).map(|number| row(number, kind(number))).collect();
    let events = events(&rows, FinalState::Delivered, "", DateTime::UNIX_EPOCH).unwrap();
    let (tests, notifications): (Vec<_>, Vec<_>) = events
        .iter()
        .partition(|event| event.routing_key == ChatTested::TYPE);
    let all = |events: Vec<&NewOutboxRow>| events.into_iter().map(numbers).collect::<Vec<_>>();
    assert_eq!(all(tests), [[7], [101], [253]]);
    let notifications = all(notifications);
    let lengths: Vec<usize> = notifications.iter().map(Vec::len).collect();
    assert_eq!(lengths, [100, 100, 50]);
    let others: Vec<u128> = (1..=252)
        .filter(|number| ![7, 101].contains(number))
        .collect();
    assert_eq!(notifications.concat(), others, "each once, in their order");
}
