//! The web dashboard: plan, focus, finish and look back in a browser, without a desktop client.
//!
//! A service mounts it at `/`. It calls the identity and the work-session service over HTTP, with the tokens of
//! whoever looks, as any other client does. What it is not: it has no database, reads no configuration and
//! links neither service, so that taking it out is taking out one dependency and the place that mounts it.

mod api;
mod assets;
mod form;
mod frame;
mod live;
mod look_back;
mod notices;
mod preferences;
mod projects;
mod sessions;
mod settings;
mod sign_in;
mod team;
mod text;
mod today;
mod visitor;
mod webhooks;

use actix_web::web::{Data, ServiceConfig};
use service_kit::Clock;
use service_kit::http::endpoint;
use web_kit::Cookies;

pub use api::ClientError;
pub use frame::render_problem;
pub use settings::{OAuthClient, Sealers, Settings};

use api::Http;
use form::RESUME;
use sign_in::{OAuth, Renewals};

/// The dashboard, made once and shared by all workers.
#[derive(Debug)]
pub struct Dashboard {
    http: Http,
    /// None until somebody has registered a client.
    oauth: Option<OAuth>,
    renewals: Renewals,
    cookies: Cookies,
    clock: Clock,
    sealers: Sealers,
    settings: Settings,
    /// The content security policy of its pages.
    policy: String,
}

impl Dashboard {
    /// A dashboard with these settings; calls nobody yet.
    ///
    /// # Errors
    /// [`ClientError`] when TLS cannot be set up or an address is no base for others.
    pub fn new(settings: Settings, sealers: Sealers, clock: Clock) -> Result<Self, ClientError> {
        let http = Http::new(&settings)?;
        let oauth = settings
            .client
            .as_ref()
            .map(|client| OAuth::new(&settings, client, http.clone()))
            .transpose()?;
        Ok(Self {
            http,
            oauth,
            renewals: Renewals::default(),
            cookies: Cookies::new(&settings.base_url, settings.allow_insecure_cookies),
            policy: settings.policy(),
            clock,
            sealers,
            settings,
        })
    }
}

/// Adds the dashboard's paths. None of them is under `/api/`, where no cookie counts.
pub fn configure(cfg: &mut ServiceConfig, dashboard: &Data<Dashboard>) {
    cfg.app_data(dashboard.clone())
        .service(endpoint("/assets/{file}").get(assets::asset))
        .service(endpoint("/live").get(live::live));
    sign_in::routes(cfg);
    cfg.service(endpoint(RESUME).get(form::resume));
    today::routes(cfg);
    sessions::routes(cfg);
    look_back::routes(cfg);
    preferences::routes(cfg);
    projects::routes(cfg);
    webhooks::routes(cfg);
    team::routes(cfg);
}
