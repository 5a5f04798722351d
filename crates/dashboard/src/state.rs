use service_kit::Clock;
use web_kit::Cookies;

use crate::api::{ClientError, Http};
use crate::settings::{Sealers, Settings};
use crate::sign_in::{OAuth, Renewals};

/// The dashboard, created once and shared by all workers.
#[derive(Debug)]
pub struct Dashboard {
    pub(crate) http: Http,
    /// None until a client is registered.
    pub(crate) oauth: Option<OAuth>,
    pub(crate) renewals: Renewals,
    pub(crate) cookies: Cookies,
    pub(crate) clock: Clock,
    pub(crate) sealers: Sealers,
    pub(crate) settings: Settings,
    /// The content security policy of its pages.
    pub(crate) policy: String,
}

impl Dashboard {
    /// Creates the dashboard, without calling anything.
    ///
    /// # Errors
    /// [`ClientError`] when TLS cannot be set up or an address cannot be the base of others.
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
