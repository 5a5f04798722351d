use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv4Addr};

use actix_web::dev::Payload;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use ipnet::IpNet;

/// The networks whose `X-Forwarded-For` is believed.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(pub Vec<IpNet>);

/// The address of whoever asks. Behind trusted proxies it is the last address in `X-Forwarded-For`
/// that is none of theirs; anything to the left of it was written by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientIp(pub IpAddr);

impl fmt::Display for ClientIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromRequest for ClientIp {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(req: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let peer = req
            .peer_addr()
            .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |addr| addr.ip());
        let forwarded = req
            .headers()
            .get_all("x-forwarded-for")
            .filter_map(|value| value.to_str().ok());
        let address = match req.app_data::<Data<TrustedProxies>>() {
            Some(proxies) => client_of(peer, forwarded, &proxies.0),
            None => peer.to_canonical(),
        };
        ready(Ok(Self(address)))
    }
}

fn client_of<'a>(
    peer: IpAddr,
    forwarded: impl Iterator<Item = &'a str>,
    proxies: &[IpNet],
) -> IpAddr {
    let trusted = |address: IpAddr| proxies.iter().any(|net| net.contains(&address));
    let mut client = peer.to_canonical();
    let hops: Vec<&str> = forwarded.flat_map(|line| line.split(',')).collect();
    for hop in hops.into_iter().rev() {
        if !trusted(client) {
            break;
        }
        match hop.trim().parse::<IpAddr>() {
            Ok(address) => client = address.to_canonical(),
            Err(_) => break,
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        let client = |peer: &str, forwarded: &[&str], proxies: &[&str]| {
            let proxies: Vec<IpNet> = proxies
                .iter()
                .map(|net| net.parse().expect("a network"))
                .collect();
            client_of(
                peer.parse().expect("an address"),
                forwarded.iter().copied(),
                &proxies,
            )
            .to_string()
        };
        let proxies = ["10.0.0.0/8"];
        assert_eq!(client("203.0.113.9", &["1.1.1.1"], &proxies), "203.0.113.9");
        assert_eq!(
            client("10.0.0.1", &["1.1.1.1, 203.0.113.9"], &proxies),
            "203.0.113.9"
        );
        assert_eq!(
            client("10.0.0.1", &["1.1.1.1", "203.0.113.9, 10.0.0.2"], &proxies),
            "203.0.113.9"
        );
        assert_eq!(client("10.0.0.1", &["nonsense"], &proxies), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &[], &proxies), "10.0.0.1");
        assert_eq!(
            client("::ffff:10.0.0.1", &["203.0.113.9"], &proxies),
            "203.0.113.9"
        );
        assert_eq!(client("10.0.0.1", &["203.0.113.9"], &[]), "10.0.0.1");
    }
}
