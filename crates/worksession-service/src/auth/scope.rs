use super::CurrentUser;

/// What an endpoint asks of a token, as a type that it names in its handler's arguments.
pub(crate) trait Scope: 'static {
    /// Whether the user's token has it.
    fn is_held_by(user: &CurrentUser) -> bool;
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

/// What others of a team do: their sessions and notes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TeamActivity;

impl Scope for TeamActivity {
    fn is_held_by(user: &CurrentUser) -> bool {
        SessionsRead::is_held_by(user) && Teams::is_held_by(user)
    }
}

/// Webhooks. They tell of sessions, so that whoever sets one must be allowed to read sessions too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WebhooksWrite;

impl Scope for WebhooksWrite {
    fn is_held_by(user: &CurrentUser) -> bool {
        IntegrationsWrite::is_held_by(user) && SessionsRead::is_held_by(user)
    }
}

/// Chats of team projects. They tell what others of the team do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChatsWrite;

impl Scope for ChatsWrite {
    fn is_held_by(user: &CurrentUser) -> bool {
        IntegrationsWrite::is_held_by(user) && TeamActivity::is_held_by(user)
    }
}

/// Adopting a hook that is paused: for a sign-in at the product itself, and for its own clients that may change hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdoptHooks;

impl Scope for AdoptHooks {
    fn is_held_by(user: &CurrentUser) -> bool {
        Account::is_held_by(user) && IntegrationsWrite::is_held_by(user)
    }
}
