//! Every event between the parts of the product, and its CloudEvents envelope.
//!
//! Within a version, an event only gains optional fields. Any other change is a new version with a new type. This
//! crate neither sends nor stores events; the crates `broker` and `db-kit` do.

#[cfg(test)]
mod asyncapi;
mod chat_provider;
mod envelope;
mod event_list;
mod identity;
mod integration;
mod logout;
mod mail;
mod notification;
#[cfg(test)]
mod schemas;
mod session;
mod webhook;

pub use chat_provider::{AddressKind, ChatProvider};
pub use envelope::{Event, EventData, EventError, Exchange, MAX_EVENT_BYTES, RawEventData};
pub use identity::{MembershipChanged, SessionRevoked, TeamChanged, TeamRef, UserChanged};
pub use integration::{
    ChatAddress, ChatDestination, ChatTestRequested, ChatTested, IntegrationConfigured,
    IntegrationDisabled,
};
pub use logout::{LogoutCall, LogoutRequested, LogoutToken};
pub use mail::{Mail, MailRequested, MailTemplate};
pub use notification::{
    Notification, NotificationDelivered, NotificationFailed, NotificationSkipped, NotifiedEvent,
};
pub use session::{
    ChatTarget, SessionAbandoned, SessionProject, SessionStarted, SessionSubmitted, SessionUser,
};
pub use webhook::{
    WebhookAttempted, WebhookConfigured, WebhookDisabled, WebhookDue, WebhookOutcome,
    WebhookReplayed, WebhookSecret, WebhookTarget, WebhookTest,
};
