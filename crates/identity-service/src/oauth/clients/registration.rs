use auth_types::{Scope, ScopeSet};

use super::grant_types::GrantTypes;
use super::redirect;
use crate::error::Error;
use crate::names::parse_name;
use crate::tokens::SigningAlgorithm;

/// Addresses that one client can have.
const MAX_REDIRECT_URIS: usize = 20;

/// What a client is to be, checked.
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
    /// None when nobody said: those that it had, or the usual ones.
    pub(crate) grant_types: Option<GrantTypes>,
}

/// What a client is to be, as somebody wrote it.
#[derive(Debug, Default)]
pub(crate) struct Registration {
    pub(crate) name: String,
    pub(crate) redirect_uris: Vec<String>,
    /// Names of scopes, one or more in each text; `openid profile email` when there is none, all for a
    /// first-party client.
    pub(crate) scope: Vec<String>,
    pub(crate) is_public: bool,
    pub(crate) is_first_party: bool,
    pub(crate) may_introspect_any: bool,
    /// ES256 when not given.
    pub(crate) id_token_alg: Option<String>,
    pub(crate) requires_pkce_s256: bool,
    /// Names of grant types, one or more in each text; `authorization_code refresh_token` when there is none.
    pub(crate) grant_types: Vec<String>,
}

impl TryFrom<Registration> for NewClient {
    type Error = Error;

    fn try_from(wanted: Registration) -> Result<Self, Error> {
        if wanted.is_public && wanted.may_introspect_any {
            return Err(refused(
                "a public client cannot introspect tokens: it has no secret to authenticate with",
            ));
        }
        Ok(Self {
            name: parse_name(&wanted.name)?,
            redirect_uris: parse_uris(wanted.redirect_uris)?,
            scope: parse_scope(&wanted.scope, wanted.is_first_party)?,
            is_public: wanted.is_public,
            is_first_party: wanted.is_first_party,
            may_introspect_any: wanted.may_introspect_any,
            id_token_alg: parse_algorithm(wanted.id_token_alg.as_deref())?,
            requires_pkce_s256: wanted.requires_pkce_s256,
            grant_types: GrantTypes::parse(&wanted.grant_types)?,
        })
    }
}

fn parse_uris(uris: Vec<String>) -> Result<Vec<String>, Error> {
    if uris.len() > MAX_REDIRECT_URIS {
        return Err(refused("a client has at most 20 redirect URIs"));
    }
    let mut parsed = Vec::new();
    for uri in uris {
        redirect::check(&uri).map_err(refused)?;
        if !parsed.contains(&uri) {
            parsed.push(uri);
        }
    }
    Ok(parsed)
}

fn parse_scope(names: &[String], is_first_party: bool) -> Result<ScopeSet, Error> {
    let scope = names.join(" ").parse::<ScopeSet>().map_err(|unknown| {
        Error::Validation(format!("a scope is one of {}", unknown.expected).into())
    })?;
    if scope.contains(Scope::Account) && !is_first_party {
        return Err(refused(
            "only first-party clients may have the scope `account`",
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
        None => Ok(SigningAlgorithm::Es256),
        Some(name) => SigningAlgorithm::parse(name)
            .ok_or_else(|| refused("id_token_signed_response_alg is ES256 or RS256")),
    }
}

fn refused(sentence: &'static str) -> Error {
    Error::Validation(sentence.into())
}
