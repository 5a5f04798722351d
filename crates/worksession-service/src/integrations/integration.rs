use std::fmt;

use chrono::{DateTime, Utc};
use db_kit::Db;
use diesel::QueryResult;
use event_types::{IntegrationConfigured, WebhookConfigured};
use secrecy::SecretSlice;
use service_kit::http::RequestId;
use service_kit::seal::Sealer;

use crate::error::Error;
use crate::events;
use crate::projects::TeamProjectId;
use crate::sealers::Sealers;

/// The status of an active integration.
pub(crate) const ACTIVE: &str = "active";
/// The status of an integration whose creator lost access.
pub(crate) const PAUSED: &str = "paused";
/// The status of a disabled integration: it has no address, or its receiver permanently rejects calls.
pub(crate) const DISABLED: &str = "off";

auth_types::id_type! {
    /// The id of a webhook.
    pub(crate) struct WebhookId;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integration {
    Chat(TeamProjectId),
    Webhook(WebhookId),
}

/// The target of one revision of an integration.
pub(crate) enum RevisionTarget {
    /// An address, encrypted for that revision.
    Sealed(String),
    /// No address until the integration is adopted.
    Paused,
    /// No address: the integration is removed.
    Removed,
}

impl Integration {
    /// Returns the error for a caller who may not change the integration.
    pub(crate) fn forbidden_error(self) -> Error {
        match self {
            Self::Chat(_) => Error::TeamProjectChangeForbidden,
            Self::Webhook(_) => Error::WebhookForbidden,
        }
    }

    /// Encrypts the target of the revision.
    pub(crate) fn seal(
        self,
        sealers: &Sealers,
        revision: i64,
        plain: &[u8],
    ) -> Result<String, Error> {
        let (sealer, context) = self.sealer(sealers, revision);
        sealer.seal(&context, plain).map_err(Error::internal)
    }

    /// Decrypts the target of the revision.
    pub(crate) fn open(
        self,
        sealers: &Sealers,
        revision: i64,
        sealed: Option<&str>,
    ) -> Result<SecretSlice<u8>, Error> {
        let (sealer, context) = self.sealer(sealers, revision);
        let plain = sealer.open(&context, sealed.unwrap_or_default());
        plain.map_err(Error::internal)
    }

    /// Enqueues the revision for the notifier. Call it in the transaction that creates the revision.
    pub(crate) fn enqueue_revision(
        self,
        db: &mut Db,
        revision: i64,
        target: RevisionTarget,
        now: DateTime<Utc>,
        request_id: Option<&RequestId>,
    ) -> QueryResult<()> {
        let (sealed, paused) = match target {
            RevisionTarget::Sealed(sealed) => (Some(sealed), false),
            RevisionTarget::Paused => (None, true),
            RevisionTarget::Removed => (None, false),
        };
        match self {
            Self::Chat(project) => {
                let event = IntegrationConfigured {
                    project_id: project.get(),
                    revision,
                    sealed,
                    paused,
                };
                events::enqueue(db, now, request_id, &event)
            }
            Self::Webhook(webhook) => {
                let event = WebhookConfigured {
                    webhook_id: webhook.get(),
                    revision,
                    sealed,
                    paused,
                };
                events::enqueue(db, now, request_id, &event)
            }
        }
    }

    fn sealer(self, sealers: &Sealers, revision: i64) -> (&Sealer, String) {
        match self {
            Self::Chat(project) => {
                let context = IntegrationConfigured::seal_context(project.get(), revision);
                (&sealers.chats, context)
            }
            Self::Webhook(webhook) => {
                let context = WebhookConfigured::seal_context(webhook.get(), revision);
                (&sealers.webhooks, context)
            }
        }
    }
}

/// Writes the value of the column `hook` of the contacts.
impl fmt::Display for Integration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chat(project) => write!(f, "chat/{project}"),
            Self::Webhook(webhook) => write!(f, "webhook/{webhook}"),
        }
    }
}
