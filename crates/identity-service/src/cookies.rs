//! The cookies of the hosted pages.

use actix_web::HttpRequest;
use actix_web::cookie::Cookie;
use web_kit::saved_form::LIFE_SECONDS;

use crate::tokens::refresh_token::RefreshToken;

/// Names and attributes of the cookies, which depend on the service's public address.
#[derive(Debug, Clone)]
pub(crate) struct Cookies(web_kit::Cookies);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    SignIn,
    /// The value to which form tokens are bound.
    Forms,
    /// A form that waits for its sender to sign in again.
    SavedForm,
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::SignIn => "holdfast_id",
            Self::Forms => "holdfast_forms",
            Self::SavedForm => "holdfast_kept",
        }
    }
}

impl Cookies {
    /// Returns the cookie rules of a public address; `insecure` allows sign-in cookies over plain http from other machines.
    pub(crate) fn new(base_url: &str, insecure: bool) -> Self {
        Self(web_kit::Cookies::new(base_url, insecure))
    }

    /// Whether a sign-in cookie may be set in the response to this request.
    pub(crate) fn allow(&self, req: &HttpRequest) -> bool {
        self.0.allow(req)
    }

    /// Returns the cookie's value, if the request carries it exactly once.
    pub(crate) fn read(&self, req: &HttpRequest, name: Name) -> Option<String> {
        self.0.read(req, name.text())
    }

    /// Returns the sign-in cookie, which lasts as long as its session.
    pub(crate) fn sign_in(&self, token: &RefreshToken) -> Cookie<'static> {
        let life = crate::token_access::COOKIE_LIFE.num_seconds();
        self.0.lasting(Name::SignIn.text(), token.expose(), life)
    }

    pub(crate) fn sign_out(&self) -> Cookie<'static> {
        self.0.expired(Name::SignIn.text())
    }

    /// Returns the cookie that holds a saved form for a limited time.
    pub(crate) fn saved_form(&self, value: String) -> Cookie<'static> {
        self.0.lasting(Name::SavedForm.text(), value, LIFE_SECONDS)
    }

    pub(crate) fn no_saved_form(&self) -> Cookie<'static> {
        self.0.expired(Name::SavedForm.text())
    }

    /// Returns a cookie that lasts until the browser is closed.
    pub(crate) fn forms(&self, value: String) -> Cookie<'static> {
        self.0.until_closed(Name::Forms.text(), value)
    }
}
