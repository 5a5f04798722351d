use std::sync::Arc;
use std::time::Duration;

use auth_types::TeamId;
use service_kit::http::RequestId;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::auth::{CurrentUser, Refusal, Scope, SessionsRead, Teams};
use crate::state::State;

/// Times that the identity service may fail to vouch for the token before the stream ends: half a minute.
const UNANSWERED: u32 = 6;

/// What the user of a stream may see, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// Where the user is a member, as far as the token's scopes show teams.
    pub(super) teams: Vec<TeamId>,
    /// Whether the last question about token and memberships was answered.
    pub(super) sure: bool,
}

impl Standing {
    /// As the identity service has just vouched for the user.
    pub(super) fn of(user: &CurrentUser) -> Self {
        let teams = user.teams.iter().filter(|_| Teams::is_held_by(user));
        Self {
            teams: teams.map(|team| team.id).collect(),
            sure: true,
        }
    }
}

/// Asks the identity service about a stream's token and memberships again and again. By itself: neither a database that
/// is slow nor a client that does not read puts a question off.
pub(super) struct Recheck {
    pub(super) state: State,
    pub(super) token: String,
    pub(super) request_id: RequestId,
    /// As the identity service last vouched for it.
    pub(super) user: Arc<CurrentUser>,
}

impl Recheck {
    /// Tells `standing` what the answers change, and ends with the reason for which the stream is to end.
    pub(super) async fn run(mut self, standing: watch::Sender<Standing>) -> &'static str {
        let every = Duration::from_secs(self.state.live.config().recheck_seconds);
        let mut vouched = Instant::now();
        let mut questions = interval_at(vouched + every, every);
        questions.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            questions.tick().await;
            let asked = self.state.identity.validate(&self.token, &self.request_id);
            match asked.await {
                Ok(user) if SessionsRead::is_held_by(&user) => {
                    vouched = Instant::now();
                    change(&standing, Standing::of(&user));
                    self.user = user;
                }
                // The user's own events go on for a while; others' do not: they may be none of the user's business
                // any more.
                Err(Refusal::Unavailable) if vouched.elapsed() < every * UNANSWERED => {
                    let teams = standing.borrow().teams.clone();
                    change(&standing, Standing { teams, sure: false });
                }
                Err(Refusal::Unavailable) => return "unverified",
                Ok(_) | Err(Refusal::NoToken | Refusal::BadToken) => {
                    let expired = self.state.clock.now() >= self.user.token_expires_at;
                    return if expired { "expired" } else { "revoked" };
                }
            }
        }
    }
}

fn change(standing: &watch::Sender<Standing>, to: Standing) {
    standing.send_if_modified(|now| {
        let differs = *now != to;
        *now = to;
        differs
    });
}
