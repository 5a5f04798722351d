//! The validation of authorization requests.

use auth_types::{Scope, ScopeSet, UserId};
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use url::Url;

use super::parameters::{ParameterError, Parameters, SIGNED_IN_AFTER};
use super::response::{AuthorizationError, ResponseMode, ResponseRedirect};
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::clients::{GrantType, ResponseType};
use crate::oauth::pkce::CodeChallenge;

/// The maximum length of a nonce. Clients send some random bytes.
const MAX_NONCE_CHARS: usize = 512;
const FORM_POST: &str = "form_post";
/// The maximum size of a query, in bytes. The sign-in page could not return to a longer one.
const MAX_QUERY_BYTES: usize = 3_800;

/// A valid authorization request.
#[derive(Debug, Clone)]
pub(crate) struct AuthorizationRequest {
    pub(super) response_type: ResponseType,
    pub(super) scope: ScopeSet,
    pub(super) challenge: Option<CodeChallenge>,
    pub(super) nonce: Option<String>,
    pub(super) prompt: Prompt,
    pub(super) max_age: MaxAge,
    /// The account that `id_token_hint` names.
    pub(super) expected_user: Option<UserId>,
}

/// The parameter `prompt` (OpenID Connect Core section 3.1.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Prompt {
    /// No page may be shown.
    pub(super) none: bool,
    /// The user must sign in again, perhaps with another account.
    pub(super) login: bool,
    /// The user must be asked for consent, even if they gave it before.
    pub(super) consent: bool,
    /// A user who is signed in must confirm their account, or choose another one.
    pub(super) select_account: bool,
    /// The user must register a new account (Initiating User Registration via OpenID Connect section 4).
    pub(super) create: bool,
}

/// The limits on the age of the sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MaxAge {
    max_age: Option<TimeDelta>,
    after: Option<DateTime<Utc>>,
}

/// Returns the client id of a request. The error is a sentence for the user.
pub(super) fn client_id(parameters: &Parameters) -> Result<&str, &'static str> {
    if parameters.query().len() > MAX_QUERY_BYTES {
        return Err("The request is too long");
    }
    match parameters.get("client_id") {
        Ok(Some(id)) => Ok(id),
        Ok(None) => Err("The request has no client_id"),
        Err(_) => Err("The client_id cannot be read"),
    }
}

/// Returns the redirect URI as written, and the target of responses. A browser is never sent to a URI that is not
/// registered for the client (RFC 9700 section 4.1.3).
pub(super) fn find_redirect(
    client: &OAuthClient,
    parameters: &Parameters,
) -> Result<(String, ResponseRedirect), &'static str> {
    let given = match parameters.get("redirect_uri") {
        Ok(Some(given)) => given,
        Ok(None) => return Err("The request has no redirect_uri"),
        Err(_) => return Err("The redirect_uri cannot be read"),
    };
    let address = Url::parse(given).ok();
    let known = address.filter(|_| client.allows_redirect(given));
    let redirect_uri = known.ok_or("The redirect_uri is not registered for this client")?;
    // An unreadable state is not sent back either.
    let state = parameters.value("state").map(str::to_owned);
    // A browser can post a form to a server, but not to an app with a private-use scheme.
    let is_form = parameters.value("response_mode") == Some(FORM_POST);
    let mode = match redirect_uri.scheme() {
        "http" | "https" if is_form => ResponseMode::FormPost,
        _ => ResponseMode::Query,
    };
    let redirect = ResponseRedirect {
        redirect_uri,
        state,
        mode,
    };
    Ok((given.to_owned(), redirect))
}

impl AuthorizationRequest {
    /// Validates the parameters of a client's request. The error is for the client.
    pub(super) fn parse(
        client: &OAuthClient,
        parameters: &Parameters,
        mode: ResponseMode,
        allow_plain: bool,
    ) -> Result<Self, AuthorizationError> {
        if let Some((name, why)) = parameters.unreadable() {
            return Err(AuthorizationError::invalid(match why {
                ParameterError::Doubled => format!("the parameter {name} is given twice"),
                ParameterError::Garbled => {
                    format!("the parameter {name} has characters that none can have")
                }
            }));
        }
        let response_type = response_type(client, parameters, mode)?;
        let challenge = code_challenge(client, response_type, parameters, allow_plain)?;
        let get = |name| parameters.value(name);
        let nonce = get("nonce").map(str::to_owned);
        if nonce
            .as_ref()
            .is_some_and(|nonce| nonce.chars().count() > MAX_NONCE_CHARS)
        {
            return Err(AuthorizationError::invalid("nonce is too long"));
        }
        let scope = scope_for(client, get("scope"))?;
        if response_type == ResponseType::IdToken {
            // Core section 3.2.2.1. Without a code, only the nonce ties the token to the browser that asked for it.
            if nonce.is_none() {
                return Err(AuthorizationError::invalid("nonce is missing"));
            }
            if !scope.contains(Scope::OpenId) {
                return Err(AuthorizationError::new(
                    "invalid_scope",
                    "the scope openid is required for an ID token",
                ));
            }
        }
        Ok(Self {
            response_type,
            scope,
            challenge,
            nonce,
            prompt: Prompt::parse(get("prompt").unwrap_or_default())?,
            max_age: MaxAge {
                max_age: get("max_age").map(seconds).transpose()?,
                after: get(SIGNED_IN_AFTER).and_then(moment),
            },
            expected_user: None,
        })
    }

