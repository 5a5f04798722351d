//! The redirect URIs of clients.

use url::{Host, Url};

/// The prefixes of addresses on the user's own machine, over plain http.
const LOOPBACKS: [&str; 3] = ["http://127.0.0.1", "http://[::1]", "http://localhost"];

const MAX_CHARS: usize = 2_048;

/// Whether `given` matches `registered`. The texts are compared, because URL parsers differ.
pub(crate) fn matches(registered: &str, given: &str) -> bool {
    if registered == given {
        return true;
    }
    match (loopback(registered), loopback(given)) {
        (Some(registered), Some(given)) => registered == given,
        _ => false,
    }
}

/// Returns host and path of a loopback address, without its port.
fn loopback(uri: &str) -> Option<(&'static str, &str)> {
    let (host, rest) = LOOPBACKS
        .into_iter()
        .find_map(|host| Some((host, uri.strip_prefix(host)?)))?;
    let path = match rest.strip_prefix(':') {
        Some(rest) => {
            let (port, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let canonical = port.parse::<u16>().ok()?.to_string() == port;
            (canonical && port != "0").then_some(path)?
        }
        None => rest,
    };
    (path.is_empty() || path.starts_with(['/', '?'])).then_some((host, path))
}

/// Whether this is a plain http address of the user's own machine.
pub(crate) fn is_loopback(uri: &str) -> bool {
    loopback(uri).is_some()
}

/// Returns the origin of a redirect URI as [`comparable_origin`]. A private-use scheme has none.
pub(super) fn origin(uri: &str) -> Option<String> {
    if let Some((host, _)) = loopback(uri) {
        return Some(host.to_owned());
    }
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "https")?;
    Some(url.origin().ascii_serialization())
}

/// Returns the form in which an origin is compared: without the port on loopback, where redirect URIs have any port too.
pub(crate) fn comparable_origin(origin: &str) -> &str {
    match loopback(origin) {
        Some((host, "")) => host,
        _ => origin,
    }
}

/// Whether programs on the user's own machine can answer at an address: anything but https to another host.
pub(crate) fn is_on_users_machine(uri: &Url) -> bool {
    let is_here = |host: Host<&str>| match host {
        // RFC 6761 section 6.3: these names are loopback addresses.
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.is_loopback() || mapped.is_unspecified(),
            None => address.is_loopback() || address.is_unspecified(),
        },
    };
    uri.scheme() != "https" || uri.host().is_none_or(is_here)
}

/// Checks that an address may be registered: https, http to a loopback address, or a private-use scheme (RFC 8252
/// section 7). It has neither fragment (RFC 6749 section 3.1.2) nor user.
///
/// # Errors
/// A sentence that says which rule is broken.
pub(crate) fn check(uri: &str) -> Result<(), &'static str> {
    if uri.len() > MAX_CHARS {
        return Err("a redirect URI must have at most 2,048 characters");
    }
    // Browsers read a backslash as a slash, and drop invisible characters.
    if !uri.bytes().all(|byte| byte.is_ascii_graphic()) || uri.contains(['\\', '"', '<', '>']) {
        return Err("a redirect URI must have only visible ASCII characters, and no backslash");
    }
    if holds_wildcard(uri) {
        return Err("a redirect URI must be a single address, without *");
    }
    let Ok(url) = Url::parse(uri) else {
        return Err("a redirect URI must be absolute, such as https://app.example.com/callback");
    };
    if uri.contains('#') {
        return Err("a redirect URI must have no fragment");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a redirect URI must have no user name or password");
    }
    match url.scheme() {
        "https" if url.has_host() => Ok(()),
        "http" if is_loopback(uri) => Ok(()),
        // A reversed domain name, so that no two programs share a scheme. This also excludes `javascript:`.
        scheme if scheme.contains('.') => Ok(()),
        _ => Err(
            "a redirect URI must begin with https://, with http:// and 127.0.0.1, [::1] or localhost, or with a private-use scheme such as com.example.app:",
        ),
    }
}

