//! Settings that are convenient for development on one machine, and unsafe where others have access.

use ipnet::IpNet;
use url::Url;

use super::{ConfigError, RateLimitsConfig, SecretKey};
use crate::http::is_loopback;

/// Whether a service at this address is meant for more than its own machine.
#[must_use]
pub fn is_public(base_url: &str) -> bool {
    let url = Url::parse(base_url).ok();
    let host = url.as_ref().and_then(Url::host);
    !host.as_ref().is_some_and(is_loopback)
}

/// The settings of a service that must be safe if its address is public.
#[derive(Debug, Clone, Copy)]
pub struct Exposed<'a> {
    /// The prefix of its environment variables, such as `IDENTITY`.
    pub prefix: &'static str,
    /// The public address.
    pub base_url: &'a str,
    /// Whether sign-ins over plain http are allowed.
    pub allow_insecure_cookies: bool,
    /// Whether rate limits apply.
    pub rate_limits: RateLimitsConfig,
    /// Lists of origins, each with its configuration key.
    pub origins: &'a [(&'static str, &'a [String])],
    /// The networks of trusted proxies.
    pub trusted_proxies: &'a [IpNet],
    /// Secrets, each with its configuration key.
    pub secrets: &'a [(&'static str, Option<&'a SecretKey>)],
}

impl Exposed<'_> {
    /// Returns those of the settings that are for development, as environment variables.
    #[must_use]
    pub fn development_values(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut add = |key: &str, value: &str| {
            found.push(format!("{}__{key}={value}", self.prefix));
        };
        match (
            self.base_url.starts_with("https:"),
            self.allow_insecure_cookies,
        ) {
            (true, true) => add("ALLOW_INSECURE_COOKIES", "true"),
            (false, false) if is_public(self.base_url) => add("BASE_URL", self.base_url),
            _ => {}
        }
        if self.rate_limits.enabled == Some(false) {
            add("RATE_LIMITS__ENABLED", "false");
        }
        for (key, origins) in self.origins {
            let here = |origin: &&String| !is_public(origin.trim_end_matches(":*"));
            origins
                .iter()
                .filter(here)
                .for_each(|origin| add(key, origin));
        }
        for everybody in self
            .trusted_proxies
            .iter()
            .filter(|it| it.prefix_len() == 0)
        {
            add("TRUSTED_PROXIES", &everybody.to_string());
        }
        for (key, secret) in self.secrets {
            let bytes = secret.iter().flat_map(|secret| secret.expose());
            if secret.is_some() && bytes.clone().all(|byte| bytes.clone().next() == Some(byte)) {
                add(key, "one repeated byte");
            }
        }
        found
    }
}

/// Rejects settings for development at a public address.
///
/// # Errors
/// One line that names all of them.
pub fn refuse_development(values: &[String]) -> Result<(), ConfigError> {
    if values.is_empty() {
        return Ok(());
    }
    Err(ConfigError::rule(format!(
        "BASE_URL is public, but these settings are only for development on one machine: {}",
        values.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_public_unless_it_is_this_machine_as_browsers_read_it() {
        for here in [
            "http://localhost:8080",
            "http://LOCALHOST",
            "https://127.0.0.1",
            "http://127.1:8080/auth",
            "http://0x7f000001",
            "http://[::1]:8080",
        ] {
            assert!(!is_public(here), "{here}");
        }
        for public in [
            "https://id.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://127.0.0.1@id.example.com",
            "http://192.168.1.5:8080",
            "http://0.0.0.0:8080",
            "http://[::ffff:127.0.0.1]",
            "http://identity-service:8080",
            "nonsense",
        ] {
            assert!(is_public(public), "{public}");
        }
    }
}
