use auth_types::UserId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Where a sign-in is handed over to.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what is read with its repetitions")]
pub(crate) struct AuthorizeQuery {
    /// An address of an origin on the allow-list; once. Its own query is kept, its fragment is not.
    redirect_uri: String,
    /// How the session is labelled in the list of sessions: up to 64 characters; the host of `redirect_uri` without it.
    service: Option<String>,
}

/// What a mini-app was called with.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CallbackQuery {
    /// The access token.
    pub(super) token: Option<String>,
    /// The same once more; where both are given they must not differ.
    pub(super) access_token: Option<String>,
    /// Whose token it is.
    pub(super) user_id: Option<String>,
    /// Whose token it is.
    pub(super) username: Option<String>,
    /// The mini-app's own address: the token must have been handed over to its origin.
    pub(super) redirect_uri: Option<String>,
    /// The same, as an origin.
    pub(super) origin: Option<String>,
}

/// Says that the hand-over is genuine.
#[derive(Serialize, ToSchema)]
pub(crate) struct CallbackResponse {
    pub(super) success: bool,
    /// The access token that was shown.
    pub(super) token: String,
    pub(super) user_id: UserId,
    pub(super) username: String,
}
