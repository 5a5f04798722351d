//! The cookies of the hosted pages.

use actix_web::HttpRequest;
use actix_web::cookie::Cookie;
use web_kit::kept::KEPT_SECONDS;

use crate::tokens::refresh::RefreshToken;

/// How they are named and sent, which goes by the service's public address.
#[derive(Debug, Clone)]
pub(crate) struct Cookies(web_kit::Cookies);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    SignIn,
    /// What the tokens of forms are bound to.
    Forms,
    /// A form that waits for its sender to sign in again.
    KeptForm,
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::SignIn => "holdfast_id",
            Self::Forms => "holdfast_forms",
            Self::KeptForm => "holdfast_kept",
        }
    }
}

impl Cookies {
    /// The rules for a public address; `insecure` allows plain http beyond this machine.
    pub(crate) fn new(base_url: &str, insecure: bool) -> Self {
        Self(web_kit::Cookies::new(base_url, insecure))
    }

    /// Whether a sign-in may be put in a cookie of whoever sends this request.
    pub(crate) fn allow(&self, req: &HttpRequest) -> bool {
        self.0.allow(req)
    }

    /// The value that a request carries, if it carries it once.
    pub(crate) fn read(&self, req: &HttpRequest, name: Name) -> Option<String> {
        self.0.read(req, name.text())
    }

    /// Keeps a sign-in for as long as its session lasts.
    pub(crate) fn sign_in(&self, token: &RefreshToken) -> Cookie<'static> {
        let life = crate::access::COOKIE_LIFE.num_seconds();
        self.0.lasting(Name::SignIn.text(), token.expose(), life)
    }

    pub(crate) fn sign_out(&self) -> Cookie<'static> {
        self.0.forgotten(Name::SignIn.text())
    }

    /// Keeps a form for a while.
    pub(crate) fn kept_form(&self, value: String) -> Cookie<'static> {
        self.0.lasting(Name::KeptForm.text(), value, KEPT_SECONDS)
    }

    pub(crate) fn no_kept_form(&self) -> Cookie<'static> {
        self.0.forgotten(Name::KeptForm.text())
    }

    /// Until the browser is closed.
    pub(crate) fn forms(&self, value: String) -> Cookie<'static> {
        self.0.until_closed(Name::Forms.text(), value)
    }
}
