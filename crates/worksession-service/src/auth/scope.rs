use super::{CurrentUser, Refusal};
use crate::error::Error;

/// What an endpoint asks of a token, as a type that it names in its handler's arguments.
pub(crate) trait Scope: 'static {
    /// Whether the user's token has it.
    fn is_held_by(user: &CurrentUser) -> bool;

    /// What a caller is told of whom nothing is known.
    fn refused(refusal: Refusal) -> Error {
        match refusal {
            Refusal::NoToken | Refusal::BadToken => Error::AuthenticationRequired,
            Refusal::Unavailable => Error::AuthenticationUnavailable,
        }
    }
}

/// All of one's data: for a sign-in at the product itself, and for its own clients with the scope `account`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account;

impl Scope for Account {
    fn is_held_by(user: &CurrentUser) -> bool {
        user.is_first_party && user.has_scope("account")
    }
}

macro_rules! scopes {
    ($($(#[$meta:meta])* $scope:ident = $name:literal;)*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy)]
            pub(crate) struct $scope;

            impl Scope for $scope {
                fn is_held_by(user: &CurrentUser) -> bool {
                    user.has_scope($name)
                }
            }
        )*
    };
}

scopes! {
    /// Reading sessions, projects and the user's own data.
    SessionsRead = "sessions:read";
    /// Starting and submitting sessions, personal projects, preferences.
    SessionsWrite = "sessions:write";
    /// Teams; beside [`SessionsRead`] what others do in them.
    Teams = "teams";
    /// Changing what belongs to a team.
    TeamsWrite = "teams:write";
    /// Chat hooks.
    IntegrationsWrite = "integrations:write";
}

/// Two scopes at once.
impl<A: Scope, B: Scope> Scope for (A, B) {
    fn is_held_by(user: &CurrentUser) -> bool {
        A::is_held_by(user) && B::is_held_by(user)
    }
}

/// What others of a team do: their sessions and notes.
pub(crate) type TeamActivity = (SessionsRead, Teams);

/// Webhooks. They tell of sessions, so the caller who sets one must be allowed to read sessions too.
pub(crate) type WebhooksWrite = (IntegrationsWrite, SessionsRead);

/// Chats of team projects. They tell what others of the team do.
pub(crate) type ChatsWrite = (IntegrationsWrite, TeamActivity);

/// Adopting a hook that is paused: for a sign-in at the product itself, and for its own clients that may change hooks.
pub(crate) type AdoptHooks = (Account, IntegrationsWrite);

/// `GET /api/user/data`, which the contract gives a pair of errors of its own: no token is 403 "Token required", a bad
/// one 401 "Invalid or expired token".
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserData;

impl Scope for UserData {
    fn is_held_by(user: &CurrentUser) -> bool {
        SessionsRead::is_held_by(user)
    }

    fn refused(refusal: Refusal) -> Error {
        match refusal {
            Refusal::NoToken => Error::TokenRequired,
            Refusal::BadToken => Error::InvalidToken,
            Refusal::Unavailable => Error::AuthenticationUnavailable,
        }
    }
}
