//! The configured origins to which browsers may be redirected. Both sides are compared after WHATWG URL parsing, and
//! only the parsed form is sent on, so that the browser reads exactly what was checked.

use std::str::FromStr;

use service_kit::http::is_loopback;
use url::{Host, Url, form_urlencoded};

/// The query parameter with the address.
const PARAMETER: &str = "redirect_uri";
/// The maximum length of an address, in bytes.
const MAX_BYTES: usize = 4_096;

/// The origins to which a browser may be redirected. An empty list allows none.
#[derive(Debug, Clone, Default)]
pub(crate) struct OriginAllowList(Vec<AllowedOrigin>);

/// The error for an address to which no browser may be redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotAllowed;

/// One allowed origin. `https://*.example.com` matches hosts one label below the domain but not the domain itself,
/// and `http://localhost:*` matches any port of this machine. Without a port, the default port of the scheme applies.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedOrigin {
    scheme: &'static str,
    host: AllowedHost,
    port: AllowedPort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowedHost {
    Exact(Host<String>),
    OneLabelBelow(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowedPort {
    Exact(u16),
    Any,
}

impl OriginAllowList {
    /// Parses the entries of the configuration. The error quotes the invalid entry and gives the reason.
    pub(crate) fn parse(entries: &[String]) -> Result<Self, String> {
        entries
            .iter()
            .map(|entry| entry.parse().map_err(|why| format!("{entry:?}: {why}")))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Returns the address in the only `redirect_uri` of a query string, in normal form.
    pub(crate) fn check(&self, raw_query: &str) -> Result<Url, NotAllowed> {
        let mut given =
            form_urlencoded::parse(raw_query.as_bytes()).filter(|(name, _)| name == PARAMETER);
        match (given.next(), given.next()) {
            (Some((_, text)), None) => self.check_address(&text),
            _ => Err(NotAllowed),
        }
    }

    fn check_address(&self, text: &str) -> Result<Url, NotAllowed> {
        if !is_plain(text) {
            return Err(NotAllowed);
        }
        let url = Url::parse(text).map_err(|_| NotAllowed)?;
        let anonymous = url.username().is_empty() && url.password().is_none();
        let listed = self.0.iter().any(|allowed| allowed.covers(&url));
        (anonymous && listed).then_some(url).ok_or(NotAllowed)
    }
}

/// Whether an address means what it appears to mean. Parsers drop, repair or reinterpret everything that this
/// rejects, and not all parsers do so alike.
fn is_plain(text: &str) -> bool {
    let odd = |c: char| {
        c.is_control() || c.is_whitespace() || c == '\\' || c == char::REPLACEMENT_CHARACTER
    };
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    text.len() <= MAX_BYTES
        && !text.contains(odd)
        && ["http", "https"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
        && !authority.is_empty()
        && !authority.contains('@')
}

impl AllowedOrigin {
    fn covers(&self, url: &Url) -> bool {
        let host = match (&self.host, url.host()) {
            (AllowedHost::Exact(allowed), Some(host)) => *allowed == host.to_owned(),
            (AllowedHost::OneLabelBelow(base), Some(Host::Domain(host))) => host
                .strip_suffix(base.as_str())
                .and_then(|below| below.strip_suffix('.'))
                .is_some_and(is_label),
            _ => false,
        };
        let port = match (self.port, url.port_or_known_default()) {
            (AllowedPort::Any, Some(_)) => true,
            (AllowedPort::Exact(allowed), Some(port)) => allowed == port,
            (_, None) => false,
        };
        host && port && url.scheme() == self.scheme
    }
}

impl FromStr for AllowedOrigin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const SHAPE: &str = "an origin has the form https://HOST or https://HOST:PORT";
        let (scheme, authority) = text.split_once("://").ok_or(SHAPE)?;
        let scheme = match scheme {
            "https" => "https",
            "http" => "http",
            _ => return Err("the scheme must be https"),
        };
        let (authority, any_port) = match authority.strip_suffix(":*") {
            Some(authority) => (authority, true),
            None => (authority, false),
        };
        let (authority, below) = match authority.strip_prefix("*.") {
            Some(authority) => (authority, true),
            None => (authority, false),
        };
        let foreign = |c: char| c.is_control() || c.is_whitespace() || "/\\?#@%*".contains(c);
        if authority.contains(foreign) {
            return Err(
                "an origin consists of a host and an optional port; * stands for the first label or for a port",
            );
        }
        let url = Url::parse(&format!("{scheme}://{authority}")).map_err(|_| SHAPE)?;
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(SHAPE);
        };
        if scheme == "http" && (below || !is_loopback(&host)) {
            return Err("plain http is allowed only for localhost, 127.0.0.1 and [::1]");
        }
        if any_port && (below || !is_loopback(&host)) {
            return Err("any port is allowed only for localhost, 127.0.0.1 and [::1]");
        }
        let host = match host {
            Host::Domain(base) if below && base.contains('.') => {
                AllowedHost::OneLabelBelow(base.to_owned())
            }
            _ if below => return Err("*. must precede a domain of at least two labels"),
            host => AllowedHost::Exact(host.to_owned()),
        };
        let port = if any_port {
            AllowedPort::Any
        } else {
            AllowedPort::Exact(port)
        };
        Ok(Self { scheme, host, port })
    }
}

fn is_label(text: &str) -> bool {
    let usual = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !text.is_empty() && text.bytes().all(usual)
}

#[cfg(test)]
mod tests;
