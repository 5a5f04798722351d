use auth_types::UserId;
use chrono::{DateTime, Utc};
use event_types::ChatProvider;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use super::model::ChatRow;
use crate::closed_sets::{DeliveryState, IntegrationStatus};

/// The chat of a team project, and its notifications. The address is write-only: no response contains it.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PutChatRequest {
    #[schema(schema_with = provider_schema, required)]
    pub(crate) provider: Option<String>,
    /// The https URL of the incoming webhook; for every provider except `matrix`.
    pub(crate) webhook_url: Option<String>,
    /// The https URL of the homeserver on which the posting user is registered; for `matrix`.
    pub(crate) homeserver_url: Option<String>,
    /// The id of the room, such as `!abc:example.org`; for `matrix`.
    pub(crate) room_id: Option<String>,
    /// The access token of the posting user; for `matrix`.
    pub(crate) access_token: Option<String>,
    /// The notifications that the chat receives: any of `planned`, `finished` and `abandoned`. Defaults to the first two.
    pub(crate) announce: Option<Vec<String>>,
}

fn provider_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("The chat product."))
        .enum_values(Some(ChatProvider::ALL.map(ChatProvider::name)))
        .build()
}

/// The state of a project's chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Chat {
    /// The provider; null without a chat.
    provider: Option<String>,
    /// The project's `chat_channel`.
    channel: String,
    /// `active`, `paused` (its creator lost access; see `adopt`) or `off`.
    #[schema(value_type = IntegrationStatus)]
    status: String,
    /// Why it is paused, or why it is off after the chat permanently rejected messages.
    reason: Option<String>,
    /// The user who configured it last; null without a chat, or when the account is deleted.
    created_by: Option<UserId>,
    /// The OAuth client that configured it last, if any.
    client_id: Option<String>,
    /// The notifications that it receives: `planned`, `finished`, `abandoned`.
    announce: Vec<String>,
    /// The last test; null if this chat was never tested.
    last_test: Option<ChatTest>,
}

/// A test message to a project's chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatTest {
    /// `pending`, `delivered`, `failed` or `skipped`.
    #[schema(value_type = DeliveryState)]
    outcome: String,
    /// Why it was not delivered.
    reason: Option<String>,
    /// When the test was requested, or its outcome became known.
    at: DateTime<Utc>,
}

/// The response with the state of a project's chat.
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
                created_by: row.creator.created_by,
                client_id: row.creator.client_id,
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
