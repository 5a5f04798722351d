//! The state of a sign-in while the user is at the identity service. It travels sealed in `state`, so that several tabs can sign
//! in at the same time. It is valid only in the browser in which the sign-in began.

use std::borrow::Cow;

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use service_kit::crypto::random_token;
use service_kit::seal::{SealError, Sealer};
use web_kit::ReturnTo;

use crate::paths::HOME;

const SEAL_CONTEXT: &str = "dashboard journey";
/// A sign-in that takes longer has to begin again.
const LIFE: TimeDelta = TimeDelta::minutes(30);
/// The maximum length of the return path; a longer one makes the address too long.
const MAX_RETURN: usize = 512;

/// A sign-in through the identity service that is in progress.
pub(super) struct AuthorizationState {
    browser: String,
    /// The code verifier of PKCE (RFC 7636).
    pub(super) verifier: SecretString,
    pub(super) return_to: ReturnTo,
    began: DateTime<Utc>,
}

#[derive(Serialize, Deserialize)]
struct StoredState<'a> {
    b: Cow<'a, str>,
    v: Cow<'a, str>,
    r: Cow<'a, str>,
    t: i64,
}

impl AuthorizationState {
    pub(super) fn begin(browser: String, return_to: ReturnTo, now: DateTime<Utc>) -> Self {
        let is_short = return_to.as_str().len() <= MAX_RETURN;
        Self {
            browser,
            verifier: random_token(),
            return_to: match is_short {
                true => return_to,
                false => ReturnTo::parse(None, HOME),
            },
            began: now,
        }
    }

    pub(super) fn seal(&self, sealer: &Sealer) -> Result<String, SealError> {
        let stored = StoredState {
            b: self.browser.as_str().into(),
            v: self.verifier.expose_secret().into(),
            r: self.return_to.as_str().into(),
            t: self.began.timestamp(),
        };
        let text = serde_json::to_vec(&stored).map_err(|_| SealError::Malformed)?;
        sealer.seal(SEAL_CONTEXT, &text)
    }

    /// Opens a `state` that came back to this browser; none if the sign-in began in another one, or too long ago.
    pub(super) fn open(
        sealer: &Sealer,
        state: &str,
        browser: Option<&str>,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let text = sealer.open_text(SEAL_CONTEXT, state).ok()?;
        let stored: StoredState<'_> = serde_json::from_str(text.expose_secret()).ok()?;
        let began = DateTime::from_timestamp(stored.t, 0)?;
        let is_ours = browser == Some(&*stored.b) && now - began < LIFE;
        is_ours.then(|| Self {
            browser: stored.b.into_owned(),
            verifier: stored.v.into_owned().into(),
            return_to: ReturnTo::parse(Some(&stored.r), HOME),
            began,
        })
    }
}

#[cfg(test)]
mod tests {
    use service_kit::seal::{Purpose, SealingKeys};

    use super::*;

    fn with_key(key: u8) -> Sealer {
        let keys = SealingKeys::new(&[key; 32], []);
        keys.sealer(Purpose::DashboardSignIns).expect("a key")
    }

    #[test]
    fn a_state_opens_in_its_own_browser_and_for_a_while() {
        let sealer = with_key(7);
        let now = DateTime::UNIX_EPOCH;
        let to = ReturnTo::parse(Some("/team?x=1"), HOME);
        let authorization = AuthorizationState::begin("mine".to_owned(), to, now);
        let state = authorization.seal(&sealer).expect("sealed");
        assert!(!state.contains(authorization.verifier.expose_secret()));
        let open = |browser, now| AuthorizationState::open(&sealer, &state, browser, now);
        let back = open(Some("mine"), now).expect("opens");
        assert_eq!(back.return_to.as_str(), "/team?x=1");
        assert_eq!(
            back.verifier.expose_secret(),
            authorization.verifier.expose_secret()
        );
        assert!(open(Some("other"), now).is_none() && open(None, now).is_none());
        assert!(open(Some("mine"), now + LIFE).is_none());
    }

    #[test]
    fn a_long_return_path_becomes_the_home_page() {
        let to = format!("/{}", "x".repeat(MAX_RETURN));
        let to = ReturnTo::parse(Some(&to), HOME);
        let authorization = AuthorizationState::begin(String::new(), to, DateTime::UNIX_EPOCH);
        assert_eq!(authorization.return_to.as_str(), HOME);
    }
}
