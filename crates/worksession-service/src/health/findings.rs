use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HealthFindings {
    /// What is down, one sentence each.
    pub(crate) issues: Vec<&'static str>,
    /// Whether events have waited too long in the outbox.
    pub(crate) is_behind: bool,
    /// Whether the identity service counts all sign-ins through this service as one caller.
    pub(crate) is_address_untrusted: bool,
}

/// The latest health report, and the start of the service.
pub(crate) struct HealthCache {
    started: Instant,
    pub(super) last: Mutex<Option<(Instant, Arc<HealthFindings>)>>,
}

impl Default for HealthCache {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            last: Mutex::new(None),
        }
    }
}

impl HealthCache {
    /// Returns how long the service has been running.
    pub(super) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}
