//! Argument types of handlers for the authenticated caller.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::AUTHORIZATION;
use auth_types::{AccountRole, BearerError, bearer_token};
use chrono::{DateTime, TimeDelta, Utc};

use crate::accounts::model::{AccountRow, Viewer};
use crate::app::App;
use crate::error::Error;
use crate::oauth::clients::lookup::find_known_client;
use crate::request_context::{RequestContext, SessionCheck};
use crate::sessions;
use crate::sessions::model::SessionState;
use crate::token_access::{self, ClientAccess, TokenAccess};
use crate::tokens::access_token::VerifiedToken;
use crate::totp;

/// Implements `FromRequest` for a type with an async function that builds it from the request.
macro_rules! extract_by {
    ($argument:ty, $error:ty, $function:expr) => {
        impl actix_web::FromRequest for $argument {
            type Error = $error;
            type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self, $error>>>>;

            fn from_request(
                req: &actix_web::HttpRequest,
                _: &mut actix_web::dev::Payload,
            ) -> Self::Future {
                let req = req.clone();
                Box::pin(async move { $function(&req).await })
            }
        }
    };
}
pub(crate) use extract_by;

extract_by!(CurrentUser, Error, current_user);
extract_by!(SuperAdmin, Error, super_admin);
extract_by!(MaybeUser, Error, maybe_user);

/// The account, session and access token of the request, once the token has been verified.
#[derive(Clone)]
pub(crate) struct CurrentUser {
    pub(crate) account: Arc<AccountRow>,
    pub(crate) session: SessionState,
    pub(crate) token: Arc<VerifiedToken>,
}

impl CurrentUser {
    /// Returns how the caller sees their own account: with the e-mail address, unless the token's scopes hide it.
    pub(crate) fn of_themselves(&self) -> Viewer {
        Viewer::from_access(&self.token.access)
    }
}

/// A SUPERADMIN who signed in at most [`ADMIN_SIGN_IN_AGE`] ago.
pub(crate) struct SuperAdmin(pub(crate) CurrentUser);

/// The maximum age of a sign-in for administering other accounts.
const ADMIN_SIGN_IN_AGE: TimeDelta = TimeDelta::hours(12);

/// The error message for a SUPERADMIN without a second factor, where administration requires one.
pub(crate) const SECOND_FACTOR_MISSING: &str = "this requires a second factor; set one up at /account/second-factor, or with POST /api/auth/totp/setup";

/// The caller of an endpoint that needs no token. An invalid token counts as none.
pub(crate) struct MaybeUser(pub(crate) Option<CurrentUser>);

/// Returns the caller, if the endpoint table accepts their token at this endpoint.
pub(crate) async fn current_user(req: &HttpRequest) -> Result<CurrentUser, Error> {
    current_user_of_token(req, bearer(req)?).await
}

/// As [`current_user`], with a token from elsewhere than the header.
pub(crate) async fn current_user_of_token(
    req: &HttpRequest,
    token: &str,
) -> Result<CurrentUser, Error> {
    let caller = identify_token(&*App::from_request(req)?, token).await?;
    let pattern = req.match_pattern().unwrap_or_default();
    if !token_access::allows(&caller.token.access, req.method().as_str(), &pattern) {
        return Err(Error::InsufficientScope);
    }
    Ok(caller)
}

/// Extracts the bearer token from the request, without verifying it.
pub(crate) fn bearer(req: &HttpRequest) -> Result<&str, Error> {
    let headers = req
        .headers()
        .get_all(AUTHORIZATION)
        .map(|value| value.as_bytes());
    bearer_token(headers).map_err(|error| match error {
        BearerError::Missing => Error::AuthenticationRequired,
        BearerError::Malformed => Error::InvalidToken,
    })
}

/// Verifies an access token, then checks that its session and account are still valid. Does not check what the token may
/// be used for; callers of this function do.
pub(crate) async fn identify_token(app: &App, token: &str) -> Result<CurrentUser, Error> {
    let token = verify_token(app, token, app.clock.now()).await?;
    let (session, account) = live_session(app, &token).await?;
    Ok(CurrentUser {
        account,
        session,
        token,
    })
}