    /// Whether a sign-in counts only if it is new: the request demands or limits its age, or leaves the
    /// choice of the account to the user or to the hint.
    pub(super) fn requires_new_sign_in(&self) -> bool {
        let prompt = self.prompt;
        prompt.login
            || prompt.create
            || prompt.select_account
            || self.max_age != MaxAge::default()
            || self.expected_user.is_some()
    }
}

/// Returns the scope that a client gets: what it may have of the requested one (OpenID Connect Core section 3.1.2.1), or all
/// that it is registered for if it requests none.
pub(crate) fn scope_for(
    client: &OAuthClient,
    asked: Option<&str>,
) -> Result<ScopeSet, AuthorizationError> {
    let Some(asked) = asked else {
        return Ok(client.scope);
    };
    let scope = ScopeSet::parse_known(asked).intersection(client.allowed_scope());
    if scope.is_empty() {
        return Err(AuthorizationError::new(
            "invalid_scope",
            "this client may request none of these scopes",
        ));
    }
    Ok(scope)
}

/// Returns the response type, if the client may use it in this mode. Refuses request objects and registration parameters.
fn response_type(
    client: &OAuthClient,
    parameters: &Parameters,
    mode: ResponseMode,
) -> Result<ResponseType, AuthorizationError> {
    for (name, code) in [
        ("request", "request_not_supported"),
        ("request_uri", "request_uri_not_supported"),
        ("registration", "registration_not_supported"),
    ] {
        if parameters.value(name).is_some() {
            return Err(AuthorizationError::new(
                code,
                "the parameters must be in the query",
            ));
        }
    }
    let response_type = match parameters.value("response_type") {
        Some("code") => ResponseType::Code,
        Some("id_token") => ResponseType::IdToken,
        None => return Err(AuthorizationError::invalid("response_type is missing")),
        Some(_) => {
            return Err(AuthorizationError::new(
                "unsupported_response_type",
                "response_type must be code or id_token",
            ));
        }
    };
    let may_use = client.metadata.response_types.contains(&response_type);
    let has_grant = client.may_use(GrantType::AuthorizationCode);
    if !may_use || response_type == ResponseType::Code && !has_grant {
        return Err(AuthorizationError::new(
            "unauthorized_client",
            "the client is not registered for this response_type or its grant type",
        ));
    }
    match (parameters.value("response_mode"), mode) {
        // RFC 9700 section 4.3: an address, which histories and logs keep, carries no token.
        _ if response_type == ResponseType::IdToken && mode != ResponseMode::FormPost => Err(
            AuthorizationError::invalid("response_type=id_token requires response_mode=form_post"),
        ),
        (None | Some("query"), _) | (Some(FORM_POST), ResponseMode::FormPost) => Ok(response_type),
        (Some(FORM_POST), ResponseMode::Query) => Err(AuthorizationError::invalid(
            "response_mode=form_post requires an http or https redirect_uri",
        )),
        (Some(_), _) => Err(AuthorizationError::invalid(
            "response_mode must be query or form_post",
        )),
    }
}

/// Returns the code challenge, if there is one. Without a code there is nothing to protect with it.
fn code_challenge(
    client: &OAuthClient,
    response_type: ResponseType,
    parameters: &Parameters,
    allow_plain: bool,
) -> Result<Option<CodeChallenge>, AuthorizationError> {
    if response_type != ResponseType::Code {
        return Ok(None);
    }
    let get = |name| parameters.value(name);
    let (challenge, method) = (get("code_challenge"), get("code_challenge_method"));
    let challenge = CodeChallenge::parse(challenge, method, allow_plain)
        .map_err(AuthorizationError::invalid)?;
    // RFC 9700 section 2.1.1: only PKCE proves that a public client redeems its own code.
    if client.is_public() && challenge.is_none() {
        return Err(AuthorizationError::invalid(
            "a public client must send a code_challenge",
        ));
    }
    if client.requires_pkce_s256 && !challenge.as_ref().is_some_and(CodeChallenge::is_s256) {
        return Err(AuthorizationError::invalid(
            "code_challenge with code_challenge_method=S256 is required",
        ));
    }
    Ok(challenge)
}

impl Prompt {
    fn parse(text: &str) -> Result<Self, AuthorizationError> {
        let mut prompt = Self::default();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            match word {
                "none" => prompt.none = true,
                "login" => prompt.login = true,
                "select_account" => prompt.select_account = true,
                "create" => prompt.create = true,
                "consent" => prompt.consent = true,
                _ => return Err(AuthorizationError::invalid("prompt has an unknown value")),
            }
        }
        if prompt.none && text.split(' ').any(|word| !matches!(word, "" | "none")) {
            return Err(AuthorizationError::invalid(
                "prompt=none must be the only value",
            ));
        }
        Ok(prompt)
    }
}

impl MaxAge {
    /// Whether the user was sent to the sign-in page for this request.
    pub(super) fn follows_sign_in(self) -> bool {
        self.after.is_some()
    }

    /// Whether a sign-in at this time is recent enough.
    pub(super) fn covers(self, signed_in_at: NaiveDateTime, now: NaiveDateTime) -> bool {
        let young = self.max_age.is_none_or(|most| now - signed_in_at <= most);
        young
            && self
                .after
                .is_none_or(|after| signed_in_at >= after.naive_utc())
    }
}

fn seconds(text: &str) -> Result<TimeDelta, AuthorizationError> {
    let refusal = AuthorizationError::invalid("max_age must be a number of seconds");
    let seconds: u32 = text.parse().map_err(|_| refusal)?;
    Ok(TimeDelta::seconds(seconds.into()))
}

fn moment(text: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(text.parse().ok()?)
}

#[cfg(test)]
mod tests;
