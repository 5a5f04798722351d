use std::sync::Arc;
use std::time::Duration;

use auth_types::TeamId;
use service_kit::http::RequestId;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::app_state::State;
use crate::auth::{AuthFailure, CurrentUser, RequiredScope, SessionsRead, Teams};

/// Intervals for which validation may be unavailable before the stream ends: half a minute by default.
const MAX_UNANSWERED: u32 = 6;

/// What the user of a stream may see, as of the last validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamAccess {
    /// The teams of which the user is a member; empty if the token's scopes do not include teams.
    pub(super) teams: Vec<TeamId>,
    /// Whether the last validation of token and memberships was answered.
    pub(super) is_verified: bool,
}

impl StreamAccess {
    /// Returns what the user of a successful validation may see.
    pub(super) fn for_user(user: &CurrentUser) -> Self {
        let teams = user.teams.iter().filter(|_| Teams::is_granted_to(user));
        Self {
            teams: teams.map(|team| team.id).collect(),
            is_verified: true,
        }
    }
}

/// Revalidates the token and memberships of a stream at an interval. It runs beside the stream, so that neither a slow
/// database nor a client that does not read delays it.
pub(super) struct AccessCheck {
    pub(super) state: State,
    pub(super) token: String,
    pub(super) request_id: RequestId,
    /// The user as last validated.
    pub(super) user: Arc<CurrentUser>,
}

impl AccessCheck {
    /// Sends each change to `access`. Returns the reason for which the stream must end.
    pub(super) async fn run(mut self, access: watch::Sender<StreamAccess>) -> &'static str {
        let every = Duration::from_secs(self.state.streams.config().recheck_seconds);
        let mut verified_at = Instant::now();
        let mut ticks = interval_at(verified_at + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let validation = self.state.identity.validate(&self.token, &self.request_id);
            match validation.await {
                Ok(user) if SessionsRead::is_granted_to(&user) => {
                    verified_at = Instant::now();
                    set_access(&access, StreamAccess::for_user(&user));
                    self.user = user;
                }
                // The user's own events continue for a while. Team events do not, because the user may have left the team.
                Err(AuthFailure::Unavailable) if verified_at.elapsed() < every * MAX_UNANSWERED => {
                    access.send_if_modified(|access| std::mem::take(&mut access.is_verified));
                }
                Err(AuthFailure::Unavailable) => return "unverified",
                Ok(_) | Err(AuthFailure::NoToken | AuthFailure::BadToken) => {
                    let is_expired = self.state.clock.now() >= self.user.token_expires_at;
                    return if is_expired { "expired" } else { "revoked" };
                }
            }
        }
    }
}

fn set_access(access: &watch::Sender<StreamAccess>, to: StreamAccess) {
    access.send_if_modified(|current| {
        let has_changed = *current != to;
        *current = to;
        has_changed
    });
}
