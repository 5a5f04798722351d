//! The two cookies of the hosted pages.

use actix_web::HttpRequest;
use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use url::{Host, Url};

use crate::tokens::refresh::RefreshToken;

/// How cookies are named and sent, which goes by the service's public address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cookies {
    /// Over https: the prefix keeps other hosts and plain http from setting ours (RFC 6265bis section 4.1.3.2).
    secure: bool,
    /// Whether a sign-in may be put in a cookie at all: over plain http only on this machine, unless told.
    pub(crate) allowed: bool,
}

/// Which cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// The sign-in.
    SignIn,
    /// What the tokens of forms are bound to.
    Forms,
}

impl Cookies {
    /// The rules for a public address; `insecure` allows plain http beyond this machine.
    pub(crate) fn new(base_url: &str, insecure: bool) -> Self {
        let url = Url::parse(base_url).ok();
        let secure = url.as_ref().is_some_and(|url| url.scheme() == "https");
        let local = url.is_some_and(|url| match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        });
        Self {
            secure,
            allowed: secure || local || insecure,
        }
    }

    fn name(self, name: Name) -> &'static str {
        match (name, self.secure) {
            (Name::SignIn, true) => "__Host-holdfast_id",
            (Name::SignIn, false) => "holdfast_id",
            (Name::Forms, true) => "__Host-holdfast_forms",
            (Name::Forms, false) => "holdfast_forms",
        }
    }

    /// The value that a request carries, if it carries it once: two could be read differently elsewhere.
    pub(super) fn read(self, req: &HttpRequest, name: Name) -> Option<String> {
        let cookies = req.cookies().ok()?;
        let mut found = cookies
            .iter()
            .filter(|cookie| cookie.name() == self.name(name));
        match (found.next(), found.next()) {
            (Some(cookie), None) => Some(cookie.value().to_owned()),
            _ => None,
        }
    }

    /// Keeps a sign-in for as long as its session lasts.
    pub(crate) fn sign_in(self, token: &RefreshToken) -> Cookie<'static> {
        let mut cookie = self.cookie(Name::SignIn, token.expose());
        let life = crate::access::COOKIE_LIFE.num_seconds();
        cookie.set_max_age(Duration::seconds(life));
        cookie
    }

    /// Forgets a sign-in.
    pub(crate) fn sign_out(self) -> Cookie<'static> {
        let mut cookie = self.cookie(Name::SignIn, String::new());
        cookie.set_max_age(Duration::ZERO);
        cookie
    }

    /// Until the browser is closed.
    pub(super) fn forms(self, value: String) -> Cookie<'static> {
        self.cookie(Name::Forms, value)
    }

    fn cookie(self, name: Name, value: String) -> Cookie<'static> {
        Cookie::build(self.name(name), value)
            .path("/")
            .http_only(true)
            .secure(self.secure)
            .same_site(SameSite::Lax)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_unless_it_was_allowed() {
        for (address, insecure, allowed, secure) in [
            ("https://id.example.com", false, true, true),
            ("http://127.0.0.1:8080", false, true, false),
            ("http://[::1]:8080", false, true, false),
            ("http://localhost:8080", false, true, false),
            ("http://localhost.example.com", false, false, false),
            ("http://id.example.com", false, false, false),
            ("http://id.example.com", true, true, false),
        ] {
            let cookies = Cookies::new(address, insecure);
            assert_eq!(
                (cookies.allowed, cookies.secure),
                (allowed, secure),
                "{address}"
            );
        }
        let kept = Cookies::new("https://id.example.com", false)
            .sign_out()
            .to_string();
        assert_eq!(
            kept,
            "__Host-holdfast_id=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0"
        );
    }
}
