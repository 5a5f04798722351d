//! The checks of a form: it was sent from a page of ours, by the account to which it was shown, and it can be parsed.
//!
//! A handler calls them in this order: [`check_site`], [`read`], [`CsrfToken::open`], [`fields`].

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::web::Bytes;
use messages::t;
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use service_kit::Problem;
use service_kit::http::UnreadBody;
use service_kit::seal::Sealer;
use url::form_urlencoded;

/// The field that carries the CSRF token of a form.
pub const CSRF_FIELD: &str = "csrf";
/// The maximum size of a form in bytes; none of ours is larger.
const MAX_FORM_BYTES: usize = 64 * 1024;

/// Rejects a form that, according to the browser, comes from a page of another site. Old browsers do not say; then the CSRF token
/// decides.
///
/// # Errors
/// 403 for such a form.
pub fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(not_ours()),
    }
}

/// Reads the body of a form without files.
///
/// # Errors
/// 400 for another content type, and those of [`UnreadBody::bytes`].
pub async fn read(body: UnreadBody) -> Result<Bytes, Problem> {
    if !is_form(body.headers()) {
        return Err(Problem::bad_request(t("common-form-expected").to_string()));
    }
    body.bytes(MAX_FORM_BYTES).await
}

/// Returns the CSRF token in a form.
#[must_use]
pub fn token_in(body: &[u8]) -> Option<String> {
    form_urlencoded::parse(body)
        .find(|(name, _)| name == CSRF_FIELD)
        .map(|(_, value)| value.into_owned())
}

/// The content of a CSRF token, which is sealed for the browser that the form was shown in. A cookie that outlives sign-ins
/// identifies the browser. A form therefore proves where it comes from even after its sender has signed out, and names the
/// sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsrfToken {
    /// The account to which the form was shown; empty for a visitor who was not signed in.
    pub account: String,
    /// The path of the page with the form.
    pub page: String,
}

impl CsrfToken {
    /// Creates the token of a form that is shown to `account` on `page`.
    #[must_use]
    pub fn new(account: impl Into<String>, page: impl Into<String>) -> Self {
        let (account, page) = (account.into(), page.into());
        Self { account, page }
    }

    /// Returns the value of the field. It is empty if the cipher fails, and such a form is rejected.
    #[must_use]
    pub fn seal(&self, sealer: &Sealer, browser: &str) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        sealer.seal(&context(browser), &text).unwrap_or_default()
    }

    /// Opens the token in a form that this browser sent.
    ///
    /// # Errors
    /// 403 for a form that was not shown in this browser.
    pub fn open(sealer: &Sealer, browser: &str, given: Option<&str>) -> Result<Self, Problem> {
        let opened = given.and_then(|given| sealer.open(&context(browser), given).ok());
        opened
            .and_then(|text| serde_json::from_slice(text.expose_secret()).ok())
            .ok_or_else(not_ours)
    }

    /// Rejects a form that was shown to another account.
    ///
    /// # Errors
    /// 403 for such a form.
    pub fn check_account(&self, account: &str) -> Result<(), Problem> {
        match self.account == account {
            true => Ok(()),
            false => Err(not_ours()),
        }
    }
}

fn context(browser: &str) -> String {
    format!("form/{browser}")
}

/// Parses the fields of a form. A missing field is accepted, as an empty text, only if the type says so with `#[serde(default)]`.
///
/// # Errors
/// 400 for NUL, which PostgreSQL cannot store, and for a field that is missing.
pub fn fields<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if form_urlencoded::parse(body).any(|(_, value)| value.contains('\0')) {
        return Err(Problem::bad_request(t("common-form-nul").to_string()));
    }
    serde_urlencoded::from_bytes(body)
        .map_err(|_| Problem::bad_request(t("common-form-incomplete").to_string()))
}

fn not_ours() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "forbidden",
        t("common-form-foreign").to_string(),
    )
}

fn is_form(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        value
            .as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    })
}
