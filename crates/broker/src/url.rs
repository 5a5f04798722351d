use std::fmt;
use std::str::FromStr;

use lapin::uri::AMQPUri;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

/// Seconds without a sign of life after which a connection counts as lost, unless the URL says otherwise.
const HEARTBEAT_SECONDS: u16 = 20;

/// Bytes of a frame, unless the URL says otherwise: an event fits into one, and the client keeps 64 of them ready for
/// each connection from its beginning, which with the broker's own 128 KiB were 8 MiB.
const FRAME_BYTES: u32 = 16 * 1024;

/// A text that names no broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a broker URL is memory: or amqp://USER:PASSWORD@HOST:PORT/VHOST, or the same with amqps://, HOST being a name or an IPv4 address"
)]
pub struct InvalidBrokerUrl;

/// Where messages go. May hold a password, so that it is printed without its contents.
#[derive(Clone, Default)]
pub enum BrokerUrl {
    /// Inside this process; for the standalone.
    #[default]
    Memory,
    /// RabbitMQ.
    Amqp(SecretString),
}

impl BrokerUrl {
    /// The parsed address; `None` for the memory broker.
    pub(crate) fn amqp(&self) -> Option<AMQPUri> {
        match self {
            Self::Memory => None,
            Self::Amqp(text) => parse(text.expose_secret()).ok(),
        }
    }
}

impl FromStr for BrokerUrl {
    type Err = InvalidBrokerUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        parse(text)?;
        Ok(Self::Amqp(text.into()))
    }
}

fn parse(text: &str) -> Result<AMQPUri, InvalidBrokerUrl> {
    let parts = ::url::Url::parse(text).map_err(|_| InvalidBrokerUrl)?;
    // The client's own parser would silently read "localhost" for a missing or IPv6 host.
    if parts.domain().is_none_or(str::is_empty) {
        return Err(InvalidBrokerUrl);
    }
    let mut uri: AMQPUri = text.parse().map_err(|_| InvalidBrokerUrl)?;
    if uri.vhost.is_empty() {
        // "amqp://host/" means, to the letter, a virtual host without a name; nobody has one.
        uri.vhost = "/".to_owned();
    }
    uri.query.heartbeat.get_or_insert(HEARTBEAT_SECONDS);
    uri.query.frame_max.get_or_insert(FRAME_BYTES);
    Ok(uri)
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory:",
            Self::Amqp(_) => "amqp://…",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brokers_are_broker_urls() {
        for good in [
            "memory:",
            "amqp://h",
            "amqp://u:p@h:5672/%2f",
            "amqps://u:p@h/x",
            "amqp://127.0.0.1:5672",
        ] {
            assert!(good.parse::<BrokerUrl>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "memory",
            "amqp:",
            "amqp://",
            "http://h",
            "redis://h",
            "amqp://[::1]:5672",
            "h:5672",
            "amqp://h?heartbeat=x",
        ] {
            assert!(bad.parse::<BrokerUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_trailing_slash_is_the_default_virtual_host_and_the_host_is_kept() {
        let uri = "amqp://127.0.0.1:1234/"
            .parse::<BrokerUrl>()
            .ok()
            .and_then(|url| url.amqp())
            .expect("a URL");
        assert_eq!(
            (
                uri.vhost.as_str(),
                uri.authority.host.as_str(),
                uri.authority.port
            ),
            ("/", "127.0.0.1", 1234)
        );
        assert_eq!(uri.query.heartbeat, Some(HEARTBEAT_SECONDS));
    }

    #[test]
    fn a_password_is_not_printed() {
        let url: BrokerUrl = "amqp://u:hunter2@h".parse().expect("a URL");
        assert!(!format!("{url:?}").contains("hunter2"));
    }
}
