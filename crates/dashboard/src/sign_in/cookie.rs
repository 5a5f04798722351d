use std::borrow::Cow;

use actix_web::HttpResponse;
use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use service_kit::Problem;
use service_kit::seal::{SealError, Sealer};
use web_kit::Cookies;
use web_kit::cookies::set_cookie;

use super::token_client::Tokens;

/// The cookie of the sign-in; over https, a prefix precedes this name.
pub(crate) const NAME: &str = "holdfast_ws";
/// The cookie that identifies this browser, signed in or not.
pub(crate) const BROWSER: &str = "holdfast_ws_browser";
const SEAL_CONTEXT: &str = "dashboard sign-in";
/// The life of the cookies in seconds, as long as that of an unused refresh token.
pub(crate) const LIFE: i64 = 90 * 24 * 3_600;
/// An access token is not used in the last seconds of its life, because it could expire on its way.
const MARGIN: TimeDelta = TimeDelta::seconds(10);
/// The maximum length of the value. Browsers need not store cookies over 4,096 bytes (RFC 6265 section 6.1), name and attributes
/// included.
const MAX_COOKIE: usize = 3_900;

/// A user's sign-in in this browser.
#[derive(Clone)]
pub(crate) struct BrowserSignIn {
    pub(crate) username: String,
    pub(super) access_token: SecretString,
    pub(super) refresh_token: SecretString,
    /// When the access token expires.
    expires_at: DateTime<Utc>,
    /// When the user came back from the identity service.
    pub(crate) since: DateTime<Utc>,
}

/// The sign-in as it is sealed, with short names because cookies are small.
#[derive(Serialize, Deserialize)]
struct StoredSignIn<'a> {
    u: Cow<'a, str>,
    a: Cow<'a, str>,
    r: Cow<'a, str>,
    e: i64,
    s: i64,
}

impl BrowserSignIn {
    pub(super) fn new(tokens: Tokens, now: DateTime<Utc>) -> Self {
        Self {
            username: tokens.user.username,
            access_token: tokens.access_token.into(),
            refresh_token: tokens.refresh_token.into(),
            expires_at: end(now, tokens.expires_in),
            since: now,
        }
    }

    pub(super) fn with(self, tokens: Tokens, now: DateTime<Utc>) -> Self {
        Self {
            since: self.since,
            ..Self::new(tokens, now)
        }
    }

    pub(super) fn is_fresh(&self, now: DateTime<Utc>) -> bool {
        now + MARGIN < self.expires_at
    }

    pub(crate) fn token(&self) -> &str {
        self.access_token.expose_secret()
    }

    /// Returns the value of the cookie.
    ///
    /// # Errors
    /// [`SealError`] when the cipher fails, or the value is too long for a cookie.
    fn seal(&self, sealer: &Sealer) -> Result<String, SealError> {
        let stored = StoredSignIn {
            u: self.username.as_str().into(),
            a: self.access_token.expose_secret().into(),
            r: self.refresh_token.expose_secret().into(),
            e: self.expires_at.timestamp(),
            s: self.since.timestamp(),
        };
        let text = serde_json::to_vec(&stored).map_err(|_| SealError::Malformed)?;
        let sealed = sealer.seal(SEAL_CONTEXT, &text)?;
        match sealed.len() {
            0..=MAX_COOKIE => Ok(sealed),
            _ => Err(SealError::Malformed),
        }
    }

    pub(crate) fn add_cookie(
        &self,
        cookies: &Cookies,
        sealer: &Sealer,
        answer: &mut HttpResponse,
    ) -> Result<(), Problem> {
        let sealed = self.seal(sealer).map_err(Problem::internal)?;
        set_cookie(answer, &cookies.lasting(NAME, sealed, LIFE));
        Ok(())
    }

    /// Opens the value of a cookie; none if it was not sealed here.
    pub(crate) fn open(sealer: &Sealer, value: &str) -> Option<Self> {
        let text = sealer.open_text(SEAL_CONTEXT, value).ok()?;
        let stored: StoredSignIn<'_> = serde_json::from_str(text.expose_secret()).ok()?;
        Some(Self {
            username: stored.u.into_owned(),
            access_token: stored.a.into_owned().into(),
            refresh_token: stored.r.into_owned().into(),
            expires_at: DateTime::from_timestamp(stored.e, 0)?,
            since: DateTime::from_timestamp(stored.s, 0)?,
        })
    }
}

fn end(now: DateTime<Utc>, seconds: i64) -> DateTime<Utc> {
    let life = TimeDelta::try_seconds(seconds).unwrap_or_default();
    now.checked_add_signed(life).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use service_kit::seal::{Purpose, SealingKeys};

    use super::*;
    use crate::sign_in::token_client::User;

    fn signed_in(token: &str) -> BrowserSignIn {
        let tokens = Tokens {
            access_token: token.to_owned(),
            refresh_token: "refresh".to_owned(),
            expires_in: 60,
            user: User {
                username: "ada".to_owned(),
            },
        };
        BrowserSignIn::new(tokens, DateTime::UNIX_EPOCH)
    }

    fn with_key(key: u8) -> Sealer {
        let keys = SealingKeys::new(&[key; 32], []);
        keys.sealer(Purpose::DashboardSignIns).expect("a key")
    }

    #[test]
    fn a_sign_in_opens_with_the_key_that_sealed_it_and_no_other() {
        let sealer = with_key(7);
        let sealed = signed_in("access").seal(&sealer).expect("sealed");
        assert!(!sealed.contains("access") && sealed.is_ascii());
        let opened = BrowserSignIn::open(&sealer, &sealed).expect("opens");
        assert_eq!(
            (opened.token(), opened.username.as_str()),
            ("access", "ada")
        );
        let other = with_key(8);
        assert!(BrowserSignIn::open(&other, &sealed).is_none());
        let elsewhere = sealer.seal("integration:1", b"{}").expect("sealed");
        assert!(BrowserSignIn::open(&sealer, &elsewhere).is_none());
    }

    #[test]
    fn an_access_token_is_not_used_to_its_last_second() {
        let sign_in = signed_in("access");
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        assert!(sign_in.is_fresh(at(49)) && !sign_in.is_fresh(at(50)));
    }

    #[test]
    fn what_no_browser_keeps_is_not_sent() {
        let sealer = with_key(7);
        assert!(signed_in(&"x".repeat(4_000)).seal(&sealer).is_err());
    }
}
