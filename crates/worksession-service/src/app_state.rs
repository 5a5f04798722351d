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
use crate::event_stream::StreamHub;
use crate::health::HealthCache;
use crate::leaderboard::LeaderboardCache;
use crate::sealers::Sealers;
use crate::sessions::start::StartBatcher;
use crate::sessions::submit::SubmitBatcher;
use crate::user_data;

/// The application state as the argument of a handler.
pub(crate) type State = actix_web::web::Data<AppState>;

/// The application state that all handlers share, as `web::Data<AppState>`.
pub(crate) struct AppState {
    /// The work-session database.
    pub(crate) pool: Pool,
    /// The only source of the current time.
    pub(crate) clock: Clock,
    /// Publishes the outbox. Woken after a commit that inserted outbox rows.
    pub(crate) relay: RelayHandle,
    /// The public URL of this service, without a trailing slash.
    pub(crate) base_url: Arc<str>,
    /// The configuration, read once at the start.
    pub(crate) config: Arc<Config>,
    /// Validates tokens.
    pub(crate) identity: IdentityClient,
    /// Used by the health report only: requests never wait for the broker.
    pub(crate) broker: Broker,
    /// Encrypt secrets, each kind with its own key.
    pub(crate) sealers: Sealers,
    /// Checks addresses that users enter.
    pub(crate) guard: GuardedClient,
    /// Limits the starts of each user; none if rate limits are disabled.
    pub(crate) start_limiter: Option<KeyedLimiter<UserId>>,
    /// Coalesces concurrent reads of user data.
    pub(crate) user_data: user_data::UserDataBatcher,
    /// Coalesces concurrent starts.
    pub(crate) starts: StartBatcher,
    /// Coalesces concurrent submits.
    pub(crate) submits: SubmitBatcher,
    /// Leaderboards, cached for a few seconds.
    pub(crate) boards: LeaderboardCache,
    /// Limits the tests and replays that each user requests; none if rate limits are disabled.
    pub(crate) call_limiter: Option<KeyedLimiter<UserId>>,
    /// The open event streams.
    pub(crate) streams: Arc<StreamHub>,
    /// The health checks, shared by concurrent requests.
    pub(crate) health: HealthCache,
}

impl AppState {
    /// Runs queries without a transaction.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut Db) -> QueryResult<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.pool.read(move |db| Ok(query(db)?)).await
    }

    /// Returns the URL of a page, for a mail.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// Counts a start against the user's limit.
    pub(crate) fn limit_starts(&self, user: UserId) -> Result<(), Error> {
        limit(self.start_limiter.as_ref(), user)
    }

    /// Counts a test or replay against the user's limit, because it calls an address of the user's choice.
    pub(crate) fn limit_requested_calls(&self, user: UserId) -> Result<(), Error> {
        limit(self.call_limiter.as_ref(), user)
    }

    /// Wakes the relay and the event streams, after a commit that changed sessions.
    pub(crate) fn wake(&self) {
        self.relay.wake();
        self.streams.wake();
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