/// Whether the text has a `*`, plain or percent-encoded any number of times. Wildcards are not supported.
fn holds_wildcard(uri: &str) -> bool {
    let mut text = uri.to_ascii_lowercase();
    while text.contains("%25") {
        text = text.replace("%25", "%");
    }
    text.contains('*') || text.contains("%2a")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_exact_registered_uri_matches() {
        let registered = "https://app.example.com/callback";
        assert!(matches(registered, registered));
        for given in [
            "https://app.example.com/callback/",
            "https://app.example.com/callback?x=1",
            "https://app.example.com/callback#x",
            "https://app.example.com/Callback",
            "https://APP.example.com/callback",
            "https://app.example.com:443/callback",
            "https://app.example.com:8443/callback",
            "https://app.example.com.evil.example/callback",
            "https://app.example.com@evil.example/callback",
            "https://evil.example/https://app.example.com/callback",
            "https://app.example.com/x/../callback",
            "https://app.example.com//callback",
            "https://app.example.com\\callback",
            "https:/app.example.com/callback",
            "http://app.example.com/callback",
            " https://app.example.com/callback",
            "https://app.example.com/callback\n",
            "https://app.example.com/%63allback",
            "",
        ] {
            assert!(!matches(registered, given), "{given}");
        }
    }

    #[test]
    fn every_uri_but_https_to_another_host_is_on_the_users_machine() {
        let is_here = |uri: &str| Url::parse(uri).is_ok_and(|uri| is_on_users_machine(&uri));
        for here in [
            "http://127.0.0.1/cb",
            "com.example.app:/cb",
            "https.example:/cb",
            "https://127.0.0.1/cb",
            "https://127.1:8443/cb",
            "https://0.0.0.0/cb",
            "https://localhost/cb",
            "https://LOCALHOST.:8443/cb",
            "https://app.localhost/cb",
            "https://[::1]/cb",
            "https://[::]/cb",
            "https://[::ffff:127.0.0.1]/cb",
        ] {
            assert!(is_here(here), "{here}");
        }
        for elsewhere in [
            "https://app.example.com/cb",
            "https://localhost.example.com/cb",
            "https://notlocalhost/cb",
            "https://192.168.1.5/cb",
            "https://[2001:db8::1]/cb",
        ] {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_uri_may_differ() {
        for registered in ["http://127.0.0.1/cb", "http://127.0.0.1:7000/cb"] {
            for port in ["", ":1", ":80", ":51234", ":65535"] {
                assert!(matches(registered, &format!("http://127.0.0.1{port}/cb")));
            }
            for given in [
                "http://127.0.0.1:51234/",
                "http://127.0.0.1:51234/cb/",
                "http://127.0.0.1:51234/cb?x",
                "http://127.0.0.1:0/cb",
                "http://127.0.0.1:00080/cb",
                "http://127.0.0.1:65536/cb",
                "http://127.0.0.1:/cb",
                "http://127.0.0.1:+80/cb",
                "http://127.0.0.1:80@evil.example/cb",
                "http://127.0.0.1@evil.example/cb",
                "http://127.0.0.1.evil.example/cb",
                "http://127.0.0.2:80/cb",
                "http://localhost:80/cb",
                "http://[::1]:80/cb",
                "https://127.0.0.1:80/cb",
            ] {
                assert!(!matches(registered, given), "{registered} {given}");
            }
        }
        assert!(matches("http://[::1]/", "http://[::1]:5000/"));
        assert!(matches("http://localhost", "http://localhost:5000"));
        // A client that registered no loopback address cannot use one.
        assert!(!matches(
            "https://app.example.com/cb",
            "http://127.0.0.1:80/cb"
        ));
    }

    #[test]
    fn unsafe_redirect_uris_cannot_be_registered() {
        for good in [
            "https://app.example.com",
            "https://app.example.com/cb?tenant=1",
            "https://app.example.com:8443/cb",
            "http://127.0.0.1/cb",
            "http://localhost:3000/cb",
            "http://[::1]:3000",
            "com.example.app:/cb",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let long = format!("https://app.example.com/{}", "x".repeat(2_048));
        for bad in [
            "",
            "app.example.com",
            "/cb",
            "http://app.example.com/cb",
            "http://localhost.example.com/cb",
            "http://127.0.0.1:x/cb",
            "https://app.example.com/cb#",
            "https://app.example.com/cb#x",
            "https://user@app.example.com/cb",
            "https://:pw@app.example.com/cb",
            "https://app.example.com\\cb",
            "https://app.example.com/c b",
            "https://app.example.com/cb\n",
            "https://bücher.example/cb",
            "https://app.example.com/\"><script>",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "myapp:/cb",
            "https://",
            &long,
            "https://*.example.com/cb",
            "https://app.example.com/*",
            "https://app.example.com/cb?x=*",
            "https://app.example.com/%2A",
            "https://app.example.com/%2a/cb",
            "https://app.example.com/%252A",
            "http://127.0.0.1:*/cb",
            "com.example.app:/*",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_matching_uri_has_the_registered_host_and_path(given in "http://(127\\.0\\.0\\.1|\\[::1\\]|localhost)[:@./a-z0-9\\\\#?]{0,12}") {
            if matches("http://127.0.0.1/cb", &given) {
                let url = Url::parse(&given).ok();
                prop_assert_eq!(url.as_ref().and_then(Url::host_str), Some("127.0.0.1"));
                prop_assert_eq!(url.as_ref().map(Url::path), Some("/cb"));
            }
        }
    }
}
