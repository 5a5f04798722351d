//! The web dashboard, mounted at `/`. It is a separate crate that calls this service over HTTP like any other client.
//! Removing this module removes the dashboard.

use std::net::SocketAddr;

use actix_web::web::Data;
use dashboard::{ClientError, Dashboard, DashboardSettings, OAuthClient, Sealers};
use service_kit::Clock;
use service_kit::seal::{Purpose, SealingKeys};
use service_kit::server::local_address;
use service_kit::start::StartError;
use url::{ParseError, Url};

use crate::config::{Config, default_identity_url};

pub(crate) use dashboard::{configure, render_problem};

/// Creates the dashboard of a service that listens on `addr`.
///
/// # Errors
/// [`StartError`] when TLS cannot be set up, a URL cannot be a base, or a key is unusable.
pub(crate) fn create(
    config: &Config,
    addr: SocketAddr,
    keys: &SealingKeys,
    clock: &Clock,
) -> Result<Data<Dashboard>, StartError> {
    let failed = |cause: ClientError| StartError::other(format!("dashboard: {cause}"));
    let own_url = format!("http://{}", local_address(addr));
    let identity_url = config.identity_url.clone();
    let identity_url = identity_url.unwrap_or_else(default_identity_url);
    let identity_public_url = config.identity_public_url.as_ref().unwrap_or(&identity_url);
    let without_slash = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
    let configured = &config.dashboard;
    let client = configured
        .client_id
        .clone()
        .zip(configured.client_secret.clone());
    if client.is_some() && config.base_url.is_none() && !addr.ip().is_loopback() {
        log::warn!(
            "browsers on other machines cannot sign in to the dashboard: set WORKSESSION__BASE_URL and \
             IDENTITY__BASE_URL to the public URLs of the services"
        );
    }
    let settings = DashboardSettings {
        base_url: config.public_url(addr),
        identity_public_url: without_slash(identity_public_url),
        identity_url,
        worksession_url: own_url
            .parse()
            .map_err(|cause: ParseError| failed(cause.into()))?,
        allow_insecure_cookies: config.allow_insecure_cookies,
        inside: config.inside.clone(),
        client: client.map(|(id, secret)| OAuthClient { id, secret }),
        categories: config.categories.suggested.0.clone(),
        strict_categories: config.categories.strict,
    };
    let sealers = Sealers {
        sign_ins: keys.sealer(Purpose::DashboardSignIns)?,
        forms: keys.sealer(Purpose::Forms)?,
    };
    let dashboard = Dashboard::new(settings, sealers, clock.clone());
    Ok(Data::new(dashboard.map_err(failed)?))
}
