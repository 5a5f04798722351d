use auth_types::UserId;
use chrono::{DateTime, Utc};
use event_types::ChatProvider;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use super::model::{ChatRow, LastTest};
use crate::hooks::{Maker, OFF};

/// Where a team project's notifications go, and which. The address is write-only: no answer tells it.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PutChatRequest {
    #[schema(schema_with = provider_schema, required)]
    pub(crate) provider: Option<String>,
    /// The incoming webhook's https address; for every provider but `matrix`.
    pub(crate) webhook_url: Option<String>,
    /// The https address of the server that the posting user is registered with; for `matrix`.
    pub(crate) homeserver_url: Option<String>,
    /// Such as `!abc:example.org`; for `matrix`.
    pub(crate) room_id: Option<String>,
    /// The posting user's; for `matrix`.
    pub(crate) access_token: Option<String>,
    /// What the chat is told of: any of `planned`, `finished` and `abandoned`; the first two unless said otherwise.
    pub(crate) announce: Option<Vec<String>>,
}

fn provider_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("Which chat."))
        .enum_values(Some(ChatProvider::ALL.map(ChatProvider::name)))
        .build()
}

/// The state of a project's chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Chat {
    /// Null without a hook.
    provider: Option<String>,
    /// The project's `chat_channel`.
    channel: String,
    /// `active`, `paused` (what made it has ended; see `adopt`) or `off`.
    status: String,
    /// Why it is paused, or off when the chat refused us for good.
    reason: Option<String>,
    /// Who set it last; null without a hook and when the account is gone.
    created_by: Option<UserId>,
    /// The OAuth client that did, if it was one.
    client_id: Option<String>,
    /// What it is told of: `planned`, `finished`, `abandoned`.
    announce: Vec<String>,
    /// Null when this chat was never tested.
    last_test: Option<ChatTest>,
}

/// A test message to a project's chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatTest {
    /// `pending`, `delivered`, `failed` or `skipped`.
    outcome: String,
    /// Why it was not delivered.
    reason: Option<String>,
    /// When it was asked for, or settled.
    at: DateTime<Utc>,
}

/// The state of a project's chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatResponse {
    success: bool,
    chat: Chat,
}

impl ChatResponse {
    pub(super) fn new(
        channel: String,
        row: Option<ChatRow>,
        test: Option<LastTest>,
        maker: Maker,
    ) -> Self {
        let announce = row.as_ref().map(ChatRow::announced).unwrap_or_default();
        let (provider, status, reason) = match row {
            Some(row) => (row.provider, row.status, row.reason),
            None => (None, OFF.to_owned(), None),
        };
        Self {
            success: true,
            chat: Chat {
                provider,
                channel,
                status,
                reason,
                created_by: maker.created_by,
                client_id: maker.client_id,
                announce,
                last_test: test.map(|test| ChatTest {
                    outcome: test.outcome,
                    reason: test.reason,
                    at: test.at.and_utc(),
                }),
            },
        }
    }
}
