use chrono::NaiveDateTime;
use diesel::prelude::*;
use event_types::ChatTarget;

use crate::hooks::{ACTIVE, Maker};
use crate::schema::chat_integrations;

/// A project's chat setting as stored. The address is not among it: only the notifier keeps that.
#[derive(Debug, Clone, Default, Queryable, Selectable)]
#[diesel(table_name = chat_integrations)]
pub(crate) struct ChatRow {
    /// None after a DELETE.
    pub(crate) provider: Option<String>,
    pub(crate) revision: i64,
    pub(crate) status: String,
    /// Why it is off, for people.
    pub(crate) reason: Option<String>,
    /// What it is told of, with commas between.
    pub(crate) announce: String,
    /// Nobody after a DELETE.
    #[diesel(select_expression = (
        chat_integrations::created_by,
        chat_integrations::client_id,
        chat_integrations::session_id,
    ))]
    pub(crate) maker: Maker,
    /// `pending`, `delivered`, `failed` or `skipped`; none when this chat was never tested, as its time.
    pub(super) test_outcome: Option<String>,
    pub(super) test_reason: Option<String>,
    pub(super) test_at: Option<NaiveDateTime>,
}

impl ChatRow {
    /// What it is told of.
    pub(crate) fn announced(&self) -> Vec<String> {
        let words = self.announce.split(',').filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }
}

/// Where the team of a project is told; none without a hook, or when it was switched off.
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

/// Nobody has heard of a test yet.
pub(super) const TEST_PENDING: &str = "pending";
