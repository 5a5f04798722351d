//! What a form of our pages sends, once it is sure that it came from one.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::{FromRequest, HttpRequest};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use service_kit::Problem;
use service_kit::http::Unread;

use super::visitor::{Administrator, Member, Visitor};

/// The field that carries the token of a form.
pub(crate) const CSRF_FIELD: &str = "csrf";
/// No form of ours is larger.
const MAX_FORM_BYTES: usize = 64 * 1024;

/// A form of one of our pages, and who sent it. Absent text fields read as empty ones only where the shape
/// says so with `#[serde(default)]`.
pub(crate) struct Form<T> {
    pub(crate) visitor: Visitor,
    pub(crate) fields: T,
}

/// A form without fields of its own.
#[derive(Deserialize)]
pub(crate) struct Empty {}

impl<T: DeserializeOwned + 'static> FromRequest for Form<T> {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Self::Error>>>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let body = Unread::from_request(&req, payload);
        Box::pin(async move {
            let visitor = Visitor::of(&req).await?;
            check_site(req.headers())?;
            let Ok(body) = body.await;
            if !is_form(body.headers()) {
                return Err(Problem::bad_request("This takes a form").into());
            }
            let bytes = body.bytes(MAX_FORM_BYTES).await?;
            check_token(&visitor, token_in(&bytes).as_deref())?;
            if holds_nul(&bytes) {
                return Err(Problem::bad_request("The form has a NUL in it").into());
            }
            let fields = serde_urlencoded::from_bytes(&bytes)
                .map_err(|_| Problem::bad_request("The form is not complete"))?;
            Ok(Self { visitor, fields })
        })
    }
}

impl<T> Form<T> {
    /// The form as one of somebody who is signed in.
    ///
    /// # Errors
    /// The way to the sign-in page.
    pub(crate) fn by_member(self) -> Result<(Member, T), actix_web::Error> {
        Ok((Member::new(self.visitor)?, self.fields))
    }

    /// The form as an administrator's.
    ///
    /// # Errors
    /// As for a page of administration.
    pub(crate) fn by_administrator(self) -> Result<(Administrator, T), actix_web::Error> {
        let (member, fields) = self.by_member()?;
        Ok((Administrator::new(member)?, fields))
    }
}

/// Refuses what a browser says comes from another site's page. Old browsers say nothing: the token decides.
pub(crate) fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(not_ours()),
    }
}

/// Refuses a form that was not made for this browser and this sign-in.
pub(crate) fn check_token(visitor: &Visitor, given: Option<&str>) -> Result<(), Problem> {
    let expected = visitor.form_token();
    given
        .filter(|given| verify_slices_are_equal(given.as_bytes(), expected.as_bytes()).is_ok())
        .map(drop)
        .ok_or_else(not_ours)
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

/// PostgreSQL has no text with it.
fn holds_nul(bytes: &[u8]) -> bool {
    url::form_urlencoded::parse(bytes).any(|(_, value)| value.contains('\0'))
}

fn token_in(bytes: &[u8]) -> Option<String> {
    url::form_urlencoded::parse(bytes)
        .find(|(name, _)| name == CSRF_FIELD)
        .map(|(_, value)| value.into_owned())
}
