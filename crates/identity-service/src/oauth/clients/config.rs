use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;
use service_kit::config::{CommaList, ConfigError, SecretText};

use super::NewClient;
use super::metadata::ClientMetadata;
use super::model::hash_secret;
use super::wire::CreateOAuthClientRequest;
use crate::error::Error;

/// The minimum length of a configured secret. It must be hard to guess, because its hash is a fast one.
const MIN_SECRET_CHARS: usize = 32;
const MAX_ID_CHARS: usize = 64;

/// `[[identity.oauth_clients]]`: an OAuth client that the file defines. Each start updates it from the file. A client that
/// is no longer in the file is deleted at the next start.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthClientConfig {
    /// The client id: 1 to 64 of the characters `A-Z a-z 0-9 . _ ~ -`, not starting with a hyphen.
    pub client_id: String,
    /// The name that the consent page shows. Required.
    pub name: String,
    /// The secret: at least 32 visible ASCII characters. Set exactly one of this, `client_secret_file` and `public`.
    pub client_secret: Option<SecretText>,
    /// A file that contains the secret.
    pub client_secret_file: Option<PathBuf>,
    /// Whether this is a public client, which cannot keep a secret.
    pub public: bool,
    /// The redirect URIs. Requests must use one of them exactly, except that the port of a loopback address may differ.
    pub redirect_uris: CommaList<String>,
    /// The scopes that the client may request, and gets if it requests none. If empty, they are `openid profile email`,
    /// or all scopes for a first-party client. Only first-party clients may have `account`.
    pub scope: CommaList<String>,
    /// Whether this is a first-party client, for which users are not asked for consent. A public client still needs
    /// consent if its redirect URI is a loopback address or has a private-use scheme.
    pub first_party: bool,
    /// Whether the client may introspect tokens that were not issued to it.
    pub introspect_any: bool,
    /// The algorithm of the signature of its ID tokens: `RS256` (the default) or `ES256`.
    pub id_token_signed_response_alg: Option<String>,
    /// Whether the client must send a code challenge with `S256`, even if not every client has to.
    pub require_pkce_s256: bool,
    /// The grant types that the client may use: `authorization_code`, `refresh_token`,
    /// `urn:ietf:params:oauth:grant-type:device_code` (or `device_code`). If empty, an existing client keeps its grant
    /// types, and a new one gets the first two.
    pub grant_types: CommaList<String>,
    /// The response types that the client may request: `code` (the default) and `id_token`.
    pub response_types: CommaList<String>,
    /// The addresses to which a sign-out may return. They must match exactly, like redirect URIs.
    pub post_logout_redirect_uris: CommaList<String>,
    /// The address that is called when a session of the client ends (OpenID Connect Back-Channel Logout).
    pub backchannel_logout_uri: Option<String>,
    /// The content of the claim `groups`: `slug` (the default) or `slug:role`.
    pub groups_claim: Option<String>,
    /// The https address of the client's home page. The consent page links to it.
    pub client_uri: Option<String>,
    /// The https address of the client's logo, which the consent page shows.
    pub logo_uri: Option<String>,
    /// The https address of the client's privacy policy. The consent page links to it.
    pub policy_uri: Option<String>,
    /// The https address of the client's terms of service. The consent page links to them.
    pub tos_uri: Option<String>,
}

/// A client of the configuration, validated.
#[derive(Debug, Clone)]
pub(crate) struct ConfiguredClient {
    pub(crate) id: String,
    pub(crate) secret_hash: Option<String>,
    pub(crate) client: NewClient,
}

/// Validates the configured clients.
///
/// # Errors
/// A line that names the client that is invalid or repeated.
pub(crate) fn read(clients: &[OAuthClientConfig]) -> Result<Vec<ConfiguredClient>, ConfigError> {
    let mut read: Vec<ConfiguredClient> = Vec::new();
    for client in clients {
        let id = &client.client_id;
        let refused =
            |why: String| ConfigError::rule(format!("IDENTITY__OAUTH_CLIENTS: {id:?}: {why}"));
        if read.iter().any(|other| other.id == *id) {
            return Err(refused("the client_id is configured twice".to_owned()));
        }
        read.push(client.read().map_err(refused)?);
    }
    Ok(read)
}

impl OAuthClientConfig {
    fn read(&self) -> Result<ConfiguredClient, String> {
        let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
        let id = &self.client_id;
        if !(1..=MAX_ID_CHARS).contains(&id.len())
            || id.starts_with('-')
            || !id.bytes().all(is_of_id)
        {
            return Err(
                "client_id must be 1 to 64 of A-Z a-z 0-9 . _ ~ -, and not begin with -".into(),
            );
        }
        let registration = CreateOAuthClientRequest {
            name: self.name.clone(),
            redirect_uris: self.redirect_uris.0.clone(),
            scope: Some(self.scope.0.join(" ")),
            is_public: self.public,
            is_first_party: self.first_party,
            may_introspect_any: self.introspect_any,
            id_token_signed_response_alg: self.id_token_signed_response_alg.clone(),
            requires_pkce_s256: self.require_pkce_s256,
            grant_types: self.grant_types.0.clone(),
            metadata: self.metadata()?,
        };
        Ok(ConfiguredClient {
            id: id.clone(),
            secret_hash: self.secret()?.as_ref().map(|it| hash_secret(it.expose())),
            client: registration
                .try_into()
                .map_err(|error: Error| error.to_string())?,
        })
    }

