use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use crate::Backend;

/// A text that is not the URL of a supported database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a database URL must begin with postgres://, or be sqlite:// and a path, such as sqlite://data/identity.db"
)]
pub struct InvalidDatabaseUrl;

/// The URL of a database. It may contain a password, so `Debug` prints only the scheme for PostgreSQL.
#[derive(Clone)]
pub struct DatabaseUrl {
    text: SecretString,
    backend: Backend,
}

impl DatabaseUrl {
    /// Returns the URL of a SQLite file.
    #[must_use]
    pub fn sqlite_file(path: &Path) -> Self {
        Self {
            text: format!("sqlite://{}", path.display()).into(),
            backend: Backend::Sqlite,
        }
    }

    /// Returns the kind of database.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns the whole URL, password included.
    pub(crate) fn expose(&self) -> &str {
        self.text.expose_secret()
    }

    /// Returns the file of a SQLite database, none for PostgreSQL.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        matches!(self.backend, Backend::Sqlite).then(|| self.sqlite_path())
    }

    /// Returns the path of a SQLite database.
    pub(crate) fn sqlite_path(&self) -> PathBuf {
        let text = self.expose();
        PathBuf::from(text.strip_prefix("sqlite://").unwrap_or(text))
    }
}

impl FromStr for DatabaseUrl {
    type Err = InvalidDatabaseUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let backend = if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            url::Url::parse(text).map_err(|_| InvalidDatabaseUrl)?;
            Backend::Postgres
        } else if text
            .strip_prefix("sqlite://")
            .is_some_and(|path| !path.is_empty() && !path.contains(['\0', '?']))
        {
            Backend::Sqlite
        } else {
            return Err(InvalidDatabaseUrl);
        };
        Ok(Self {
            text: text.into(),
            backend,
        })
    }
}

impl<'de> Deserialize<'de> for DatabaseUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The error does not repeat the value, which may contain a password.
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.backend {
            Backend::Postgres => f.write_str("postgres://…"),
            Backend::Sqlite => f.write_str(self.expose()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_decides_and_unknown_ones_are_refused() {
        let backend = |text: &str| text.parse::<DatabaseUrl>().map(|url| url.backend());
        assert_eq!(backend("postgres://u:p@h/d"), Ok(Backend::Postgres));
        assert_eq!(backend("postgresql://h/d"), Ok(Backend::Postgres));
        assert_eq!(backend("sqlite://data/x.db"), Ok(Backend::Sqlite));
        for text in [
            "",
            "data/x.db",
            "sqlite:",
            "sqlite://",
            "mysql://h/d",
            "sqlite://x?mode=ro",
        ] {
            assert_eq!(backend(text), Err(InvalidDatabaseUrl), "{text}");
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let url: DatabaseUrl = "postgres://u:hunter2@h/d".parse().expect("a URL");
        assert!(!format!("{url:?}").contains("hunter2"));
    }
}
