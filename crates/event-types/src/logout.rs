use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// `identity.logout_requested.v1`: an OAuth client is to be told that one of its sessions has ended (OpenID Connect
/// Back-Channel Logout). Private; the tokens are sealed, because each ends a session at the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutRequested {
    /// The client; for logs and commands.
    pub client_id: String,
    /// A sealed [`LogoutCall`].
    pub sealed: String,
}

impl LogoutRequested {
    /// Returns the sealing context, which binds a sealed call to its client.
    #[must_use]
    pub fn seal_context(client_id: &str) -> String {
        format!("logout/{client_id}")
    }
}

/// The JSON inside `sealed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutCall {
    /// The client's `backchannel_logout_uri`.
    pub uri: String,
    /// One token for each attempt, in order of time. The identity service signs all of them, because nobody else has
    /// its keys, and a token that waits for hours would be too old for the client.
    pub tokens: Vec<LogoutToken>,
}

/// A signed logout token, for one attempt.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutToken {
    /// The token's `iat`: it is sent no earlier.
    pub valid_from: DateTime<Utc>,
    /// The token.
    pub jwt: String,
}

impl LogoutToken {
    /// How long a token is valid (Back-Channel Logout section 2.4 recommends at most two minutes).
    pub const LIFE: TimeDelta = TimeDelta::minutes(2);

    /// Whether the token may be sent at `now`.
    #[must_use]
    pub fn is_valid(&self, now: DateTime<Utc>) -> bool {
        (self.valid_from..self.valid_from + Self::LIFE).contains(&now)
    }
}

/// Prints no token.
impl fmt::Debug for LogoutToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogoutToken")
            .field("valid_from", &self.valid_from)
            .finish_non_exhaustive()
    }
}
