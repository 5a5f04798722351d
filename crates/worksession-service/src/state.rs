use std::sync::Arc;

use auth_types::UserId;
use broker::{Broker, RelayHandle};
use db_kit::{Db, Pool};
use diesel::QueryResult;
use service_kit::Clock;
use service_kit::guard::GuardedClient;
use service_kit::rate_limit::KeyedLimiter;

use crate::auth::IdentityClient;
use crate::config::Config;
use crate::error::Error;
use crate::health::Probe;
use crate::leaderboard::Boards;
use crate::live::Hub;
use crate::sealers::Sealers;
use crate::sessions::start::Starts;
use crate::sessions::submit::Submits;
use crate::user_data;

/// How a handler takes the state.
pub(crate) type State = actix_web::web::Data<AppState>;

/// What every handler of the service may reach, as `web::Data<AppState>`.
pub(crate) struct AppState {
    /// The work-session database.
    pub(crate) pool: Pool,
    /// The only clock that is trusted.
    pub(crate) clock: Clock,
    /// Woken after a commit that wrote outbox rows.
    pub(crate) relay: RelayHandle,
    /// Where people reach this service, without a slash at the end.
    pub(crate) base_url: Arc<str>,
    /// As read at the start.
    pub(crate) config: Arc<Config>,
    /// Who is asking.
    pub(crate) identity: IdentityClient,
    /// Asked by the health report only: requests never wait for the broker.
    pub(crate) broker: Broker,
    /// Seal what is secret.
    pub(crate) sealers: Sealers,
    /// Checks addresses that users give.
    pub(crate) guard: GuardedClient,
    /// Starts per user; none when rate limits are off.
    pub(crate) start_limiter: Option<KeyedLimiter<UserId>>,
    /// What clients open with, read for all who ask at the same time.
    pub(crate) user_data: user_data::Reads,
    /// Timers that start, for all who start one at the same time.
    pub(crate) starts: Starts,
    /// Submits, the same.
    pub(crate) submits: Submits,
    /// Leaderboards of a moment ago.
    pub(crate) boards: Boards,
    /// Calls of hooks that a user asks for by hand; none when rate limits are off.
    pub(crate) hand_limiter: Option<KeyedLimiter<UserId>>,
    /// Open streams of live events.
    pub(crate) live: Arc<Hub>,
    /// The health report, shared by those who ask at once.
    pub(crate) probe: Probe,
}

impl AppState {
    /// Runs queries without a transaction around them.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut Db) -> QueryResult<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.pool.read(move |db| Ok(query(db)?)).await
    }

    /// The address of a page, for a mail.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// Counts a start against those of the hour.
    pub(crate) fn limit_starts(&self, user: UserId) -> Result<(), Error> {
        limit(self.start_limiter.as_ref(), user)
    }

    /// Tests and replays go to an address of the asker's choice: not without end.
    pub(crate) fn limit_calls_by_hand(&self, user: UserId) -> Result<(), Error> {
        limit(self.hand_limiter.as_ref(), user)
    }

    /// After a commit that changed sessions and told of it: what waits for such looks at once.
    pub(crate) fn wake(&self) {
        self.relay.wake();
        self.live.wake();
    }
}

fn limit(limiter: Option<&KeyedLimiter<UserId>>, user: UserId) -> Result<(), Error> {
    let Some(limiter) = limiter else {
        return Ok(());
    };
    limiter.check(&user).map_err(|wait| Error::RateLimited {
        retry_after: wait.0,
    })
}
