//! Configuration in layers: built-in defaults < file (TOML, one table per part) < environment.
//!
//! It is read once, in `main`, into one struct per service. An unknown key under the service's own prefix, or a bad value, stops
//! the start with one line that names the key.

mod development;
mod parts;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

use config::{ConfigError as Cause, FileFormat, Map, Source, Value};
use serde::de::DeserializeOwned;
use thiserror::Error;
use url::Url;

pub use development::{Exposed, is_public, refuse_development};
pub use parts::{
    BrokerConfig, CommaList, CorsConfig, DatabaseConfig, HttpGuardConfig, RateLimitsConfig,
    SecretKey, SecretText, SecretsConfig,
};

use crate::server::local_address;

/// The tables that a file may contain, so that a misspelt one is detected.
const TABLES: [&str; 4] = ["identity", "worksession", "notifier", "standalone"];

/// Why a configuration was rejected, in one line without the value of any secret.
#[derive(Debug, Error)]
#[error("configuration: {0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// Creates the error of a rule that no type can express, such as one about several keys.
    pub fn rule(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

/// Whether this can be the public address of a service: http or https with a host, and at most a path of plain segments. The path
/// precedes those of routes, and is used in cookies.
#[must_use]
pub fn is_base_url(url: &Url) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    let path = url.path().trim_end_matches('/');
    let is_plain = |segment: &str| !segment.is_empty() && segment.chars().all(is_plain);
    matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && path.split('/').skip(1).all(is_plain)
}

/// Returns the public address without a trailing slash. If none is configured, it is that of a server that listens on `listen`.
#[must_use]
pub fn public_url(base_url: Option<&Url>, listen: SocketAddr) -> String {
    match base_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{}", local_address(listen)),
    }
}

/// Returns the seconds of `Strict-Transport-Security`, or 0 if the public address is not https.
#[must_use]
pub fn hsts_seconds(base_url: Option<&Url>, configured: u64) -> u64 {
    match base_url.is_some_and(|url| url.scheme() == "https") {
        true => configured,
        false => 0,
    }
}

/// Rejects 0 for keys that need at least 1. Each key comes with whether its value is 0.
///
/// # Errors
/// [`ConfigError`] with the first such key and its smallest value.
pub fn refuse_zeros(prefix: &str, keys: &[(&str, bool)]) -> Result<(), ConfigError> {
    match keys.iter().find(|(_, is_zero)| *is_zero) {
        Some((key, _)) => Err(ConfigError(format!("{prefix}__{key} must be at least 1"))),
        None => Ok(()),
    }
}

/// Loads the configuration of a part from the environment of the process and, if one is given, a file.
///
/// `prefix` is that of the part, such as `IDENTITY`: `IDENTITY__DATABASE__POOL_SIZE=4` sets `database.pool_size`, and so does
/// `pool_size` under `[identity.database]` in the file. For secrets and database URLs, `KEY_FILE` names a file with the value.
/// Keys of other parts are ignored.
///
/// # Errors
/// [`ConfigError`] for unknown keys, bad values and unreadable files.
pub fn load<T: DeserializeOwned>(prefix: &str, file: Option<&Path>) -> Result<T, ConfigError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment into a configuration"
    )]
    let environment = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    let text = match file {
        Some(path) => Some(
            std::fs::read_to_string(path)
                .map_err(|error| ConfigError(format!("{}: {error}", path.display())))?,
        ),
        None => None,
    };
    load_from(prefix, text.as_deref(), environment)
}

