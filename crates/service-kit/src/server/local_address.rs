use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Returns the address at which the same machine calls a server: the loopback address if it listens on all addresses.
#[must_use]
pub fn local_address(listen: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_are_called_at_the_loopback_one() {
        for (listen, called) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("127.0.0.2:80", "127.0.0.2:80"),
        ] {
            let called = called.parse().ok();
            assert_eq!(listen.parse().ok().map(local_address), called, "{listen}");
        }
    }
}
