//! What chats of team projects and webhooks, the two kinds of integration, have in common.
//!
//! An integration's address is stored encrypted, bound to one revision. The caller who sets it becomes its creator
//! ([`IntegrationCreator`]). An integration that an OAuth client or an SSO session created is paused when that access ends. A team's is
//! also paused when its creator no longer manages the team. An authorized user can adopt it. Mails go to its [`contacts`].

mod address;
mod commit;
pub(crate) mod contacts;
mod creator;
mod integration;
mod lost_access;
mod pause;
mod queries;

pub(crate) use address::parse_url;
pub(crate) use commit::{ChangedIntegration, commit_change};
pub(crate) use creator::IntegrationCreator;
pub(crate) use integration::{ACTIVE, DISABLED, Integration, PAUSED, RevisionTarget, WebhookId};
pub(crate) use lost_access::LostAccess;
pub(crate) use pause::{Recipients, load_recipients, pause};
