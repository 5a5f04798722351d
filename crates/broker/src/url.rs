use std::fmt;
use std::str::FromStr;

use lapin::uri::AMQPUri;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

/// Seconds of silence after which a connection counts as lost, unless the URL sets `heartbeat`.
const HEARTBEAT_SECONDS: u16 = 20;

/// Bytes of a frame, unless the URL sets `frame_max`. A typical event fits into one. The client allocates 64 frames
/// per connection at once, which would be 8 MiB with the broker's default of 128 KiB.
const FRAME_BYTES: u32 = 16 * 1024;

/// The error for text that is not a broker URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a broker URL must be memory: or amqp://USER:PASSWORD@HOST:PORT/VHOST, or the same with amqps://; HOST is a name or an IPv4 address"
)]
pub struct InvalidBrokerUrl;

/// The address of the broker. It may contain a password, so `Debug` does not print it.
#[derive(Clone, Default)]
pub enum BrokerUrl {
    /// A broker inside this process, for the standalone.
    #[default]
    Memory,
    /// RabbitMQ, with its URL.
    Amqp(SecretString),
}

impl BrokerUrl {
    /// Returns the parsed URL; `None` for the memory broker.
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
    // The client's own parser would use "localhost" for a missing or IPv6 host.
    if parts.domain().is_none_or(str::is_empty) {
        return Err(InvalidBrokerUrl);
    }
    let mut uri: AMQPUri = text.parse().map_err(|_| InvalidBrokerUrl)?;
    if uri.vhost.is_empty() {
        // "amqp://host/" literally means a virtual host without a name, which does not exist in practice.
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
    fn only_valid_broker_urls_are_accepted() {
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