/// Verifies an access token, and takes from it what its client may no longer have.
///
/// # Errors
/// [`Error::TokenRevoked`] if the client is deleted, and those of [`AccessTokens::verify`].
///
/// [`AccessTokens::verify`]: crate::tokens::access_token::AccessTokens::verify
pub(crate) async fn verify_token(
    app: &App,
    token: &str,
    now: DateTime<Utc>,
) -> Result<Arc<VerifiedToken>, Error> {
    let token = app.tokens.verify(token, now).await?;
    let TokenAccess::Client(access) = &token.access else {
        return Ok(token);
    };
    let client = find_known_client(app, &access.client_id).await?;
    let client = client.ok_or(Error::TokenRevoked)?;
    let allowed = ClientAccess {
        client_id: access.client_id.clone(),
        scope: access.scope.intersection(client.allowed_scope()),
        is_first_party: access.is_first_party && client.is_first_party,
    };
    if allowed == *access {
        return Ok(token);
    }
    Ok(Arc::new(VerifiedToken {
        access: TokenAccess::Client(allowed),
        ..(*token).clone()
    }))
}

/// Returns session and account of a verified token, if neither has been ended or deactivated. Reads the cache while
/// the change feed is alive, and the database otherwise.
pub(crate) async fn live_session(
    app: &App,
    token: &VerifiedToken,
) -> Result<(SessionState, Arc<AccountRow>), Error> {
    let ticket = app.cache.ticket();
    let known = ticket.and_then(|ticket| {
        let session = app.cache.session(ticket, &token.session_id)?;
        Some((session, app.cache.user(ticket, token.user_id)?))
    });
    let (session, account) = match known {
        Some(known) => known,
        None => {
            let sid = token.session_id.clone();
            let found = app
                .read(move |db| sessions::queries::find_session_account(db, &sid))
                .await?;
            let (session, account) = found.ok_or(Error::TokenRevoked)?;
            let account = Arc::new(account);
            if let Some(ticket) = ticket {
                app.cache
                    .insert_session(ticket, &token.session_id, session, &account);
            }
            (session, account)
        }
    };
    if session.revoked_at.is_some() || !account.is_active || account.id != token.user_id {
        return Err(Error::TokenRevoked);
    }
    // The last access token of a session can expire later than the session itself.
    if session.expires_at <= app.clock.now_naive() {
        return Err(Error::TokenExpired);
    }
    Ok((session, account))
}

/// Whether the caller has a second factor, or this installation requires none for administration.
pub(crate) async fn has_factor_of_admin(app: &App, caller: &CurrentUser) -> Result<bool, Error> {
    let id = caller.account.id;
    Ok(!app.require_admin_totp || app.read(move |db| totp::is_on(db, id)).await?)
}

async fn maybe_user(req: &HttpRequest) -> Result<MaybeUser, Error> {
    match current_user(req).await {
        Ok(user) => Ok(MaybeUser(Some(user))),
        Err(Error::InsufficientScope) => Ok(MaybeUser(None)),
        Err(error) if error.is_unauthorized() => Ok(MaybeUser(None)),
        Err(error) => Err(error),
    }
}

async fn super_admin(req: &HttpRequest) -> Result<SuperAdmin, Error> {
    let caller = current_user(req).await?;
    let app = App::from_request(req)?;
    SuperAdmin::new(&app, caller).await
}

impl SuperAdmin {
    /// Checks that the caller may administer other accounts.
    ///
    /// # Errors
    /// [`Error::Forbidden`] without the role, after a sign-in too long ago, or without a second factor where one is required.
    pub(crate) async fn new(app: &App, caller: CurrentUser) -> Result<Self, Error> {
        if caller.account.role()? != AccountRole::Superadmin {
            return Err(Error::Forbidden("only a SUPERADMIN may do this"));
        }
        if app.clock.now_naive() - caller.session.authenticated_at > ADMIN_SIGN_IN_AGE {
            return Err(Error::Forbidden(
                "this requires a sign-in within the last 12 hours; sign in again",
            ));
        }
        if !has_factor_of_admin(app, &caller).await? {
            return Err(Error::Forbidden(SECOND_FACTOR_MISSING));
        }
        Ok(Self(caller))
    }
}

impl RequestContext {
    /// Adds the signed-in caller as the actor, and the session check of their token.
    pub(crate) fn for_caller(mut self, caller: &CurrentUser) -> Self {
        self.actor = Some(caller.account.id);
        self.session_check = Some(SessionCheck {
            session_id: caller.token.session_id.clone(),
            superadmin: false,
        });
        self
    }

    /// Adds an administrator as the actor. The session check then requires the role SUPERADMIN.
    pub(crate) fn for_admin(self, SuperAdmin(caller): &SuperAdmin) -> Self {
        let mut context = self.for_caller(caller);
        if let Some(check) = &mut context.session_check {
            check.superadmin = true;
        }
        context
    }

    /// Adds the session whose cookie the browser replaces, if it had one.
    pub(crate) fn replacing(mut self, before: Option<&CurrentUser>) -> Self {
        self.replaces = before.map(|user| (user.account.id, user.token.session_id.clone()));
        self
    }
}
