//! What chats of team projects and webhooks, the two kinds of integration, have in common.
//!
//! An integration's address is stored encrypted, bound to one revision. The caller who sets it becomes its creator
//! ([`IntegrationCreator`]). An integration that an OAuth client or an SSO session created is paused when that access ends. A team's is
//! also paused when its creator no longer manages the team. An authorized user can adopt it. Mails go to its [`contacts`].

mod address;
mod committing;
pub(crate) mod contacts;
mod integration;
mod lost_access;
mod maker;
mod pausing;
mod queries;

pub(crate) use address::read_address;
pub(crate) use committing::{ChangedIntegration, commit};
pub(crate) use integration::{ACTIVE, Integration, OFF, PAUSED, RevisionTarget, WebhookId};
pub(crate) use lost_access::LostAccess;
pub(crate) use maker::IntegrationCreator;
pub(crate) use pausing::{Recipients, pause, recipients};
