use serde::Deserialize;
use service_kit::config::ConfigError;

use crate::config::PREFIX;

/// `[worksession.live]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LiveConfig {
    /// Streams of live events (`GET /api/events`) that this process holds at once: 503 beyond them.
    pub streams: usize,
    /// Streams of one user that this process holds at once: 429 beyond them.
    pub streams_per_user: usize,
    /// Seconds between two signs of life on a stream, 1 to 60.
    pub heartbeat_seconds: u64,
    /// Seconds between two questions to the identity service about a stream's token and memberships, 1 to 5.
    pub recheck_seconds: u64,
    /// Seconds for which a client may take nothing in before its stream is given up, 1 to 60.
    pub unread_seconds: u64,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self {
            streams: 1_000,
            streams_per_user: 10,
            heartbeat_seconds: 15,
            recheck_seconds: 5,
            unread_seconds: 10,
        }
    }
}

impl LiveConfig {
    /// One line that names the key.
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        for (key, value, most) in [
            ("HEARTBEAT_SECONDS", self.heartbeat_seconds, 60),
            // The bound on how long a revoked token is told anything.
            ("RECHECK_SECONDS", self.recheck_seconds, 5),
            ("UNREAD_SECONDS", self.unread_seconds, 60),
        ] {
            if !(1..=most).contains(&value) {
                let rule = format!("{PREFIX}__LIVE__{key}: 1 to {most}");
                return Err(ConfigError::rule(rule));
            }
        }
        Ok(())
    }
}
