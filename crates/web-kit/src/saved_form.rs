//! A form that arrived after its sender's sign-in had ended. A sealed cookie stores it until they have signed in again; then it
//! is shown, and they can send it once more. Nothing is sent by itself.

use messages::t;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use service_kit::seal::Sealer;
use url::form_urlencoded;

use crate::ReturnTo;
use crate::form::{CSRF_FIELD, CsrfToken};

/// Seconds for which a form is saved.
pub const LIFE_SECONDS: i64 = 15 * 60;
/// The maximum length of the value. Browsers need not store cookies over 4,096 bytes (RFC 6265 section 6.1), name and attributes
/// included.
const MAX_COOKIE: usize = 3_900;
/// The field with a decision about something that was shown. It is not saved, so that its sender sees this again first.
const DECISION: &str = "decision";
/// Fields whose values are not saved but entered again: passwords, codes, keys and addresses of chats.
const SECRET_FIELDS: [&str; 7] = [
    "access_token",
    "code",
    "new_password",
    "password",
    "repeated",
    "totp_code",
    "webhook_url",
];

/// A form of one of our pages. Its token proves that it was shown to this account in this browser.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedForm {
    token: CsrfToken,
    action: String,
    fields: Vec<(String, String)>,
    /// When it arrived, in seconds since the epoch.
    at: i64,
}

/// A field of a saved form as the page shows it.
#[derive(Debug)]
pub struct SavedField {
    /// The name under which it is sent.
    pub name: String,
    /// The label that people read.
    pub label: String,
    /// The value; empty if it must be entered again.
    pub value: String,
    /// Whether it must be entered again, as a password.
    pub is_secret: bool,
    /// Whether somebody wrote it, who can read and change it on the page. All other fields are sent along unseen.
    pub is_written: bool,
}

impl SavedForm {
    /// Creates the form that was sent to `action` with this token.
    #[must_use]
    pub fn new(token: CsrfToken, action: &str, body: &[u8], now: i64) -> Self {
        let fields = form_urlencoded::parse(body)
            .filter(|(name, _)| name != CSRF_FIELD && name != DECISION)
            .map(|(name, value)| match is_secret(&name) {
                true => (name.into_owned(), String::new()),
                false => (name.into_owned(), value.into_owned()),
            });
        Self {
            action: action.to_owned(),
            fields: fields.collect(),
            token,
            at: now,
        }
    }

    /// Returns the page that contained the form.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.token.page
    }

    /// Returns the path to which the form is sent.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.action
    }

    /// Whether one of these fields contains text that somebody wrote.
    #[must_use]
    pub fn is_written(&self, written: &[&str]) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|(name, value)| written.contains(&name.as_str()) && !value.trim().is_empty())
    }

    /// Returns the fields as the page shows them; people write those in `written`.
    #[must_use]
    pub fn fields(&self, written: &[&str]) -> Vec<SavedField> {
        let fields = self.fields.iter().map(|(name, value)| SavedField {
            label: t("common-field").with("name", name).into(),
            is_secret: is_secret(name),
            is_written: written.contains(&name.as_str()),
            name: name.clone(),
            value: value.clone(),
        });
        fields.collect()
    }

    /// Returns the value of the cookie, which opens in this browser only; none if the form is too long for a cookie.
    #[must_use]
    pub fn seal(&self, sealer: &Sealer, browser: &str) -> Option<String> {
        let text = serde_json::to_vec(self).ok()?;
        let sealed = sealer.seal(&context(browser), &text).ok()?;
        (sealed.len() <= MAX_COOKIE).then_some(sealed)
    }

    /// Opens the form in a cookie of this browser, if it belongs to the account and is not expired.
    #[must_use]
    pub fn open(
        sealer: &Sealer,
        browser: &str,
        cookie: &str,
        account: &str,
        now: i64,
    ) -> Option<Self> {
        let text = sealer.open_text(&context(browser), cookie).ok()?;
        let saved: Self = serde_json::from_str(text.expose_secret()).ok()?;
        let is_path = ReturnTo::parse(Some(&saved.action), "").as_str() == saved.action;
        let is_good = saved.token.account == account && now < saved.at + LIFE_SECONDS && is_path;
        is_good.then_some(saved)
    }
}

fn context(browser: &str) -> String {
    format!("kept form/{browser}")
}

fn is_secret(name: &str) -> bool {
    SECRET_FIELDS.contains(&name)
}
