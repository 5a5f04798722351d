use std::net::IpAddr;
use std::str::FromStr;

use lettre::transport::smtp::authentication::Credentials;
use percent_encoding::percent_decode_str;
use thiserror::Error;
use url::Url;

/// The error for text that is not the URL of a mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a mail server must be smtp://HOST:PORT or smtp://USER:PASSWORD@HOST:PORT, or the same with smtps://; USER and \
     PASSWORD are percent-encoded, and ?tls=required or ?tls=never may follow smtp://"
)]
pub(crate) struct InvalidSmtpUrl;

/// When a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TlsMode {
    /// From the first byte (`smtps://`). The certificate must be valid.
    Wrapped,
    /// By STARTTLS, which is required. The certificate must be valid.
    Required,
    /// By STARTTLS if the server offers it. Any certificate is accepted, which is better than no encryption: an
    /// attacker who can present a false one could also remove the offer.
    Offered,
    Never,
}

/// The address of a mail server, with its credentials.
#[derive(Clone)]
pub(crate) struct SmtpServer {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: TlsMode,
    pub(super) credentials: Option<Credentials>,
}

impl FromStr for SmtpServer {
    type Err = InvalidSmtpUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).map_err(|_| InvalidSmtpUrl)?;
        let host = url.host_str().unwrap_or_default();
        // The connecting library needs an IPv6 address without brackets.
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let rest_is_empty = matches!(url.path(), "" | "/") && url.fragment().is_none();
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == '%';
        if host.is_empty() || host.contains(odd) || !rest_is_empty {
            return Err(InvalidSmtpUrl);
        }
        let credentials = credentials(&url)?;
        let security = match (url.scheme(), url.query()) {
            ("smtps", None) => TlsMode::Wrapped,
            ("smtp", Some("tls=required")) => TlsMode::Required,
            ("smtp", Some("tls=never")) => TlsMode::Never,
            // A password is not sent over a network unencrypted unless the URL requests that.
            ("smtp", None) if credentials.is_some() && !is_loopback(&host) => TlsMode::Required,
            ("smtp", None) => TlsMode::Offered,
            _ => return Err(InvalidSmtpUrl),
        };
        let usual_port = match (security, &credentials) {
            (TlsMode::Wrapped, _) => 465,
            (_, Some(_)) => 587,
            (_, None) => 25,
        };
        Ok(Self {
            port: url.port().unwrap_or(usual_port),
            host,
            security,
            credentials,
        })
    }
}

fn credentials(url: &Url) -> Result<Option<Credentials>, InvalidSmtpUrl> {
    let decode = |text| {
        percent_decode_str(text)
            .decode_utf8()
            .map_err(|_| InvalidSmtpUrl)
    };
    let user = decode(url.username())?;
    let password = decode(url.password().unwrap_or_default())?;
    match (user.is_empty(), password.is_empty()) {
        (true, true) => Ok(None),
        (false, false) if !user.contains('\0') && !password.contains('\0') => {
            Ok(Some(Credentials::new(user.into(), password.into())))
        }
        _ => Err(InvalidSmtpUrl),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn read(text: &str) -> (String, u16, TlsMode, bool) {
        let server: SmtpServer = text.parse().unwrap();
        let signs_in = server.credentials.is_some();
        (server.host, server.port, server.security, signs_in)
    }

    #[test]
    fn an_smtp_url_sets_host_port_encryption_and_credentials() {
        use TlsMode::{Never, Offered, Required, Wrapped};
        for (text, host, port, security, signs_in) in [
            ("smtp://mx", "mx", 25, Offered, false),
            ("smtp://mx:2525/", "mx", 2525, Offered, false),
            ("smtp://u:p@mx", "mx", 587, Required, true),
            ("smtp://u:p@mx?tls=never", "mx", 587, Never, true),
            ("smtp://mx?tls=required", "mx", 25, Required, false),
            ("smtp://u:p@localhost:99", "localhost", 99, Offered, true),
            ("smtp://u:p@127.0.0.1:99", "127.0.0.1", 99, Offered, true),
            ("smtp://[::1]:1025", "::1", 1025, Offered, false),
            ("smtps://u:p@mx", "mx", 465, Wrapped, true),
        ] {
            let expected = (host.to_owned(), port, security, signs_in);
            assert_eq!(read(text), expected, "{text}");
        }
        let encoded: SmtpServer = "smtp://ada%40example.org:p%3A%2F%40%25@mx".parse().unwrap();
        let expected = Credentials::new("ada@example.org".to_owned(), "p:/@%".to_owned());
        assert_eq!(encoded.credentials, Some(expected));
    }

    #[test]
    fn an_invalid_smtp_url_is_refused_without_being_repeated() {
        for bad in [
            "",
            "mx.example.org",
            "mx.example.org:25",
            "http://mx",
            "smtp://",
            "smtp:///x",
            "smtp://:25",
            "smtp://u@mx",
            "smtp://:p@mx",
            "smtp://mx/path",
            "smtp://mx#x",
            "smtp://mx?tls=maybe",
            "smtp://mx:99999",
            "smtps://mx?tls=never",
            "smtp://m%20x",
            "smtp://u:%ff@mx",
            "smtp://u:%00@mx",
        ] {
            assert!(bad.parse::<SmtpServer>().is_err(), "{bad}");
        }
        assert!(!InvalidSmtpUrl.to_string().contains("hunter2"));
    }
}
