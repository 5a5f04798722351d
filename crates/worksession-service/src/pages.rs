//! The web dashboard, mounted at `/`. It is a crate of its own that calls this service over HTTP like any other
//! client; taking it out is taking this module out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use actix_web::web::Data;
use dashboard::{ClientError, Dashboard, OAuthClient, Settings};
use service_kit::Clock;
use service_kit::seal::Sealer;
use url::Url;

use crate::config::{Config, default_identity_url};

pub(crate) use dashboard::{configure, render_problem};

/// The dashboard of a service that listens at `addr`.
///
/// # Errors
/// [`ClientError`] when TLS cannot be set up or an address is no base for others.
pub(crate) fn dashboard(
    config: &Config,
    addr: SocketAddr,
    sealer: &Sealer,
    clock: &Clock,
) -> Result<Data<Dashboard>, ClientError> {
    let here = format!("http://{}", on_this_machine(addr));
    let identity_url = config.identity_url.clone();
    let identity_url = identity_url.unwrap_or_else(default_identity_url);
    let identity_public_url = config.identity_public_url.as_ref().unwrap_or(&identity_url);
    let without_slash = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
    let configured = &config.dashboard;
    let client = configured
        .client_id
        .clone()
        .zip(configured.client_secret.clone());
    let settings = Settings {
        base_url: config
            .base_url
            .as_ref()
            .map_or_else(|| here.clone(), without_slash),
        identity_public_url: without_slash(identity_public_url),
        identity_url,
        worksession_url: here.parse()?,
        client: client.map(|(id, secret)| OAuthClient { id, secret }),
        allow_insecure_cookies: config.allow_insecure_cookies,
        categories: config.categories.suggested.0.clone(),
        strict_categories: config.categories.strict,
    };
    Dashboard::new(settings, sealer.clone(), clock.clone()).map(Data::new)
}

/// How a service that listens there is called from here: "all addresses" is none to call.
fn on_this_machine(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, addr.port())
}
