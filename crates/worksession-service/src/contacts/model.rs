use std::fmt;

use diesel::prelude::*;

use crate::error::Error;
use crate::projects::TeamProjectId;
use crate::webhooks::WebhookId;

/// What can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// The chat of a team project.
    Chat(TeamProjectId),
    /// A webhook.
    Webhook(WebhookId),
}

impl Hook {
    /// What those are told who may not change it.
    pub(crate) fn forbidden(self) -> Error {
        match self {
            Self::Chat(_) => Error::TeamProjectChangeForbidden,
            Self::Webhook(_) => Error::WebhookForbidden,
        }
    }
}

/// The column `hook`.
impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chat(project) => write!(f, "chat/{project}"),
            Self::Webhook(webhook) => write!(f, "webhook/{webhook}"),
        }
    }
}

/// Whom to tell, as stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = crate::schema::hook_contacts)]
pub(super) struct ContactRow {
    pub(super) hook: String,
    pub(super) user_id: i64,
    pub(super) team_id: Option<i64>,
    /// A sealed [`auth_types::wire::Contact`].
    pub(super) sealed: String,
}

/// What a sealed contact is bound to, so that one person's cannot be passed off as another's.
pub(super) fn seal_context(hook: &str, user: i64) -> String {
    format!("contact/{hook}/{user}")
}
