use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// What is down, a sentence each.
    pub(crate) issues: Vec<&'static str>,
    /// Whether events wait too long.
    pub(crate) behind: bool,
    /// Whether all who sign in through this service are one caller to the identity service.
    pub(crate) unbelieved: bool,
}

/// The health report of a moment ago.
pub(crate) struct Probe {
    started: Instant,
    pub(super) last: Mutex<Option<(Instant, Arc<Findings>)>>,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            last: Mutex::new(None),
        }
    }
}

impl Probe {
    /// How long the service has been up.
    pub(super) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}
