//! What is convenient while developing on one machine, and opens a door where others come in.

use ipnet::IpNet;
use url::Url;

use super::{ConfigError, RateLimitsConfig, SecretKey};
use crate::http::is_loopback;

/// Whether a service at this address is meant for more than the machine that it runs on.
#[must_use]
pub fn is_public(base_url: &str) -> bool {
    let url = Url::parse(base_url).ok();
    let host = url.as_ref().and_then(Url::host);
    !host.as_ref().is_some_and(is_loopback)
}

/// Settings that every service with a public address has.
#[derive(Debug, Clone, Copy)]
pub struct Exposed<'a> {
    /// Of its environment variables.
    pub prefix: &'static str,
    /// Where it is found.
    pub base_url: &'a str,
    /// Whether people may sign in over plain http.
    pub allow_insecure_cookies: bool,
    /// Whether rates are limited.
    pub rate_limits: RateLimitsConfig,
    /// Keys of lists of origins, and the lists.
    pub origins: &'a [(&'static str, &'a [String])],
    /// Whose word on addresses is believed.
    pub trusted_proxies: &'a [IpNet],
    /// Keys of secrets, and the secrets.
    pub secrets: &'a [(&'static str, Option<&'a SecretKey>)],
}

impl Exposed<'_> {
    /// Those of its settings that are for development, as they are written in the environment.
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
                add(key, "one byte again and again");
            }
        }
        found
    }
}

/// Refuses to be public with settings of development.
///
/// # Errors
/// One line that names them all.
pub fn refuse_development(values: &[String]) -> Result<(), ConfigError> {
    if values.is_empty() {
        return Ok(());
    }
    Err(ConfigError::rule(format!(
        "the address is public (BASE_URL), and these settings are for development on one machine: {}",
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
