use service_kit::Clock;
use web_kit::Cookies;
use web_kit::html::PagePolicy;

use crate::api::{ClientError, ServiceClient};
use crate::settings::{DashboardSettings, Sealers};
use crate::sign_in::{TokenClient, TokenRenewals};

/// The dashboard, created once and shared by all workers.
#[derive(Debug)]
pub struct Dashboard {
    pub(crate) http: ServiceClient,
    /// None until a client is registered.
    pub(crate) oauth: Option<TokenClient>,
    pub(crate) renewals: TokenRenewals,
    pub(crate) cookies: Cookies,
    pub(crate) clock: Clock,
    pub(crate) sealers: Sealers,
    pub(crate) settings: DashboardSettings,
    /// The policy of its pages.
    pub(crate) policy: PagePolicy,
}

impl Dashboard {
    /// Creates the dashboard, without calling anything.
    ///
    /// # Errors
    /// [`ClientError`] when TLS cannot be set up or an address cannot be the base of others.
    pub fn new(
        settings: DashboardSettings,
        sealers: Sealers,
        clock: Clock,
    ) -> Result<Self, ClientError> {
        let http = ServiceClient::new(&settings)?;
        let oauth = settings
            .client
            .as_ref()
            .map(|client| TokenClient::new(&settings, client, http.clone()))
            .transpose()?;
        Ok(Self {
            http,
            oauth,
            renewals: TokenRenewals::default(),
            cookies: Cookies::new(&settings.base_url, settings.allow_insecure_cookies),
            policy: settings.policy(),
            clock,
            sealers,
            settings,
        })
    }
}
