use secrecy::ExposeSecret as _;
use url::Url;

use super::answer::{AuthorizationError, ResponseRedirect};
use super::decide::{AuthorizeStep, Way, next_step};
use super::parameters::Parameters;
use super::request::{self, AuthorizationRequest};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::oauth::clients;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::codes::{self, NewCode};
use crate::oauth::consents;
use crate::oauth::pkce::CodeChallenge;
use crate::origin::RequestContext;

/// The outcome of an authorization request.
pub(super) enum Outcome {
    /// The browser brings a response to the client.
    Reply(Url),
    /// The sign-in page is shown, and returns with these parameters.
    SignIn(Parameters),
    /// The consent page is shown for this request, which had these parameters.
    Ask(Box<(Good, Parameters)>),
    /// The client or redirect URI is invalid, so only the user sees the error (RFC 6749 section 4.1.2.1).
    Bad(&'static str),
}

/// Processes an authorization request as far as possible. After sign-in and consent, the same request arrives again. With
/// `looks_only`, no code is issued.
pub(super) async fn authorize(
    app: &App,
    parameters: Parameters,
    user: Option<&CurrentUser>,
    way: Way,
    looks_only: bool,
    origin: &RequestContext,
) -> Result<Outcome, Error> {
    let good = match read(app, &parameters).await? {
        Ok(good) => good,
        Err(outcome) => return Ok(outcome),
    };
    let now = app.clock.now();
    let is_allowed = match user {
        Some(user) => is_allowed(app, user, &good).await?,
        None => false,
    };
    let signed_in_at = user.map(|user| user.session.authenticated_at);
    let step = next_step(
        &good.request,
        way,
        signed_in_at,
        is_allowed,
        now.naive_utc(),
    );
    match (step, user) {
        (AuthorizeStep::Grant, Some(_)) if looks_only => {
            Ok(Outcome::Reply(good.reply_to.redirect_uri))
        }
        (AuthorizeStep::Grant, Some(user)) => grant(app, user, good, way, origin).await,
        (AuthorizeStep::Deny, Some(user)) => deny(app, user, good, origin).await,
        (AuthorizeStep::Refuse(refusal), _) => Ok(good.refused(app, refusal)),
        (AuthorizeStep::Ask, _) => Ok(Outcome::Ask(Box::new((good, parameters)))),
        (AuthorizeStep::SignIn | AuthorizeStep::Grant | AuthorizeStep::Deny, _) => {
            let anew = user.is_some() || good.request.wants_new_sign_in();
            Ok(Outcome::SignIn(parameters.after_sign_in(anew, now)))
        }
    }
}

/// A valid request with its client.
pub(super) struct Good {
    pub(super) client: OAuthClient,
    pub(super) request: AuthorizationRequest,
    /// The redirect URI exactly as in the request.
    redirect_uri: String,
    pub(super) reply_to: ResponseRedirect,
}

impl Good {
    fn refused(&self, app: &App, refusal: AuthorizationError) -> Outcome {
        Outcome::Reply(self.reply_to.refusal(refusal, &app.base_url))
    }
}

/// Reads and validates a request. The inner error is the outcome of an invalid one.
async fn read(app: &App, parameters: &Parameters) -> Result<Result<Good, Outcome>, Error> {
    let id = match request::client_id(parameters) {
        Ok(id) => id,
        Err(why) => return Ok(Err(Outcome::Bad(why))),
    };
    let Some(mut client) = clients::service::find_client(app, id).await? else {
        let why = "There is no client with this client_id";
        return Ok(Err(Outcome::Bad(why)));
    };
    client.requires_pkce_s256 |= app.require_pkce_s256;
    let (redirect_uri, reply_to) = match request::reply_to(&client, parameters) {
        Ok(known) => known,
        Err(why) => return Ok(Err(Outcome::Bad(why))),
    };
    Ok(
        match AuthorizationRequest::parse(&client, parameters, app.allow_plain_pkce) {
            Ok(request) => Ok(Good {
                client,
                request,
                redirect_uri,
                reply_to,
            }),
            Err(refusal) => Err(Outcome::Reply(reply_to.refusal(refusal, &app.base_url))),
        },
    )
}

async fn is_allowed(app: &App, user: &CurrentUser, good: &Good) -> Result<bool, Error> {
    if good.client.can_be_imitated_at(&good.reply_to.redirect_uri) {
        return Ok(false);
    }
    if good.client.is_first_party {
        return Ok(true);
    }
    let (id, scope) = (&good.client.id, good.request.scope);
    consents::service::is_allowed(app, user.account.id, id, scope).await
}

/// Issues the code, and stores the consent if it was given just now.
async fn grant(
    app: &App,
    user: &CurrentUser,
    good: Good,
    way: Way,
    origin: &RequestContext,
) -> Result<Outcome, Error> {
    let allowed_by = match way {
        Way::Browser => None,
        Way::Answered(_) => Some("page"),
        Way::Bearer => Some("access_token"),
    };
    if allowed_by != Some("page") {
        // No user had to act for this code, so the rate is limited.
        app.limits
            .check_silent_code(user.account.id, &good.client.id)?;
    }
    let code = NewCode {
        client_id: good.client.id,
        redirect_uri: good.redirect_uri,
        scope: good.request.scope,
        nonce: good.request.nonce,
        challenge: good.request.challenge,
    };
    let asks = !good.client.is_first_party;
    let pkce = code
        .challenge
        .as_ref()
        .map_or("none", CodeChallenge::method);
    let is_other = good.client.pkce_seen.as_deref() != Some(pkce);
    let origin = origin.clone().of(user);
    let user = user.clone();
    let code = app
        .transact(&origin, move |tx| {
            let id = user.account.id;
            match allowed_by {
                Some(by) => consents::service::allow(tx, id, &code.client_id, code.scope, by)?,
                None if asks => consents::service::hold(tx, id, &code.client_id, code.scope)?,
                None => {}
            }
            if is_other {
                clients::queries::set_pkce_seen(tx.db, &code.client_id, pkce)?;
            }
            codes::issue(tx, &user, &code)
        })
        .await?;
    let url = good.reply_to.code(code.expose_secret(), &app.base_url);
    Ok(Outcome::Reply(url))
}

async fn deny(
    app: &App,
    user: &CurrentUser,
    good: Good,
    origin: &RequestContext,
) -> Result<Outcome, Error> {
    let (user_id, client_id) = (user.account.id, good.client.id.clone());
    app.transact(&origin.clone().of(user), move |tx| {
        consents::service::deny(tx, user_id, &client_id, "page")
    })
    .await?;
    let refusal = AuthorizationError::new("access_denied", "the user denied the access");
    Ok(good.refused(app, refusal))
}
