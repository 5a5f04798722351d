use super::{AuthFailure, CurrentUser};
use crate::error::Error;

/// The scope that an endpoint requires, as a type in the arguments of its handler.
pub(crate) trait RequiredScope: 'static {
    /// Whether the user's token has the scope.
    fn is_granted_to(user: &CurrentUser) -> bool;

    /// Returns the error for a request without an authenticated user.
    fn error_for(failure: AuthFailure) -> Error {
        match failure {
            AuthFailure::NoToken | AuthFailure::BadToken => Error::AuthenticationRequired,
            AuthFailure::Unavailable => Error::AuthenticationUnavailable,
        }
    }
}

/// Access to all data of the account, for a sign-in at the product itself or a first-party client with the scope `account`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccountAccess;

impl RequiredScope for AccountAccess {
    fn is_granted_to(user: &CurrentUser) -> bool {
        user.is_first_party && user.has_scope("account")
    }
}

macro_rules! scopes {
    ($($(#[$meta:meta])* $scope:ident = $name:literal;)*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy)]
            pub(crate) struct $scope;

            impl RequiredScope for $scope {
                fn is_granted_to(user: &CurrentUser) -> bool {
                    user.has_scope($name)
                }
            }
        )*
    };
}

scopes! {
    /// Read access to sessions, projects and the user's own data.
    SessionsRead = "sessions:read";
    /// Write access to sessions, personal projects and preferences.
    SessionsWrite = "sessions:write";
    /// Read access to teams, and with [`SessionsRead`] to what their members do.
    Teams = "teams";
    /// Write access to what belongs to a team.
    TeamsWrite = "teams:write";
    /// Write access to integrations.
    IntegrationsWrite = "integrations:write";
}

/// Requires both scopes.
impl<A: RequiredScope, B: RequiredScope> RequiredScope for (A, B) {
    fn is_granted_to(user: &CurrentUser) -> bool {
        A::is_granted_to(user) && B::is_granted_to(user)
    }
}

/// Read access to the sessions and notes of other team members.
pub(crate) type TeamActivity = (SessionsRead, Teams);

/// Write access to webhooks. A webhook reports sessions, so it requires read access to sessions, too.
pub(crate) type WebhooksWrite = (IntegrationsWrite, SessionsRead);

/// Write access to the chats of team projects. A chat reports what team members do, so it requires [`TeamActivity`], too.
pub(crate) type ChatsWrite = (IntegrationsWrite, TeamActivity);

/// Adoption of a paused integration, for a sign-in at the product itself or a first-party client with these scopes.
pub(crate) type AdoptIntegrations = (AccountAccess, IntegrationsWrite);

/// The scope of `GET /api/user/data`, whose contract has its own errors. Without a token it is 403 "Token required", and
/// with an invalid one 401 "Invalid or expired token".
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserDataAccess;

impl RequiredScope for UserDataAccess {
    fn is_granted_to(user: &CurrentUser) -> bool {
        SessionsRead::is_granted_to(user)
    }

    fn error_for(failure: AuthFailure) -> Error {
        match failure {
            AuthFailure::NoToken => Error::TokenRequired,
            AuthFailure::BadToken => Error::InvalidToken,
            AuthFailure::Unavailable => Error::AuthenticationUnavailable,
        }
    }
}
