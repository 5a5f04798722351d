//! Authentication and authorization of callers. The identity service validates the token of each request, unless
//! `AUTH__REMEMBER_MS` allows a cached result. Authorization is an argument type of the handler: [`Caller`]`<RequiredScope>`.
//!
//! The token is checked before the body. A `Json` argument therefore never fails by itself, and its handler calls
//! `into_inner`. For the same reason a query is a `Result<Query<T>, Problem>`.

mod caller;
mod circuit_breaker;
mod current_user;
mod existence_check;
mod identity_client;
mod scope;
mod sign_in;
mod token_cache;

pub(crate) use caller::{Caller, recheck_caller};
pub(crate) use current_user::CurrentUser;
pub(crate) use identity_client::IdentityClient;
pub(crate) use scope::{
    AccountAccess, AdoptIntegrations, ChatsWrite, IntegrationsWrite, RequiredScope, SessionsRead,
    SessionsWrite, TeamActivity, Teams, TeamsWrite, UserDataAccess, WebhooksWrite,
};
pub(crate) use sign_in::{SignInOrigin, SignInResponse};

use auth_types::BearerError;

/// Why a request has no authenticated user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthFailure {
    /// The request has no token.
    NoToken,
    /// The token is malformed, expired, revoked or unknown.
    BadToken,
    /// The identity service gave no usable response.
    Unavailable,
}

impl From<BearerError> for AuthFailure {
    fn from(error: BearerError) -> Self {
        match error {
            BearerError::Missing => Self::NoToken,
            BearerError::Malformed => Self::BadToken,
        }
    }
}
