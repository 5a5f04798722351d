use secrecy::ExposeSecret as _;
use url::Url;

use super::decision::{AuthorizeStep, RequestSource, SignedInUser, next_step};
use super::parameters::{ID_TOKEN_HINT, Parameters};
use super::request::{self, AuthorizationRequest};
use super::response::{AuthorizationError, ResponseRedirect};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::oauth::clients;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::codes::{self, NewCode};
use crate::oauth::consents;
use crate::oauth::id_token_hint;
use crate::oauth::pkce::CodeChallenge;
use crate::request_context::RequestContext;

/// The outcome of an authorization request.
pub(super) enum AuthorizeOutcome {
    /// The browser is redirected to the client with a response.
    Reply(Url),
    /// The sign-in page is shown. Afterwards, the request is repeated with these parameters.
    SignIn(Parameters),
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
            Ok(AuthorizeOutcome::Reply(valid.redirect.redirect_uri))
        }
        (AuthorizeStep::Grant, Some(user)) => grant(app, user, valid, source, context).await,
        (AuthorizeStep::Deny, Some(user)) => deny(app, user, valid, context).await,
        (AuthorizeStep::Refuse(refusal), _) => Ok(valid.refused(app, refusal)),
        (AuthorizeStep::Ask, _) => Ok(AuthorizeOutcome::Ask(Box::new((valid, parameters)))),
        // `next_step` grants and denies only with a user, so this is a sign-in.
        (AuthorizeStep::SignIn | AuthorizeStep::Grant | AuthorizeStep::Deny, _) => {
            let anew = user.is_some() || valid.request.wants_new_sign_in();
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
    let parsed = match AuthorizationRequest::parse(&client, parameters, app.allow_plain_pkce) {
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
            let url = redirect.refusal(refusal, &app.base_url);
            Err(AuthorizeOutcome::Reply(url))
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
    let hint = id_token_hint::verify_hint(app, hint).await?;
    Ok(match hint.filter(|hint| hint.aud == client.id) {
        Some(hint) => {
            request.expected_user = Some(hint.sub);
            Ok(request)
        }
        None => Err(AuthorizationError::invalid(
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

/// Issues the code, and stores the consent if it was just given.
async fn grant(
    app: &App,
    user: &CurrentUser,
    valid: ValidRequest,
    source: RequestSource,
    context: &RequestContext,
) -> Result<AuthorizeOutcome, Error> {
    let allowed_by = match source {
        RequestSource::Browser => None,
        RequestSource::Answered(_) => Some("page"),
        RequestSource::Bearer => Some("access_token"),
    };
    if allowed_by != Some("page") {
        // No user had to act for this code, so the rate is limited.
        app.rate_limits
            .check_silent_code(user.account.id, &valid.client.id)?;
    }
    let code = NewCode {
        client_id: valid.client.id,
        redirect_uri: valid.redirect_uri,
        scope: valid.request.scope,
        nonce: valid.request.nonce,
        challenge: valid.request.challenge,
    };
    let asks = !valid.client.is_first_party;
    let pkce = code
        .challenge
        .as_ref()
        .map_or("none", CodeChallenge::method);
    let is_other = valid.client.pkce_seen.as_deref() != Some(pkce);
    let context = context.clone().for_caller(user);
    let user = user.clone();
    let code = app
        .transact(&context, move |tx| {
            let id = user.account.id;
            match allowed_by {
                Some(by) => consents::service::allow(tx, id, &code.client_id, code.scope, by)?,
                // The consent may have been revoked since it was read.
                None if asks => consents::service::check(tx, id, &code.client_id, code.scope)?,
                None => {}
            }
            if is_other {
                clients::queries::set_pkce_seen(tx.db, &code.client_id, pkce)?;
            }
            codes::issue(tx, &user, &code)
        })
        .await?;
    let url = valid.redirect.code(code.expose_secret(), &app.base_url);
    Ok(AuthorizeOutcome::Reply(url))
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
