use serde::Deserialize;
use service_kit::config::{ConfigError, refuse_zeros};

use crate::config::PREFIX;

/// `[worksession.live]`: event streams.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventStreamConfig {
    /// The maximum number of event streams (`GET /api/events`) that this process keeps open, at least 1. Further ones
    /// receive 503.
    pub streams: usize,
    /// The maximum number of event streams per user that this process keeps open, at least 1. Further ones receive 429.
    pub streams_per_user: usize,
    /// Seconds between two heartbeats on a stream, 1 to 60.
    pub heartbeat_seconds: u64,
    /// Seconds between two validations of a stream's token and memberships, 1 to 5.
    pub recheck_seconds: u64,
    /// Seconds after which the stream of a client that reads nothing is closed, 1 to 60.
    pub unread_seconds: u64,
}

impl Default for EventStreamConfig {
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

impl EventStreamConfig {
    /// Checks the ranges. The error is one line that names the key.
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        let zeros = [
            ("LIVE__STREAMS", self.streams == 0),
            ("LIVE__STREAMS_PER_USER", self.streams_per_user == 0),
        ];
        refuse_zeros(PREFIX, &zeros)?;
        for (key, value, max) in [
            ("HEARTBEAT_SECONDS", self.heartbeat_seconds, 60),
            // This limits how long a revoked token still receives events.
            ("RECHECK_SECONDS", self.recheck_seconds, 5),
            ("UNREAD_SECONDS", self.unread_seconds, 60),
        ] {
            if !(1..=max).contains(&value) {
                let rule = format!("{PREFIX}__LIVE__{key}: must be 1 to {max}");
                return Err(ConfigError::rule(rule));
            }
        }
        Ok(())
    }
}
