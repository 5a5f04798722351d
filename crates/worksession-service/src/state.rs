use std::sync::Arc;

use auth_types::UserId;
use broker::{Broker, RelayHandle};
use db_kit::Pool;
use service_kit::Clock;
use service_kit::guard::GuardedClient;
use service_kit::rate_limit::KeyedLimiter;
use service_kit::seal::Sealer;

use crate::auth::IdentityClient;
use crate::config::Config;
use crate::health::Probe;

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
    /// As read at the start.
    pub(crate) config: Arc<Config>,
    /// Who is asking.
    pub(crate) identity: IdentityClient,
    /// Asked by the health report only: requests never wait for the broker.
    pub(crate) broker: Broker,
    /// Seals hook addresses for the notifier.
    pub(crate) sealer: Sealer,
    /// Checks addresses that users give.
    pub(crate) guard: GuardedClient,
    /// Starts per user; none when rate limits are off.
    pub(crate) start_limiter: Option<KeyedLimiter<UserId>>,
    /// The health report, shared by those who ask at once.
    pub(crate) probe: Probe,
}
