//! The origins that a browser may be sent to, as the configuration lists them. Both sides are compared
//! after WHATWG parsing, and only the parsed form is ever sent on: what a browser reads is what was checked.

use std::str::FromStr;

use service_kit::http::is_loopback;
use url::{Host, Url, form_urlencoded};

/// The query parameter that says where to.
const PARAMETER: &str = "redirect_uri";
/// Longer addresses are refused.
const MAX_BYTES: usize = 4_096;

/// Where a browser may be sent to. Empty: nowhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct OriginAllowList(Vec<AllowedOrigin>);

/// The address is not one that a browser may be sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotAllowed;

/// One entry: `https://app.example.com`, `https://*.example.com` for one label below it and not itself,
/// `http://localhost:*` for any port of this machine. A port that is not written is the scheme's own.
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
    /// Reads the entries of a configuration; the error quotes the bad one and says what is wrong with it.
    pub(crate) fn parse(entries: &[String]) -> Result<Self, String> {
        entries
            .iter()
            .map(|entry| entry.parse().map_err(|why| format!("{entry:?}: {why}")))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The address that the query string of a request names in its one `redirect_uri`, in normal form.
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

/// Whether an address says what it means: a parser would drop, mend or turn round everything that is
/// refused here, and not every reader of the address does so alike.
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
        const SHAPE: &str = "an origin is written https://HOST or https://HOST:PORT";
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
                "an origin has a host and perhaps a port, and nothing else; * stands for the first label or for a port",
            );
        }
        let url = Url::parse(&format!("{scheme}://{authority}")).map_err(|_| SHAPE)?;
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(SHAPE);
        };
        if scheme == "http" && (below || !is_loopback(&host)) {
            return Err("plain http is for localhost, 127.0.0.1 and [::1] only");
        }
        if any_port && (below || !is_loopback(&host)) {
            return Err("any port is for localhost, 127.0.0.1 and [::1] only");
        }
        let host = match host {
            Host::Domain(base) if below && base.contains('.') => {
                AllowedHost::OneLabelBelow(base.to_owned())
            }
            _ if below => return Err("*. stands before a domain of at least two labels"),
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
