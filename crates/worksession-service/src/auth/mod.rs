//! Who is asking. The identity service is asked for every request, unless `AUTH__REMEMBER_MS` lets its answer serve a while; authorization is an argument type
//! of the handler: [`Caller`]`<Scope>`.
//!
//! The token is judged before the body: `Json` never refuses by itself and is asked for its value
//! (`into_inner`) after that; a query is taken as `Result<Query<T>, Problem>` for the same reason.

mod breaker;
mod current_user;
mod existence;
mod extract;
mod identity;
mod memory;
mod scope;
mod sign_in;

pub(crate) use current_user::CurrentUser;
pub(crate) use extract::{Caller, check_again};
pub(crate) use identity::IdentityClient;
pub(crate) use scope::{
    Account, AdoptHooks, ChatsWrite, IntegrationsWrite, Scope, SessionsRead, SessionsWrite,
    TeamActivity, Teams, TeamsWrite, UserData, WebhooksWrite,
};
pub(crate) use sign_in::{SignInAnswer, SignInOrigin};

use auth_types::BearerError;

/// Why there is no user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request carries none.
    NoToken,
    /// The request carries one that is malformed, expired, revoked or never was one.
    BadToken,
    /// The identity service gave no answer.
    Unavailable,
}

impl From<BearerError> for Refusal {
    fn from(error: BearerError) -> Self {
        match error {
            BearerError::Missing => Self::NoToken,
            BearerError::Malformed => Self::BadToken,
        }
    }
}
