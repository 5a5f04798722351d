use chrono::NaiveDateTime;
use diesel::prelude::*;
use event_types::ChatTarget;

use crate::hooks::ACTIVE;

/// A project's chat setting as stored. The address is not among it: only the notifier keeps that.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = crate::schema::chat_integrations)]
pub(crate) struct ChatRow {
    /// None after a DELETE.
    pub(crate) provider: Option<String>,
    pub(crate) revision: i64,
    pub(crate) status: String,
    /// Why it is off, for people.
    pub(crate) reason: Option<String>,
    /// What it is told of, with commas between.
    pub(crate) announce: String,
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

/// The last test of a project's chat as stored.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct LastTest {
    /// `pending`, `delivered`, `failed` or `skipped`.
    pub(super) outcome: String,
    pub(super) reason: Option<String>,
    pub(super) at: NaiveDateTime,
}
