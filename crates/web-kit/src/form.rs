//! The guards of forms: that one was sent from a page of ours, by who was shown it, and can be read.
//!
//! A handler asks them in this order: [`check_site`], [`read`], [`check_token`], [`fields`].

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::web::Bytes;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use serde::de::DeserializeOwned;
use service_kit::Problem;
use service_kit::http::Unread;
use url::form_urlencoded;

/// The field that carries the token of a form.
pub const CSRF_FIELD: &str = "csrf";
/// No form of ours is larger.
const MAX_FORM_BYTES: usize = 64 * 1024;

/// Refuses what a browser says comes from another site's page. Old browsers say nothing: the token decides.
///
/// # Errors
/// 403.
pub fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(not_ours()),
    }
}

/// The body of a form without files.
///
/// # Errors
/// 400 for another content type, and as [`Unread::bytes`].
pub async fn read(body: Unread) -> Result<Bytes, Problem> {
    if !is_form(body.headers()) {
        return Err(Problem::bad_request("This takes a form"));
    }
    body.bytes(MAX_FORM_BYTES).await
}

/// The token in a form.
#[must_use]
pub fn token_in(body: &[u8]) -> Option<String> {
    form_urlencoded::parse(body)
        .find(|(name, _)| name == CSRF_FIELD)
        .map(|(_, value)| value.into_owned())
}

/// Refuses a form whose token is not the one that this browser's pages carry now.
///
/// # Errors
/// 403.
pub fn check_token(expected: &str, given: Option<&str>) -> Result<(), Problem> {
    given
        .filter(|given| verify_slices_are_equal(given.as_bytes(), expected.as_bytes()).is_ok())
        .map(drop)
        .ok_or_else(not_ours)
}

/// What a form says. Absent text fields read as empty ones only where the shape says so with
/// `#[serde(default)]`.
///
/// # Errors
/// 400 for NUL, which PostgreSQL has no text with, and for a field that is missing.
pub fn fields<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if form_urlencoded::parse(body).any(|(_, value)| value.contains('\0')) {
        return Err(Problem::bad_request("The form has a NUL in it"));
    }
    serde_urlencoded::from_bytes(body).map_err(|_| Problem::bad_request("The form is not complete"))
}

fn not_ours() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "forbidden",
        "This form was opened before you signed in or out, or not on this page. Go back, reload the page, and send it again.",
    )
}

fn is_form(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        value
            .as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    })
}
