use auth_types::{Scope, ScopeSet};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use secrecy::SecretString;
use service_kit::crypto::sha256;
use url::Url;

use super::grant_types::{GrantType, GrantTypes};
use super::metadata::ClientMetadata;
use super::redirect_uri;
use crate::error::Error;
use crate::oauth::error::OAuthError;
use crate::schema::oauth_clients;
use crate::tokens::SigningAlgorithm;

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = oauth_clients, treat_none_as_null = true)]
pub(crate) struct ClientRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) secret_hash: Option<String>,
    pub(crate) redirect_uris: String,
    pub(crate) scope: String,
    pub(crate) is_first_party: bool,
    pub(crate) may_introspect_any: bool,
    pub(crate) id_token_alg: String,
    pub(crate) is_configured: bool,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
    pub(crate) requires_pkce_s256: bool,
    pub(crate) pkce_seen: Option<String>,
    pub(crate) grant_types: String,
    pub(crate) metadata: String,
}

/// A registered program that requests access to accounts (RFC 6749 section 2).
#[derive(Debug, Clone)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The SHA-256 of the secret; `None` for a public client, which cannot keep one (section 2.1).
    pub(crate) secret_hash: Option<String>,
    pub(crate) redirect_uris: Vec<String>,
    /// The scopes that the client may request, and gets if it requests none.
    pub(crate) scope: ScopeSet,
    /// Whether the client is the product's own. It needs no consent where it cannot be imitated.
    pub(crate) is_first_party: bool,
    /// Whether the client may introspect tokens that were not issued to it.
    pub(crate) may_introspect_any: bool,
    pub(crate) id_token_alg: SigningAlgorithm,
    /// Whether the configuration file defines the client.
    pub(crate) is_configured: bool,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
    /// Whether the client gets codes only with an S256 code challenge.
    pub(crate) requires_pkce_s256: bool,
    /// The challenge method of its last code: `none` for a code without a challenge.
    pub(crate) pkce_seen: Option<String>,
    pub(crate) grant_types: GrantTypes,
    pub(crate) metadata: ClientMetadata,
}

impl OAuthClient {
    pub(crate) fn is_public(&self) -> bool {
        self.secret_hash.is_none()
    }

    /// Whether responses may be sent to this URI. It must equal a registered one (RFC 9700 section 2.1). Only the port of a
    /// loopback address may differ, because a native app cannot choose it (RFC 8252 section 7.3).
    pub(crate) fn allows_redirect(&self, given: &str) -> bool {
        self.redirect_uris
            .iter()
            .any(|registered| redirect_uri::matches(registered, given))
    }

    /// Whether the browser may go to this address after a sign-out. As for redirect URIs, only the port of a loopback
    /// address may differ.
    pub(crate) fn allows_post_logout_redirect(&self, given: &str) -> bool {
        self.metadata
            .post_logout_redirect_uris
            .iter()
            .any(|registered| redirect_uri::matches(registered, given))
    }

    /// Whether any program on the user's machine could pass for the client at this redirect URI. A public client has no
    /// secret that tells it apart (RFC 8252 section 8.6).
    pub(crate) fn can_be_imitated_at(&self, redirect_uri: &Url) -> bool {
        self.is_public() && redirect_uri::is_on_users_machine(redirect_uri)
    }

    /// Returns the origins of the client's redirect URIs, as [`redirect_uri::comparable_origin`].
    pub(super) fn origins(&self) -> impl Iterator<Item = String> {
        let uris = self.redirect_uris.iter();
        uris.filter_map(|uri| redirect_uri::origin(uri))
    }

    /// Whether the client has a redirect URI of this origin, which a browser sent.
    pub(crate) fn has_origin(&self, origin: &str) -> bool {
        let origin = redirect_uri::comparable_origin(origin);
        self.origins().any(|registered| registered == origin)
    }

    /// Returns what the client may request: the scopes it is registered for, and `offline_access` if it may refresh.
    pub(crate) fn allowed_scope(&self) -> ScopeSet {
        let offline = self.may_use(GrantType::RefreshToken);
        let offline = offline.then_some(Scope::OfflineAccess);
        self.scope.union(offline.into_iter().collect())
    }

    /// Whether the client is registered for the grant type.
    pub(crate) fn may_use(&self, grant_type: GrantType) -> bool {
        self.grant_types.contains(grant_type)
    }

