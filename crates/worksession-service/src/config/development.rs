use service_kit::config::{self, ConfigError, Exposed};

use super::{Config, PREFIX};

impl Config {
    /// Whether it is meant for more than the machine that it runs on.
    #[must_use]
    pub fn is_public(&self) -> bool {
        config::is_public(&self.public_url(self.listen))
    }

    /// What is set here that is for development on one machine, as the environment names it.
    #[must_use]
    pub fn development_values(&self) -> Vec<String> {
        Exposed {
            prefix: PREFIX,
            base_url: &self.public_url(self.listen),
            allow_insecure_cookies: self.allow_insecure_cookies,
            rate_limits: self.rate_limits,
            origins: &[("CORS__ALLOWED_ORIGINS", &self.cors.allowed_origins.0)],
            trusted_proxies: &self.trusted_proxies.0,
            secrets: &[(
                "SECRETS__ENCRYPTION_KEY",
                self.secrets.encryption_key.as_ref(),
            )],
        }
        .development_values()
    }

    /// Refuses what must not be served at a public address.
    ///
    /// # Errors
    /// One line that names all that is for development.
    pub fn check_exposure(&self) -> Result<(), ConfigError> {
        match self.is_public() {
            true => config::refuse_development(&self.development_values()),
            false => Ok(()),
        }
    }

    /// What browsers are told of https.
    pub(crate) fn hsts_seconds(&self) -> u64 {
        config::hsts_seconds(self.base_url.as_ref(), self.hsts_seconds)
    }
}
