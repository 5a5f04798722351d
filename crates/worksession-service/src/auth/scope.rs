/// A scope as a type: an endpoint names what it asks of an OAuth token in its handler's arguments.
pub(crate) trait Scope: 'static {
    /// The scope's name in the token.
    const NAME: &'static str;
}

macro_rules! scopes {
    ($($(#[$meta:meta])* $scope:ident = $name:literal;)*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy)]
            pub(crate) struct $scope;

            impl Scope for $scope {
                const NAME: &'static str = $name;
            }
        )*
    };
}

scopes! {
    /// Reading sessions, projects and the user's own data.
    SessionsRead = "sessions:read";
    /// Starting and submitting sessions, personal projects, preferences.
    SessionsWrite = "sessions:write";
    /// Changing what belongs to a team.
    TeamsWrite = "teams:write";
    /// Chat hooks.
    IntegrationsWrite = "integrations:write";
}
