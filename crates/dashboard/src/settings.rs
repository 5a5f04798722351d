use service_kit::config::SecretText;
use service_kit::http::Inside;
use service_kit::seal::Sealer;
use url::Url;
use web_kit::html::WITH_MODULES;

use crate::paths::CALLBACK;

/// Where the dashboard is, whom it calls, and as whom.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where browsers reach the dashboard, without a slash at the end.
    pub base_url: String,
    /// Where browsers reach the identity service, without a slash at the end; also the issuer of its answers.
    pub identity_public_url: String,
    /// Where the identity service is called.
    pub identity_url: Url,
    /// Where the work-session service is called.
    pub worksession_url: Url,
    /// Whether people may sign in over plain http from other machines.
    pub allow_insecure_cookies: bool,
    /// What makes the identity area of the same process believe for whom we ask.
    pub inside: Option<Inside>,
    /// The OAuth client that the dashboard is; without one it says how to register it.
    pub client: Option<OAuthClient>,
    /// Categories that are offered.
    pub categories: Vec<String>,
    /// Whether a start with any other category is refused.
    pub strict_categories: bool,
}

/// What seals cookies and forms, each with the key of its purpose.
#[derive(Debug, Clone)]
pub struct Sealers {
    /// For sign-ins, and what is remembered on the way to them.
    pub sign_ins: Sealer,
    /// For tokens of forms, and forms that wait for a sign-in.
    pub forms: Sealer,
}

/// The dashboard as a confidential client of the identity service.
#[derive(Debug, Clone)]
pub struct OAuthClient {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: SecretText,
}

impl Settings {
    /// Where the identity service sends browsers back to; what the client has to be registered with.
    #[must_use]
    pub fn redirect_uri(&self) -> String {
        format!("{}{}", self.base_url, CALLBACK)
    }

    /// The policy of pages. A form that arrives after the sign-in has ended leads to the sign-in.
    pub(crate) fn policy(&self) -> String {
        let origins = [&self.base_url, &self.identity_public_url].map(|url| Url::parse(url));
        let origins = origins.into_iter().flatten();
        let origins = origins.map(|url| url.origin().ascii_serialization());
        let origins = origins.collect::<Vec<_>>().join(" ");
        WITH_MODULES.replace(
            "form-action 'self'",
            &format!("form-action 'self' {origins}"),
        )
    }

    /// A page of the identity service.
    pub(crate) fn account(&self, path: &str) -> String {
        format!("{}{path}", self.identity_public_url)
    }
}
