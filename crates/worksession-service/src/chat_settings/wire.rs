use auth_types::UserId;
use chrono::{DateTime, Utc};
use event_types::ChatProvider;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use super::model::ChatRow;

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
    pub(super) fn new(channel: String, row: ChatRow) -> Self {
        Self {
            success: true,
            chat: Chat {
                announce: row.announced(),
                provider: row.provider,
                channel,
                status: row.status,
                reason: row.reason,
                created_by: row.maker.created_by,
                client_id: row.maker.client_id,
                last_test: row
                    .test_outcome
                    .zip(row.test_at)
                    .map(|(outcome, at)| ChatTest {
                        outcome,
                        reason: row.test_reason,
                        at: at.and_utc(),
                    }),
            },
        }
    }
}
