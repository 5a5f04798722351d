use auth_types::UserId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The target of a hand-over.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what is read with its repetitions")]
pub(crate) struct AuthorizeQuery {
    /// An address whose origin is on the allow-list; exactly once. Its query is kept, its fragment is dropped.
    redirect_uri: String,
    /// The label of the session in the list of sessions, up to 64 characters; if absent, the host of `redirect_uri`.
    service: Option<String>,
}

/// The parameters with which a mini-app was called.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CallbackQuery {
    /// The access token.
    pub(super) token: Option<String>,
    /// The access token again. If both are present, they must be equal.
    pub(super) access_token: Option<String>,
    /// The id of the token's account.
    pub(super) user_id: Option<String>,
    /// The username of the token's account.
    pub(super) username: Option<String>,
    /// The mini-app's own address. The token must have been handed over to its origin.
    pub(super) redirect_uri: Option<String>,
    /// The mini-app's own origin, checked in the same way.
    pub(super) origin: Option<String>,
}

/// The confirmation that a hand-over is genuine.
#[derive(Serialize, ToSchema)]
pub(crate) struct CallbackResponse {
    pub(super) success: bool,
    /// The access token that was presented.
    pub(super) token: String,
    pub(super) user_id: UserId,
    pub(super) username: String,
}
