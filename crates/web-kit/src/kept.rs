//! A form that arrived after its sender's sign-in had ended: it waits in a sealed cookie until they have signed in again,
//! and is then shown to be sent once more. Nothing is done by itself.

use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use service_kit::seal::Sealer;
use url::form_urlencoded;

use crate::ReturnTo;
use crate::form::{CSRF_FIELD, FormToken};

/// For how many seconds a form waits.
pub const KEPT_SECONDS: i64 = 15 * 60;
/// Browsers keep no larger cookie (RFC 6265 section 6.1), name and attributes included.
const MAX_COOKIE: usize = 3_900;
/// What somebody decided about something that was shown. It is shown again first.
const DECISION: &str = "decision";
/// Fields that are asked for again: passwords, codes, keys and addresses of chats.
const ASKED_AGAIN: [&str; 7] = [
    "access_token",
    "code",
    "new_password",
    "password",
    "repeated",
    "totp_code",
    "webhook_url",
];

/// A form of a page of ours that was shown to this account in this browser, which its token proves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptForm {
    token: FormToken,
    action: String,
    fields: Vec<(String, String)>,
    /// Seconds since the epoch.
    at: i64,
}

/// A field of a kept form as the page shows it.
#[derive(Debug)]
pub struct KeptField {
    /// As it is sent.
    pub name: String,
    /// As people read it.
    pub label: String,
    /// What stands in it; nothing where it is asked for again.
    pub value: String,
    /// Asked for again, as a password.
    pub is_secret: bool,
    /// What somebody wrote, to be read and changed; the rest of the form goes along unseen.
    pub is_written: bool,
}

impl KeptForm {
    /// The form that was sent to `action` with this token.
    #[must_use]
    pub fn new(token: FormToken, action: &str, body: &[u8], now: i64) -> Self {
        let fields = form_urlencoded::parse(body)
            .filter(|(name, _)| name != CSRF_FIELD && name != DECISION)
            .map(|(name, value)| match is_asked_again(&name) {
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

    /// The page that the form stood on.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.token.page
    }

    /// Where the form is sent.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.action
    }

    /// Whether it holds something that somebody wrote, in one of these fields.
    #[must_use]
    pub fn is_written(&self, written: &[&str]) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|(name, value)| written.contains(&name.as_str()) && !value.trim().is_empty())
    }

    /// What the page shows, where these fields are written by people.
    #[must_use]
    pub fn fields(&self, written: &[&str]) -> Vec<KeptField> {
        let fields = self.fields.iter().map(|(name, value)| KeptField {
            label: label(name),
            is_secret: is_asked_again(name),
            is_written: written.contains(&name.as_str()),
            name: name.clone(),
            value: value.clone(),
        });
        fields.collect()
    }

    /// The value of the cookie, which opens in this browser alone; none for a form that no cookie can hold.
    #[must_use]
    pub fn seal(&self, sealer: &Sealer, browser: &str) -> Option<String> {
        let text = serde_json::to_vec(self).ok()?;
        let sealed = sealer.seal(&place(browser), &text).ok()?;
        (sealed.len() <= MAX_COOKIE).then_some(sealed)
    }

    /// The form in a cookie of this browser, for the account that it is of and while it waits.
    #[must_use]
    pub fn open(
        sealer: &Sealer,
        browser: &str,
        cookie: &str,
        account: &str,
        now: i64,
    ) -> Option<Self> {
        let text = sealer.open_text(&place(browser), cookie).ok()?;
        let kept: Self = serde_json::from_str(text.expose_secret()).ok()?;
        let is_path = ReturnTo::parse(Some(&kept.action), "").as_str() == kept.action;
        let is_good = kept.token.account == account && now < kept.at + KEPT_SECONDS && is_path;
        is_good.then_some(kept)
    }
}

fn place(browser: &str) -> String {
    format!("kept form/{browser}")
}

fn is_asked_again(name: &str) -> bool {
    ASKED_AGAIN.contains(&name)
}

/// `website_url` as people read it.
fn label(name: &str) -> String {
    let mut label = name.replace('_', " ");
    if let Some(first) = label.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    label
}