/// Loads the configuration from text and variables; see [`load`].
///
/// # Errors
/// Those of [`load`].
pub fn load_from<T: DeserializeOwned>(
    prefix: &str,
    file: Option<&str>,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<T, ConfigError> {
    let own = format!("{}__", prefix.to_ascii_uppercase());
    let mut variables = HashMap::new();
    for (key, value) in
        environment.filter(|(key, value)| key.starts_with(&own) && !value.is_empty())
    {
        let (key, value) = from_file(key, value)?;
        if variables.insert(key.clone(), value).is_some() {
            return Err(ConfigError(format!(
                "{key} is set twice: directly and by {key}_FILE"
            )));
        }
    }
    let environment = config::Environment::with_prefix(prefix)
        .prefix_separator("__")
        .separator("__")
        .source(Some(variables.into_iter().collect()));
    let table = file
        .map(|text| table_of(text, prefix))
        .transpose()?
        .unwrap_or_default();
    config::Config::builder()
        .add_source(Table(table))
        .add_source(environment)
        .build()
        .and_then(config::Config::try_deserialize)
        .map_err(|cause| ConfigError(describe(prefix, &cause)))
}

/// Resolves `…KEY_FILE` for keys whose value is a secret or a database URL.
fn from_file(key: String, value: String) -> Result<(String, String), ConfigError> {
    const SECRET_ENDINGS: [&str; 6] = ["URL", "KEY", "KEYS_OLD", "SECRET", "PASSWORD", "TOKEN"];
    match key
        .strip_suffix("_FILE")
        .filter(|stem| SECRET_ENDINGS.iter().any(|ending| stem.ends_with(ending)))
    {
        Some(stem) => {
            let text = std::fs::read_to_string(&value)
                .map_err(|error| ConfigError(format!("{key}: {value}: {error}")))?;
            Ok((
                stem.to_owned(),
                text.trim_end_matches(['\r', '\n']).to_owned(),
            ))
        }
        None => Ok((key, value)),
    }
}

/// Returns the table of one part.
fn table_of(text: &str, prefix: &str) -> Result<Map<String, Value>, ConfigError> {
    let all = config::Config::builder()
        .add_source(config::File::from_str(text, FileFormat::Toml))
        .build()
        .and_then(|file| file.cache.into_table())
        .map_err(|cause| ConfigError(cause.to_string().replace('\n', " ")))?;
    if let Some(unknown) = all.keys().find(|name| !TABLES.contains(&name.as_str())) {
        return Err(ConfigError(format!(
            "the file has an unknown table [{unknown}]; the known ones are {}",
            TABLES.join(", ")
        )));
    }
    match all.get(&prefix.to_ascii_lowercase()) {
        Some(table) => table
            .clone()
            .into_table()
            .map_err(|cause| ConfigError(describe(prefix, &cause))),
        None => Ok(Map::new()),
    }
}

#[derive(Debug, Clone)]
struct Table(Map<String, Value>);

impl Source for Table {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, Cause> {
        Ok(self.0.clone())
    }
}

/// Describes an error in one line, with the key as it is set in the environment.
fn describe(prefix: &str, cause: &Cause) -> String {
    let env_name = |key: &str| {
        format!(
            "{}__{}",
            prefix.to_ascii_uppercase(),
            key.to_ascii_uppercase().replace('.', "__")
        )
    };
    let text = match cause {
        Cause::At {
            error,
            key: Some(key),
            ..
        } => format!("{}: {}", env_name(key), describe_cause(error)),
        Cause::Type { key: Some(key), .. } => {
            format!("{}: {}", env_name(key), describe_cause(cause))
        }
        other => format!("{prefix}: {}", describe_cause(other)),
    };
    text.replace('\n', " ")
}

/// Describes a cause without the value, which may be a misplaced secret.
fn describe_cause(cause: &Cause) -> String {
    match cause {
        Cause::At { error, .. } => describe_cause(error),
        Cause::Type { expected, .. } => format!("expected {expected}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, Default)]
    #[serde(default, deny_unknown_fields)]
    struct Sample {
        database: DatabaseConfig,
        secrets: SecretsConfig,
        http: HttpGuardConfig,
        name: String,
    }

    fn read(file: Option<&str>, variables: &[(&str, &str)]) -> Result<Sample, ConfigError> {
        load_from(
            "IDENTITY",
            file,
            variables
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned())),
        )
    }

    #[test]
    fn the_environment_wins_over_the_file_and_the_file_over_the_defaults() {
        let file = "[identity]\nname = 'file'\n[identity.database]\npool_size = 3\n[notifier]\nanything = 1\n";
        let config = read(
            Some(file),
            &[
                ("IDENTITY__DATABASE__POOL_SIZE", "5"),
                ("WORKSESSION__ODD", "1"),
            ],
        )
        .expect("fits");
        assert_eq!(
            (config.name.as_str(), config.database.pool_size),
            ("file", 5)
        );
        assert!(read(None, &[]).expect("defaults").database.migrate);
    }

    #[test]
    fn unknown_keys_and_bad_values_stop_the_start_and_are_named() {
        let message = |file, variables: &[(&str, &str)]| {
            read(file, variables).expect_err("refused").to_string()
        };
        assert!(message(None, &[("IDENTITY__ODD", "1")]).contains("odd"));
        assert!(message(None, &[("IDENTITY__DATABASE__ODD", "1")]).contains("odd"));
        let bad = message(None, &[("IDENTITY__DATABASE__POOL_SIZE", "many")]);
        assert!(bad.to_ascii_lowercase().contains("pool_size"), "{bad}");
        assert!(!bad.contains('\n'));
        assert!(message(Some("[identify]\n"), &[]).contains("identify"));
        let secret = message(None, &[("IDENTITY__DATABASE__URL", "mysql://u:hunter2@h")]);
        assert!(
            !secret.contains("hunter2") && secret.contains("database"),
            "{secret}"
        );
        let key = message(
            None,
            &[("IDENTITY__SECRETS__ENCRYPTION_KEY", "aHVudGVyMg==")],
        );
        assert!(
            !key.contains("aHVudGVyMg") && key.contains("32 bytes"),
            "{key}"
        );
    }

    #[test]
    fn a_secret_is_read_from_its_file_and_lists_are_split_at_commas() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, format!("{}=\n", "A".repeat(43))).expect("written");
        let path = path.to_string_lossy().into_owned();
        let config = read(
            None,
            &[
                ("IDENTITY__SECRETS__ENCRYPTION_KEY_FILE", &path),
                ("IDENTITY__HTTP__ALLOWED_CIDRS", "127.0.0.0/8, ::1/128"),
            ],
        )
        .expect("fits");
        assert!(config.secrets.encryption_key.is_some());
        assert_eq!(config.http.allowed_cidrs.0.len(), 2);
        assert!(!format!("{config:?}").contains("AAAA"));
    }
}
