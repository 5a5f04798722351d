use auth_types::{Scope, ScopeSet};
use chrono::NaiveDateTime;

use super::grant_types::GrantTypes;
use super::metadata::{ClientMetadata, MAX_URIS};
use super::model::OAuthClient;
use super::redirect_uri;
use super::wire::CreateOAuthClientRequest;
use crate::error::Error;
use crate::names::parse_name;
use crate::tokens::SigningAlgorithm;

/// The validated properties of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewClient {
    pub(crate) name: String,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) scope: ScopeSet,
    pub(crate) is_public: bool,
    pub(crate) is_first_party: bool,
    pub(crate) may_introspect_any: bool,
    pub(crate) id_token_alg: SigningAlgorithm,
    pub(crate) requires_pkce_s256: bool,
    /// `None` keeps the stored grant types, and gives a new client the default ones.
    pub(crate) grant_types: Option<GrantTypes>,
    pub(crate) metadata: ClientMetadata,
}

impl TryFrom<CreateOAuthClientRequest> for NewClient {
    type Error = Error;

    fn try_from(wanted: CreateOAuthClientRequest) -> Result<Self, Error> {
        if wanted.is_public && wanted.may_introspect_any {
            return Err(refused(
                "a public client cannot introspect tokens: it has no secret to authenticate with",
            ));
        }
        wanted.metadata.check().map_err(refused)?;
        Ok(Self {
            name: parse_name(&wanted.name)?,
            redirect_uris: parse_uris(wanted.redirect_uris)?,
            scope: parse_scope(&wanted.scope.unwrap_or_default(), wanted.is_first_party)?,
            is_public: wanted.is_public,
            is_first_party: wanted.is_first_party,
            may_introspect_any: wanted.may_introspect_any,
            id_token_alg: parse_algorithm(wanted.id_token_signed_response_alg.as_deref())?,
            requires_pkce_s256: wanted.requires_pkce_s256,
            grant_types: GrantTypes::parse(&wanted.grant_types)?,
            metadata: wanted.metadata,
        })
    }
}

impl NewClient {
    /// Returns the client with this id, created at `now`.
    pub(super) fn into_client(
        self,
        id: String,
        secret_hash: Option<String>,
        now: NaiveDateTime,
    ) -> OAuthClient {
        OAuthClient {
            id,
            name: self.name,
            secret_hash,
            redirect_uris: self.redirect_uris,
            scope: self.scope,
            is_first_party: self.is_first_party,
            may_introspect_any: self.may_introspect_any,
            id_token_alg: self.id_token_alg,
            is_configured: false,
            created_at: now,
            updated_at: now,
            requires_pkce_s256: self.requires_pkce_s256,
            pkce_seen: None,
            grant_types: self.grant_types.unwrap_or_default(),
            metadata: self.metadata,
        }
    }
}

fn parse_uris(uris: Vec<String>) -> Result<Vec<String>, Error> {
    if uris.len() > MAX_URIS {
        return Err(refused("a client can have at most 20 redirect URIs"));
    }
    let mut parsed = Vec::new();
    for uri in uris {
        redirect_uri::check(&uri).map_err(refused)?;
        if !parsed.contains(&uri) {
            parsed.push(uri);
        }
    }
    Ok(parsed)
}

fn parse_scope(names: &str, is_first_party: bool) -> Result<ScopeSet, Error> {
    let scope = names.parse::<ScopeSet>().map_err(|unknown| {
        Error::Validation(format!("a scope must be one of {}", unknown.expected).into())
    })?;
    if scope.contains(Scope::Account) && !is_first_party {
        return Err(refused(
            "only first-party clients can have the scope `account`",
        ));
    }
    if scope.is_empty() && is_first_party {
        return Ok(ScopeSet::all());
    }
    if scope.is_empty() {
        return Ok([Scope::OpenId, Scope::Profile, Scope::Email]
            .into_iter()
            .collect());
    }
    Ok(scope)
}

fn parse_algorithm(name: Option<&str>) -> Result<SigningAlgorithm, Error> {
    match name {
        None => Ok(SigningAlgorithm::Rs256),
        Some(name) => SigningAlgorithm::parse(name)
            .ok_or_else(|| refused("id_token_signed_response_alg must be ES256 or RS256")),
    }
}

fn refused(sentence: &'static str) -> Error {
    Error::Validation(sentence.into())
}
