//! Every event that one part of the product tells another, and the CloudEvents envelope they travel in.
//!
//! Inside a version an event only ever gains optional fields; anything else is a new version with a
//! new type. What it is not: nothing here sends or stores; see the crates `broker` and `db-kit`.

mod chat_provider;
mod envelope;
mod identity;
mod integration;
mod kinds;
mod mail;
mod notification;
#[cfg(test)]
mod schemas;
mod session;
mod webhook;

pub use chat_provider::{AddressKind, ChatProvider};
pub use envelope::{Data, Event, EventData, EventError, Exchange, MAX_EVENT_BYTES};
pub use identity::{MembershipChanged, SessionRevoked, TeamChanged, TeamRef, UserChanged};
pub use integration::{
    ChatAddress, ChatDestination, ChatTestRequested, ChatTested, IntegrationConfigured,
    IntegrationDisabled,
};
pub use mail::{Mail, MailRequested, MailText};
pub use notification::{
    Notice, Notification, NotificationDelivered, NotificationFailed, NotificationSkipped,
};
pub use session::{
    ChatTarget, SessionAbandoned, SessionProject, SessionStarted, SessionSubmitted, SessionUser,
};
pub use webhook::{
    WebhookAttempted, WebhookConfigured, WebhookDisabled, WebhookDue, WebhookOutcome,
    WebhookReplayed, WebhookSecret, WebhookTarget, WebhookTest,
};
