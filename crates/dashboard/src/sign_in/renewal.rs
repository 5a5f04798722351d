use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use secrecy::ExposeSecret as _;
use service_kit::Clock;
use service_kit::crypto::sha256;
use tokio::sync::OnceCell;

use super::cookie::BrowserSignIn;
use super::token_client::{ClientContext, TokenClient, TokenError};

/// How long the result of a renewal is kept.
const LIFE: Duration = Duration::from_secs(600);
/// The maximum number of renewals that are kept.
const CAPACITY: u64 = 10_000;
/// A cookie that is more renewals behind than this is not followed.
const STEPS: usize = 4;

/// The recent renewals in this process, by refresh token. A browser sends several requests with one cookie at the same time, and
/// may never see the response with the next cookie. Each refresh token is still used only once: the identity service ends a
/// session whose token is used twice. Replicas do not share this; between them, its grace period of thirty seconds has to
/// suffice.
pub(crate) struct TokenRenewals(Cache<[u8; 32], Arc<OnceCell<BrowserSignIn>>>);

impl Default for TokenRenewals {
    fn default() -> Self {
        let cache = Cache::builder();
        Self(cache.max_capacity(CAPACITY).time_to_live(LIFE).build())
    }
}

impl fmt::Debug for TokenRenewals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenRenewals").finish_non_exhaustive()
    }
}

impl TokenRenewals {
    /// Returns the sign-in with a valid access token, and whether it was renewed.
    ///
    /// # Errors
    /// [`TokenError`] when no valid token can be obtained.
    pub(crate) async fn renewed(
        &self,
        oauth: Option<&TokenClient>,
        clock: &Clock,
        mut sign_in: BrowserSignIn,
        origin: &ClientContext,
    ) -> Result<(BrowserSignIn, bool), TokenError> {
        let oauth = oauth.ok_or(TokenError::Ended)?;
        let mut is_new = false;
        for _ in 0..STEPS {
            if sign_in.is_fresh(clock.now()) {
                return Ok((sign_in, is_new));
            }
            sign_in = self.renew(oauth, clock, sign_in, origin).await?;
            is_new = true;
        }
        match sign_in.is_fresh(clock.now()) {
            true => Ok((sign_in, is_new)),
            false => Err(TokenError::Ended),
        }
    }

    async fn renew(
        &self,
        oauth: &TokenClient,
        clock: &Clock,
        sign_in: BrowserSignIn,
        origin: &ClientContext,
    ) -> Result<BrowserSignIn, TokenError> {
        let key = sha256(sign_in.refresh_token.expose_secret().as_bytes());
        let renewal = self.0.get_with(key, Arc::default);
        let renew = || async move {
            let tokens = oauth.refresh(&sign_in.refresh_token, origin).await?;
            Ok::<_, TokenError>(sign_in.with(tokens, clock.now()))
        };
        renewal.get_or_try_init(renew).await.cloned()
    }
}