    /// # Errors
    /// `unauthorized_client` if the client is not registered for the grant type.
    pub(crate) fn check_grant_type(&self, grant_type: GrantType) -> Result<(), OAuthError> {
        match self.may_use(grant_type) {
            true => Ok(()),
            false => Err(OAuthError::UnauthorizedClient(grant_type.as_str())),
        }
    }

    pub(crate) fn has_secret(&self, presented: &str) -> bool {
        let Some(stored) = &self.secret_hash else {
            return false;
        };
        let presented = hash_secret(presented);
        verify_slices_are_equal(stored.as_bytes(), presented.as_bytes()).is_ok()
    }
}

impl TryFrom<ClientRow> for OAuthClient {
    type Error = Error;

    fn try_from(row: ClientRow) -> Result<Self, Error> {
        let unreadable = |column: &str, why: &dyn std::fmt::Display| {
            Error::internal(&format!("oauth_clients.{column}"), why)
        };
        let redirect_uris = serde_json::from_str(&row.redirect_uris)
            .map_err(|error| unreadable("redirect_uris", &error))?;
        let scope = row.scope.parse();
        Ok(Self {
            redirect_uris,
            scope: scope.map_err(|error: auth_types::UnknownName| unreadable("scope", &error))?,
            id_token_alg: SigningAlgorithm::parse(&row.id_token_alg)
                .ok_or_else(|| unreadable("id_token_alg", &row.id_token_alg))?,
            id: row.id,
            name: row.name,
            secret_hash: row.secret_hash,
            is_first_party: row.is_first_party,
            may_introspect_any: row.may_introspect_any,
            is_configured: row.is_configured,
            created_at: row.created_at,
            updated_at: row.updated_at,
            requires_pkce_s256: row.requires_pkce_s256,
            pkce_seen: row.pkce_seen,
            grant_types: GrantTypes::parse(&[row.grant_types])?.unwrap_or_default(),
            metadata: serde_json::from_str(&row.metadata)
                .map_err(|error| unreadable("metadata", &error))?,
        })
    }
}

impl From<&OAuthClient> for ClientRow {
    fn from(client: &OAuthClient) -> Self {
        let uris = client.redirect_uris.as_slice();
        Self {
            id: client.id.clone(),
            name: client.name.clone(),
            secret_hash: client.secret_hash.clone(),
            redirect_uris: serde_json::Value::from(uris).to_string(),
            scope: client.scope.to_string(),
            is_first_party: client.is_first_party,
            may_introspect_any: client.may_introspect_any,
            id_token_alg: client.id_token_alg.as_str().to_owned(),
            is_configured: client.is_configured,
            created_at: client.created_at,
            updated_at: client.updated_at,
            requires_pkce_s256: client.requires_pkce_s256,
            pkce_seen: client.pkce_seen.clone(),
            grant_types: client.grant_types.to_string(),
            metadata: serde_json::json!(client.metadata).to_string(),
        }
    }
}

/// A client with the secret that was just generated, if it has one.
pub(crate) struct ClientWithSecret {
    pub(crate) client: OAuthClient,
    pub(crate) secret: Option<SecretString>,
}

#[cfg(test)]
impl OAuthClient {
    /// Returns a confidential client of `https://app.example.com/cb` that may request `openid profile email`.
    pub(crate) fn sample() -> Self {
        Self {
            id: "sample".to_owned(),
            name: "A sample".to_owned(),
            secret_hash: Some(hash_secret("secret")),
            redirect_uris: vec!["https://app.example.com/cb".to_owned()],
            scope: [Scope::OpenId, Scope::Profile, Scope::Email]
                .into_iter()
                .collect(),
            is_first_party: false,
            may_introspect_any: false,
            id_token_alg: SigningAlgorithm::Es256,
            is_configured: false,
            created_at: NaiveDateTime::default(),
            updated_at: NaiveDateTime::default(),
            requires_pkce_s256: false,
            pkce_seen: None,
            grant_types: GrantTypes::default(),
            metadata: ClientMetadata::default(),
        }
    }
}

/// Hashes a secret for storage. Secrets are too long to guess, so a fast hash is enough.
pub(crate) fn hash_secret(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(secret.as_bytes()))
}
