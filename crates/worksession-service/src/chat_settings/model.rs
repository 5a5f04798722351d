use chrono::NaiveDateTime;
use diesel::prelude::*;
use event_types::ChatTarget;

use crate::integrations::{ACTIVE, IntegrationCreator};
use crate::schema::chat_integrations;

/// A project's chat as stored, without its encrypted address.
#[derive(Debug, Clone, Default, Queryable, Selectable)]
#[diesel(table_name = chat_integrations)]
pub(crate) struct ChatRow {
    /// None after a DELETE.
    pub(crate) provider: Option<String>,
    pub(crate) revision: i64,
    pub(crate) status: String,
    /// Why it is paused or disabled, as text for users.
    pub(crate) reason: Option<String>,
    /// The comma-separated notifications that it receives.
    pub(crate) announce: String,
    /// Empty after a DELETE.
    #[diesel(select_expression = (
        chat_integrations::created_by,
        chat_integrations::client_id,
        chat_integrations::session_id,
    ))]
    pub(crate) creator: IntegrationCreator,
    /// `pending`, `delivered`, `failed` or `skipped`. Like its time, none if this chat was never tested.
    pub(super) test_outcome: Option<String>,
    pub(super) test_reason: Option<String>,
    pub(super) test_at: Option<NaiveDateTime>,
}

impl ChatRow {
    /// Returns the notifications that the chat receives.
    pub(crate) fn announced(&self) -> Vec<String> {
        let names = self.announce.split(',').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }
}

/// Returns the target of a project's notifications; none without an active chat.
pub(crate) fn target(chat: ChatRow, channel: String) -> Option<ChatTarget> {
    let announce = chat.announced();
    let provider = chat.provider.filter(|_| chat.status == ACTIVE)?;
    Some(ChatTarget {
        provider,
        channel,
        revision: chat.revision,
        announce,
    })
}

/// The outcome of a test whose result has not arrived yet.
pub(super) const TEST_PENDING: &str = "pending";
