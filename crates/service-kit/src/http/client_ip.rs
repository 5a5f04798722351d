use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv4Addr};

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use ipnet::IpNet;

use super::forwarded;
use super::internal_secret::InternalSecret;

/// The proxies that are trusted to name the address of a client.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies {
    /// The networks of the proxies.
    pub networks: Vec<IpNet>,
    /// The secret that another part of the same process presents.
    pub internal_secret: Option<InternalSecret>,
}

/// The address of the client. Behind trusted proxies it is the last address in `X-Forwarded-For` or `Forwarded` that is not one
/// of theirs. Any address to the left of it may be the client's invention.
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
        ready(Ok(Self::find(req)))
    }
}

impl ClientIp {
    /// Returns the address of a request's client.
    pub(super) fn find(req: &HttpRequest) -> Self {
        let peer = req
            .peer_addr()
            .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |addr| addr.ip())
            .to_canonical();
        let address = match req.app_data::<Data<TrustedProxies>>() {
            Some(proxies) => proxies.client_of(peer, req.headers()),
            None => peer,
        };
        Self(address)
    }
}

impl TrustedProxies {
    fn client_of(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let secret = self.internal_secret.as_ref();
        let is_internal = secret.is_some_and(|it| it.is_in(headers));
        if !is_internal && !self.trusts(peer) {
            return peer;
        }
        let usual = forwarded::usual_hops(headers).map(|hops| self.walk(peer, &hops));
        let standard = forwarded::standard_hops(headers).map(|hops| self.walk(peer, &hops));
        match (usual, standard) {
            (Some(client), None) | (None, Some(client)) => client,
            // A proxy writes one of the two and may pass on the other one as the client wrote it. Which one is unknown.
            (Some(client), Some(other)) if client == other => client,
            _ => peer,
        }
    }

    /// Follows the hops from a trusted peer, the last one first, as long as they are trusted themselves. A hop that cannot be
    /// parsed ends this at the last one that could.
    fn walk(&self, peer: IpAddr, hops: &[Option<IpAddr>]) -> IpAddr {
        let mut client = peer;
        for hop in hops.iter().rev() {
            let Some(address) = hop else { break };
            client = *address;
            if !self.trusts(client) {
                break;
            }
        }
        client
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|net| net.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    /// Returns the client of a peer with these header lines, where `10.0.0.0/8` is trusted.
    fn client(peer: &str, lines: &[(&str, &str)]) -> String {
        let proxies = TrustedProxies {
            networks: vec!["10.0.0.0/8".parse().expect("a network")],
            internal_secret: None,
        };
        let request = lines
            .iter()
            .fold(TestRequest::default(), |request, line| {
                request.append_header(*line)
            })
            .to_http_request();
        let peer: IpAddr = peer.parse().expect("an address");
        let client = proxies.client_of(peer.to_canonical(), request.headers());
        client.to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        const XFF: &str = "x-forwarded-for";
        for (peer, lines, expected) in [
            ("203.0.113.9", &["1.1.1.1"][..], "203.0.113.9"),
            ("127.0.0.1", &["1.1.1.1"], "127.0.0.1"),
            ("10.0.0.1", &["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
            (
                "10.0.0.1",
                &["1.1.1.1", "203.0.113.9, 10.0.0.2"],
                "203.0.113.9",
            ),
            ("10.0.0.1", &["203.0.113.9:4711"], "203.0.113.9"),
            ("10.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("10.0.0.1", &["2001:db8::1"], "2001:db8::1"),
            ("10.0.0.1", &["::ffff:203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["nonsense"], "10.0.0.1"),
            ("10.0.0.1", &["1.1.1.1, nonsense, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["1.1.1.1", "\u{e4}", "10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["1.1.1.1,"], "10.0.0.1"),
            ("10.0.0.1", &[""], "10.0.0.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("::ffff:10.0.0.1", &["203.0.113.9"], "203.0.113.9"),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| (XFF, *line)).collect();
            assert_eq!(client(peer, &lines), expected, "{peer} {lines:?}");
        }
    }

    #[test]
    fn the_standard_header_is_read_alike_and_of_two_that_differ_none_is_believed() {
        const CLIENT: &str = "203.0.113.9";
        for (usual, standard, expected) in [
            ("", "for=203.0.113.9", CLIENT),
            ("", "for=1.1.1.1, for=203.0.113.9;by=10.0.0.2", CLIENT),
            ("", "for=1.1.1.1;x=\"\nfor=203.0.113.9", CLIENT),
            // A quotation mark that the client opens swallows nothing that the proxy appends.
            ("", "for=1.1.1.1;x=\", for=\"[2001:db8::1]:80\"", "10.0.0.1"),
            ("203.0.113.9", "for=203.0.113.9", CLIENT),
            ("203.0.113.9", "for=1.1.1.1", "10.0.0.1"),
        ] {
            let usual = usual.lines().map(|line| ("x-forwarded-for", line));
            let standard = standard.lines().map(|line| ("forwarded", line));
            let lines: Vec<_> = usual.chain(standard).collect();
            assert_eq!(client("10.0.0.1", &lines), expected, "{lines:?}");
            assert_eq!(client("127.0.0.1", &lines), "127.0.0.1", "{lines:?}");
        }
    }

    #[test]
    fn who_knows_the_secret_of_the_process_is_believed_wherever_from() {
        let internal_secret = InternalSecret::fresh();
        let proxies = TrustedProxies {
            networks: Vec::new(),
            internal_secret: Some(internal_secret.clone()),
        };
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        for (secret, expected) in [
            (internal_secret.expose(), "203.0.113.9"),
            (InternalSecret::fresh().expose(), "127.0.0.1"),
            ("", "127.0.0.1"),
        ] {
            let request = TestRequest::default()
                .insert_header((InternalSecret::HEADER, secret))
                .insert_header(("x-forwarded-for", "1.1.1.1, 203.0.113.9"))
                .to_http_request();
            let client = proxies.client_of(peer, request.headers());
            assert_eq!(client.to_string(), expected);
        }
    }
}
