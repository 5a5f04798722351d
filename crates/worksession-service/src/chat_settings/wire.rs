use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::model::{ACTIVE, ChatRow, OFF};

/// Where a team project's notifications go. The address is write-only: no answer tells it.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PutChatRequest {
    /// `slack`
    #[schema(required)]
    pub(crate) provider: Option<String>,
    /// The incoming webhook's https address.
    #[schema(required)]
    pub(crate) webhook_url: Option<String>,
}

/// The state of a project's chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Chat {
    /// Null without a hook.
    provider: Option<String>,
    /// The project's `chat_channel`.
    channel: String,
    /// `active` or `off`.
    status: &'static str,
    /// Why it is off, when the chat refused us for good.
    reason: Option<String>,
}

/// The state of a project's chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatResponse {
    success: bool,
    chat: Chat,
}

impl ChatResponse {
    pub(crate) fn new(channel: String, row: Option<ChatRow>) -> Self {
        let (provider, active, reason) = match row {
            Some(row) => (row.provider, row.status == ACTIVE, row.reason),
            None => (None, false, None),
        };
        let status = if active { ACTIVE } else { OFF };
        Self {
            success: true,
            chat: Chat {
                provider,
                channel,
                status,
                reason,
            },
        }
    }
}
