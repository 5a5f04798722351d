use std::fmt;

use diesel::prelude::*;
use serde::{Deserialize, Serialize};

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
    /// A sealed [`Contact`].
    pub(super) sealed: String,
}

/// What is sealed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Contact {
    pub(super) username: String,
    pub(super) email: String,
}

impl Contact {
    /// What it is bound to, so that one person's cannot be passed off as another's.
    pub(super) fn seal_context(hook: &str, user: i64) -> String {
        format!("contact/{hook}/{user}")
    }
}
