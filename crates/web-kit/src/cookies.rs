//! Names and attributes of cookies.

use std::borrow::Cow;

use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::HOST;
use actix_web::{HttpRequest, HttpResponse};
use service_kit::http::is_loopback;
use url::Url;

/// The rules for a service's cookies, which follow from its public address. Scripts cannot read them, and forms and images of
/// other sites do not send them.
#[derive(Debug, Clone)]
pub struct Cookies {
    /// Whether the public address is https. A name prefix then keeps plain http from setting our cookies and, if the path is `/`,
    /// other hosts too (RFC 6265bis section 4.1.3).
    secure: bool,
    /// The path of the public address, so that other services of the host get no cookie of ours.
    path: String,
    /// Where a cookie may contain a sign-in.
    sign_ins: SignIns,
}

/// The browsers that may get a sign-in cookie. Over plain http, only those on this machine, unless the operator allows others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignIns {
    Anywhere,
    OnThisMachine,
    Nowhere,
}

impl Cookies {
    /// Creates the rules for a public address; `insecure` allows plain http from other machines.
    #[must_use]
    pub fn new(base_url: &str, insecure: bool) -> Self {
        let url = Url::parse(base_url).ok();
        let secure = url.as_ref().is_some_and(|url| url.scheme() == "https");
        let host = url.as_ref().and_then(Url::host);
        let is_local = host.as_ref().is_some_and(is_loopback);
        let sign_ins = match (secure || insecure, is_local) {
            (true, _) => SignIns::Anywhere,
            (false, true) => SignIns::OnThisMachine,
            (false, false) => SignIns::Nowhere,
        };
        let path = url.as_ref().map_or("/", Url::path);
        let path = match path.trim_end_matches('/') {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        Self {
            secure,
            path,
            sign_ins,
        }
    }

    /// Whether the browser that sent this request may get a sign-in cookie. A service that is meant for this machine may be
    /// reachable from others; the request names the host that the browser called.
    #[must_use]
    pub fn allow(&self, req: &HttpRequest) -> bool {
        match self.sign_ins {
            SignIns::Anywhere => true,
            SignIns::Nowhere => false,
            SignIns::OnThisMachine => {
                let host = req.headers().get(HOST).and_then(|host| host.to_str().ok());
                let url = host.and_then(|host| Url::parse(&format!("http://{host}")).ok());
                let host = url.as_ref().and_then(Url::host);
                host.as_ref().is_some_and(is_loopback)
            }
        }
    }

    /// Returns the value of a cookie, if the request has exactly one of this name: programs differ in which of two they read.
    #[must_use]
    pub fn read(&self, req: &HttpRequest, name: &'static str) -> Option<String> {
        let cookies = req.cookies().ok()?;
        let name = self.full(name);
        let mut found = cookies.iter().filter(|cookie| cookie.name() == name);
        match (found.next(), found.next()) {
            (Some(cookie), None) => Some(cookie.value().to_owned()),
            _ => None,
        }
    }

    /// Creates a cookie that lasts this many seconds.
    #[must_use]
    pub fn lasting(&self, name: &'static str, value: String, seconds: i64) -> Cookie<'static> {
        let mut cookie = self.until_closed(name, value);
        cookie.set_max_age(Duration::seconds(seconds));
        cookie
    }

    /// Creates a cookie that lasts until the browser is closed.
    #[must_use]
    pub fn until_closed(&self, name: &'static str, value: String) -> Cookie<'static> {
        Cookie::build(self.full(name), value)
            .path(self.path.clone())
            .http_only(true)
            .secure(self.secure)
            .same_site(SameSite::Lax)
            .finish()
    }

    /// Creates the cookie that makes a browser delete one.
    #[must_use]
    pub fn expired(&self, name: &'static str) -> Cookie<'static> {
        self.lasting(name, String::new(), 0)
    }

    fn full(&self, name: &'static str) -> Cow<'static, str> {
        match (self.secure, self.path.as_str()) {
            (true, "/") => format!("__Host-{name}").into(),
            (true, _) => format!("__Secure-{name}").into(),
            (false, _) => name.into(),
        }
    }
}

/// Adds a cookie to a response.
pub fn set_cookie(answer: &mut HttpResponse, cookie: &Cookie<'_>) {
    // Our cookies are always valid in a header.
    drop(answer.add_cookie(cookie));
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_unless_it_was_allowed() {
        let everywhere = [
            "id.example.com",
            "192.0.2.5:8080",
            "localhost:8080",
            "[::1]",
            "127.0.0.1:8080",
        ];
        let here = ["localhost:8080", "[::1]", "127.0.0.1:8080"];
        for (address, insecure, allowed, secure) in [
            ("https://id.example.com", false, &everywhere[..], true),
            ("http://127.0.0.1:8080", false, &here, false),
            ("http://[::1]:8080", false, &here, false),
            ("http://localhost:8080", false, &here, false),
            ("http://localhost.example.com", false, &[], false),
            ("http://id.example.com", false, &[], false),
            ("http://id.example.com", true, &everywhere, false),
        ] {
            let cookies = Cookies::new(address, insecure);
            let at = |host: &&str| {
                let request = TestRequest::default().insert_header((HOST, *host));
                cookies.allow(&request.to_http_request())
            };
            let found: Vec<&str> = everywhere.into_iter().filter(at).collect();
            assert_eq!((&found[..], cookies.secure), (allowed, secure), "{address}");
        }
    }

    #[test]
    fn over_https_a_cookie_is_bound_to_its_host() {
        let https = Cookies::new("https://id.example.com", false);
        assert_eq!(
            https.expired("holdfast_id").to_string(),
            "__Host-holdfast_id=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0"
        );
        // The prefix `__Host-` requires the path / (RFC 6265bis section 4.1.3.2).
        let below = Cookies::new("https://example.com/auth/", false);
        assert_eq!(
            below.expired("holdfast_id").to_string(),
            "__Secure-holdfast_id=; HttpOnly; SameSite=Lax; Secure; Path=/auth; Max-Age=0"
        );
        let plain = Cookies::new("http://localhost:8080", false);
        assert_eq!(
            plain
                .until_closed("holdfast_id", "x".to_owned())
                .to_string(),
            "holdfast_id=x; HttpOnly; SameSite=Lax; Path=/"
        );
    }
}
