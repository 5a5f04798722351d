use auth_types::{ScopeSet, UserId};
use secrecy::ExposeSecret as _;

use super::decision::{AuthorizeStep, RequestSource, SignedInUser, next_step};
use super::parameters::{ID_TOKEN_HINT, Parameters};
use super::request::{self, AuthorizationRequest};
use super::response::{AuthorizationError, AuthorizationResponse, ResponseRedirect};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::clients::{self, ResponseType};
use crate::oauth::codes::{self, NewCode};
use crate::oauth::consents;
use crate::oauth::grants::{self, NewGrant, OpenResult};
use crate::oauth::id_token::NewIdToken;
use crate::oauth::id_token_hint::{HintCheck, verify_hint};
use crate::oauth::pkce::CodeChallenge;
use crate::request_context::RequestContext;
use crate::transaction::Transaction;

/// The outcome of an authorization request.
pub(super) enum AuthorizeOutcome {
    /// The browser brings a response to the client.
    Reply(AuthorizationResponse),
    /// The sign-in page is shown. Afterwards, the request is repeated with these parameters.
    SignIn(Parameters),
    /// The registration page is shown. Afterwards, the request is repeated with these parameters.
    Register(Parameters),
    /// The user confirms their account, and the request is repeated with these parameters.
    SelectAccount(Box<(ValidRequest, Parameters)>),
    /// The consent page is shown for this request, which had these parameters.
    Ask(Box<(ValidRequest, Parameters)>),
    /// The client or redirect URI is invalid, so only the user sees the error (RFC 6749 section 4.1.2.1).
    Bad(&'static str),
}

/// Processes an authorization request as far as possible. After sign-in and consent, the same request arrives again. With
/// `looks_only`, as for a HEAD request, no code is issued.
pub(super) async fn authorize(
    app: &App,
    parameters: Parameters,
    user: Option<&CurrentUser>,
    source: RequestSource,
    looks_only: bool,
    context: &RequestContext,
) -> Result<AuthorizeOutcome, Error> {
    let valid = match read(app, &parameters).await? {
        Ok(valid) => valid,
        Err(outcome) => return Ok(outcome),
    };
    let now = app.clock.now();
    let signed_in = match user {
        Some(user) => Some(SignedInUser {
            id: user.account.id,
            at: user.session.authenticated_at,
            is_allowed: is_allowed(app, user, &valid).await?,
        }),
        None => None,
    };
    let step = next_step(&valid.request, source, signed_in, now.naive_utc());
    match (step, user) {
        (AuthorizeStep::Grant, Some(_)) if looks_only => {
            let nothing = valid.redirect.response(Vec::new(), &app.base_url);
            Ok(AuthorizeOutcome::Reply(nothing))
        }
        (AuthorizeStep::Grant, Some(user)) => grant(app, user, valid, source, context).await,
        (AuthorizeStep::Deny, Some(user)) => deny(app, user, valid, context).await,
        (AuthorizeStep::Refuse(refusal), _) => Ok(valid.refused(app, refusal)),
        (AuthorizeStep::Ask, _) => Ok(AuthorizeOutcome::Ask(Box::new((valid, parameters)))),
        (AuthorizeStep::SelectAccount, _) => Ok(AuthorizeOutcome::SelectAccount(Box::new((
            valid, parameters,
        )))),
        (AuthorizeStep::Register, _) => Ok(AuthorizeOutcome::Register(
            parameters.after_sign_in(true, now),
        )),
        // `next_step` grants and denies only with a user, so this is a sign-in.
        (AuthorizeStep::SignIn | AuthorizeStep::Grant | AuthorizeStep::Deny, _) => {
            let anew = user.is_some() || valid.request.requires_new_sign_in();
            let parameters = parameters.after_sign_in(anew, now);
            Ok(AuthorizeOutcome::SignIn(parameters))
        }
    }
}

/// A valid request with its client.
pub(super) struct ValidRequest {
    pub(super) client: OAuthClient,
    pub(super) request: AuthorizationRequest,
    /// The redirect URI exactly as in the request: the token request must repeat it (RFC 6749 section 4.1.3).
    redirect_uri: String,
    pub(super) redirect: ResponseRedirect,
}

impl ValidRequest {
    fn refused(&self, app: &App, refusal: AuthorizationError) -> AuthorizeOutcome {
        AuthorizeOutcome::Reply(self.redirect.refusal(refusal, &app.base_url))
    }
}

/// Reads and validates a request. The inner error is the outcome of an invalid one.
async fn read(
    app: &App,
    parameters: &Parameters,
) -> Result<Result<ValidRequest, AuthorizeOutcome>, Error> {
    let id = match request::client_id(parameters) {
        Ok(id) => id,
        Err(why) => return Ok(Err(AuthorizeOutcome::Bad(why))),
    };
    let Some(mut client) = clients::service::find_client(app, id).await? else {
        let why = "There is no client with this client_id";
        return Ok(Err(AuthorizeOutcome::Bad(why)));
    };
    client.requires_pkce_s256 |= app.require_pkce_s256;
    let (redirect_uri, redirect) = match request::find_redirect(&client, parameters) {
        Ok(known) => known,
        Err(why) => return Ok(Err(AuthorizeOutcome::Bad(why))),
    };
    let (mode, allow_plain) = (redirect.mode, app.allow_plain_pkce);
    let parsed = match AuthorizationRequest::parse(&client, parameters, mode, allow_plain) {
        Ok(request) => expect_user(app, &client, request, parameters).await?,
        Err(refusal) => Err(refusal),
    };
    Ok(match parsed {
        Ok(request) => Ok(ValidRequest {
            client,
            request,
            redirect_uri,
            redirect,
        }),
        Err(refusal) => {
            let refused = redirect.refusal(refusal, &app.base_url);
            Err(AuthorizeOutcome::Reply(refused))
        }
    })
}

/// Adds the account of `id_token_hint`, which must have been issued to this client: nobody else may ask whether a certain
/// user is signed in.
async fn expect_user(
    app: &App,
    client: &OAuthClient,
    mut request: AuthorizationRequest,
    parameters: &Parameters,
) -> Result<Result<AuthorizationRequest, AuthorizationError>, Error> {
    let Some(hint) = parameters.value(ID_TOKEN_HINT) else {
        return Ok(Ok(request));
    };
    Ok(match verify_hint(app, hint).await? {
        HintCheck::Valid(hint) if hint.aud == client.id => {
            request.expected_user = Some(hint.sub);
            Ok(request)
        }
        _ => Err(AuthorizationError::invalid(
            "id_token_hint is not an ID token of this client",
        )),
    })
}

async fn is_allowed(app: &App, user: &CurrentUser, valid: &ValidRequest) -> Result<bool, Error> {
    let client = &valid.client;
    if client.can_be_imitated_at(&valid.redirect.redirect_uri) {
        return Ok(false);
    }
    if client.is_first_party {
        return Ok(true);
    }
    let (id, scope) = (&client.id, valid.request.scope);
    consents::service::is_allowed(app, user.account.id, id, scope).await
}

/// How the user has allowed a client's request.
#[derive(Clone, Copy)]
struct Consent {
    /// Where they have just allowed it.
    given: Option<&'static str>,
    /// Whether the client needs consent at all.
    is_needed: bool,
}

impl Consent {
    /// Stores the consent if it was just given.
    ///
    /// # Errors
    /// [`Error::Forbidden`] if it was revoked since it was read.
    fn record(
        self,
        tx: &mut Transaction<'_>,
        user_id: UserId,
        client_id: &str,
        scope: ScopeSet,
    ) -> Result<(), Error> {
        match self.given {
            Some(by) => consents::service::allow(tx, user_id, client_id, scope, by),
            None if self.is_needed => consents::service::check(tx, user_id, client_id, scope),
            None => Ok(()),
        }
    }
}

/// Issues the code or the ID token, and stores the consent if it was just given.
async fn grant(
    app: &App,
    user: &CurrentUser,
    valid: ValidRequest,
    source: RequestSource,
    context: &RequestContext,
) -> Result<AuthorizeOutcome, Error> {
    let given = match source {
        RequestSource::Browser => None,
        RequestSource::Answered(_) => Some("page"),
        RequestSource::Bearer => Some("access_token"),
    };
    if given != Some("page") {
        // No user had to act for this response, so the rate is limited.
        app.rate_limits
            .check_silent_code(user.account.id, &valid.client.id)?;
    }
    let consent = Consent {
        given,
        is_needed: !valid.client.is_first_party,
    };
    let context = context.clone().for_caller(user);
    match valid.request.response_type {
        ResponseType::Code => grant_code(app, user, valid, consent, &context).await,
        ResponseType::IdToken => grant_id_token(app, user, valid, consent, &context).await,
    }
}

async fn grant_code(
    app: &App,
    user: &CurrentUser,
    valid: ValidRequest,
    consent: Consent,
    context: &RequestContext,
) -> Result<AuthorizeOutcome, Error> {
    let code = NewCode {
        client_id: valid.client.id,
        redirect_uri: valid.redirect_uri,
        scope: valid.request.scope,
        nonce: valid.request.nonce,
        challenge: valid.request.challenge,
    };
    let pkce = code
        .challenge
        .as_ref()
        .map_or("none", CodeChallenge::method);
    let is_other = valid.client.pkce_seen.as_deref() != Some(pkce);
    let user = user.clone();
    let code = app
        .transact(context, move |tx| {
            consent.record(tx, user.account.id, &code.client_id, code.scope)?;
            if is_other {
                clients::queries::set_pkce_seen(tx.db, &code.client_id, pkce)?;
            }
            codes::issue(tx, &user, &code)
        })
        .await?;
    let response = valid.redirect.code(code.expose_secret(), &app.base_url);
    Ok(AuthorizeOutcome::Reply(response))
}

/// Opens the client's session, and signs an ID token for it (OpenID Connect Core section 3.2). The token has the claims of
/// all granted scopes, because no access token is issued (section 5.4).
async fn grant_id_token(
    app: &App,
    user: &CurrentUser,
    valid: ValidRequest,
    consent: Consent,
    context: &RequestContext,
) -> Result<AuthorizeOutcome, Error> {
    let client = valid.client.clone();
    let (user_id, scope) = (user.account.id, valid.request.scope);
    let grant = NewGrant {
        client: client.clone(),
        user_id,
        scope,
        authorized_by: user.token.session_id.clone(),
        auth_time: user.session.authenticated_at,
        nonce: valid.request.nonce.clone(),
        by: "id_token",
        ends_with_sign_in: true,
    };
    let id = client.id.clone();
    let opened = grants::try_open(app, grant, context, move |tx, _| {
        consent.record(tx, user_id, &id, scope)?;
        Ok(true)
    });
    let OpenResult::Yes(granted) = opened.await? else {
        return Ok(valid.refused(app, AuthorizationError::login_required()));
    };
    let id_token = NewIdToken {
        client: &client,
        account: &granted.account,
        session_id: &granted.session.id,
        scope: granted.scope,
        auth_time: granted.auth_time,
        has_second_factor: granted.session.has_second_factor,
        nonce: granted.nonce.as_deref(),
    };
    let id_token = id_token.sign(app, None).await?;
    let response = valid.redirect.id_token(id_token, &app.base_url);
    Ok(AuthorizeOutcome::Reply(response))
}

async fn deny(
    app: &App,
    user: &CurrentUser,
    valid: ValidRequest,
    context: &RequestContext,
) -> Result<AuthorizeOutcome, Error> {
    let (user_id, client_id) = (user.account.id, valid.client.id.clone());
    app.transact(&context.clone().for_caller(user), move |tx| {
        consents::service::deny(tx, user_id, &client_id, "page")
    })
    .await?;
    let refusal = AuthorizationError::new("access_denied", "the user denied access");
    Ok(valid.refused(app, refusal))
}
