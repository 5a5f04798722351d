//! What is published can be read again, and what cannot be ours is told apart.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use chrono::{TimeZone, Utc};
use event_types::{
    Event, EventData, EventError, Exchange, IntegrationConfigured, MAX_EVENT_BYTES,
    NotificationDelivered,
};
use uuid::Uuid;

fn sample() -> Event {
    let data = IntegrationConfigured {
        project_id: 7,
        revision: 2,
        sealed: None,
    };
    let at = Utc.with_ymd_and_hms(2026, 11, 21, 8, 0, 0).unwrap();
    Event::new(
        Uuid::from_u128(1),
        "worksession-service",
        at,
        Some("r-1".into()),
        &data,
    )
    .unwrap()
}

#[test]
fn an_event_reads_back_as_it_was_published() {
    let event = sample();
    let read = Event::decode(event.encode().unwrap().as_bytes()).unwrap();
    assert_eq!(read, event);
    assert_eq!(read.event_type, "integration.configured.v1");
    assert_eq!(
        read.data_as::<IntegrationConfigured>().unwrap().project_id,
        7
    );
    assert_eq!(
        Exchange::from_name(IntegrationConfigured::EXCHANGE.name()),
        Some(Exchange::Private)
    );
}

#[test]
fn an_event_of_another_type_version_or_size_is_refused() {
    assert!(matches!(
        sample().data_as::<NotificationDelivered>(),
        Err(EventError::OtherType { .. })
    ));
    let other = Event {
        specversion: "0.3".into(),
        ..sample()
    };
    assert!(matches!(
        Event::decode(serde_json::to_string(&other).unwrap().as_bytes()),
        Err(EventError::SpecVersion(_))
    ));
    let huge = vec![b' '; MAX_EVENT_BYTES + 1];
    assert!(matches!(Event::decode(&huge), Err(EventError::TooLong(_))));
    assert!(matches!(Event::decode(b"{"), Err(EventError::Json(_))));
}
