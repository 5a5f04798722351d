use service_kit::config::SecretText;
use service_kit::http::InternalSecret;
use service_kit::seal::Sealer;
use url::Url;
use web_kit::html::{PagePolicy, WITH_MODULES};

use crate::paths::CALLBACK;

/// The addresses of the dashboard and of the services, and the client as which it calls them.
#[derive(Debug, Clone)]
pub struct DashboardSettings {
    /// The address at which browsers reach the dashboard, without a trailing slash.
    pub base_url: String,
    /// The address at which browsers reach the identity service, without a trailing slash; also the issuer of its responses.
    pub identity_public_url: String,
    /// The address at which the dashboard calls the identity service.
    pub identity_url: Url,
    /// The address at which the dashboard calls the work-session service.
    pub worksession_url: Url,
    /// Whether sign-ins over plain http from other machines are allowed.
    pub allow_insecure_cookies: bool,
    /// The secret by which the identity service of the same process trusts the client addresses that the dashboard reports.
    pub inside: Option<InternalSecret>,
    /// The OAuth client of the dashboard. Without one, the dashboard shows how to register it.
    pub client: Option<OAuthClient>,
    /// The categories that are offered.
    pub categories: Vec<String>,
    /// Whether a start with any other category is rejected.
    pub strict_categories: bool,
}

/// The sealers of cookies and forms, each with the key of its purpose.
#[derive(Debug, Clone)]
pub struct Sealers {
    /// For sign-ins, and for the state of those in progress.
    pub sign_ins: Sealer,
    /// For CSRF tokens, and for saved forms.
    pub forms: Sealer,
}

/// The dashboard as a confidential client of the identity service.
#[derive(Debug, Clone)]
pub struct OAuthClient {
    /// Its client id.
    pub id: String,
    /// Its client secret.
    pub secret: SecretText,
}

impl DashboardSettings {
    /// Returns the redirect URI, with which the client must be registered.
    #[must_use]
    pub fn redirect_uri(&self) -> String {
        format!("{}{}", self.base_url, CALLBACK)
    }

    /// Returns the policy of pages. A form that arrives after the sign-in has ended may redirect to the sign-in.
    pub(crate) fn policy(&self) -> PagePolicy {
        let origins = [&self.base_url, &self.identity_public_url].map(|url| Url::parse(url));
        let origins = origins.into_iter().flatten();
        let origins = origins.map(|url| url.origin().ascii_serialization());
        let origins = origins.collect::<Vec<_>>().join(" ");
        WITH_MODULES.allowing("form-action", &origins)
    }

    pub(crate) fn account(&self, path: &str) -> String {
        format!("{}{path}", self.identity_public_url)
    }
}