    fn metadata(&self) -> Result<ClientMetadata, String> {
        let response_types = match self.response_types.0.as_slice() {
            [] => json!(ClientMetadata::default().response_types),
            given => json!(given),
        };
        let fields = json!({
            "client_uri": self.client_uri,
            "logo_uri": self.logo_uri,
            "policy_uri": self.policy_uri,
            "tos_uri": self.tos_uri,
            "post_logout_redirect_uris": self.post_logout_redirect_uris.0,
            "backchannel_logout_uri": self.backchannel_logout_uri,
            "response_types": response_types,
            "groups_claim": self.groups_claim,
        });
        serde_json::from_value(fields).map_err(|error| error.to_string())
    }

    fn secret(&self) -> Result<Option<SecretText>, String> {
        let secret = match (&self.client_secret, &self.client_secret_file, self.public) {
            (None, None, true) => return Ok(None),
            (Some(secret), None, false) => secret.clone(),
            (None, Some(path), false) => std::fs::read_to_string(path)
                .map(|text| SecretText::from(text.trim_end_matches(['\r', '\n'])))
                .map_err(|error| format!("client_secret_file: {}: {error}", path.display()))?,
            _ => {
                return Err(
                    "exactly one of client_secret, client_secret_file and public = true is required"
                        .into(),
                );
            }
        };
        let text = secret.expose();
        if text.len() < MIN_SECRET_CHARS || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("client_secret must have at least 32 characters, all visible ASCII".into());
        }
        Ok(Some(secret))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::Config;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn load(lines: &str) -> Result<Vec<ConfiguredClient>, ConfigError> {
        let none = std::iter::empty();
        let config: Config = service_kit::config::load_from("IDENTITY", Some(lines), none)?;
        config.check()?;
        read(&config.oauth_clients)
    }

    fn one(more: &str) -> Result<Vec<ConfiguredClient>, ConfigError> {
        load(&format!(
            "[[identity.oauth_clients]]\nclient_id = \"app\"\nname = \"App\"\n{more}\n"
        ))
    }

    #[test]
    fn a_client_is_read_from_the_file_with_all_its_properties() {
        let read = one(&format!(
            "client_secret = \"{SECRET}\"\nredirect_uris = [\"https://app.example.com/cb\"]\nscope = [\"openid\", \"teams\"]\n\
             first_party = true\nintrospect_any = true\nid_token_signed_response_alg = \"RS256\""
        ))
        .unwrap();
        let [client] = read.as_slice() else {
            panic!("one client")
        };
        assert_eq!(client.secret_hash, Some(hash_secret(SECRET)));
        assert_eq!(client.client.scope.to_string(), "openid teams");
        assert!(client.client.is_first_party && client.client.may_introspect_any);
        assert!(!format!("{:?}", one(&format!("client_secret = \"{SECRET}\""))).contains(SECRET));
        let public = one("public = true").unwrap();
        assert!(
            public
                .iter()
                .all(|it| it.secret_hash.is_none() && it.client.is_public)
        );
        assert_eq!(public[0].client.scope.to_string(), "openid profile email");
        assert_eq!(public[0].client.grant_types, None);
        let device = one("public = true\ngrant_types = [\"device_code\"]").unwrap();
        let grant_types = device[0].client.grant_types.clone().unwrap();
        assert_eq!(
            grant_types.names(),
            ["urn:ietf:params:oauth:grant-type:device_code"]
        );
    }

    #[test]
    fn the_secret_can_be_read_from_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, format!("{SECRET}\n")).unwrap();
        let read = one(&format!("client_secret_file = \"{}\"", path.display())).unwrap();
        assert_eq!(read[0].secret_hash, Some(hash_secret(SECRET)));
        assert!(one("client_secret_file = \"/no/such/file\"").is_err());
    }

    #[test]
    fn an_invalid_client_is_refused_and_its_key_named() {
        for bad in [
            "",
            "client_secret = \"short\"",
            &format!("client_secret = \"{SECRET} x\""),
            &format!("client_secret = \"{SECRET}\"\npublic = true"),
            "public = true\nintrospect_any = true",
            "public = true\nscope = [\"everything\"]",
            "public = true\nredirect_uris = [\"http://app.example.com\"]",
            "public = true\nid_token_signed_response_alg = \"none\"",
            "public = true\ngrant_types = [\"password\"]",
            "public = true\nnonsense = 1",
            "public = true\nname = \"\"",
        ] {
            let error = one(bad).unwrap_err().to_string();
            assert!(!error.contains(SECRET), "{error}");
            assert!(
                error.to_uppercase().contains("OAUTH_CLIENTS") || bad.contains("name ="),
                "{bad}: {error}"
            );
        }
        let hidden = "[[identity.oauth_clients]]\nclient_id = \"app\"\nname = \"A\u{202E}pp\"\npublic = true\n";
        assert!(load(hidden).is_err());
        let twice =
            "[[identity.oauth_clients]]\nclient_id = \"app\"\nname = \"App\"\npublic = true\n";
        assert!(load(&twice.repeat(2)).is_err());
        for id in ["", "-app", "a b", "a/b", "ä"] {
            let text = format!(
                "[[identity.oauth_clients]]\nclient_id = \"{id}\"\nname = \"App\"\npublic = true\n"
            );
            assert!(load(&text).is_err(), "{id}");
        }
    }
}
