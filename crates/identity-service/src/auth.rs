//! Who is calling, as argument types of handlers.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::AUTHORIZATION;
use auth_types::{AccountRole, BearerError, bearer_token};
use chrono::TimeDelta;

use crate::access;
use crate::accounts::model::{AccountRow, Viewer};
use crate::app::App;
use crate::error::Error;
use crate::origin::{Origin, Standing};
use crate::sessions;
use crate::sessions::model::SessionState;
use crate::tokens::access::VerifiedToken;
use crate::totp;

/// Makes a type an argument of handlers: what this async function makes of the request.
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

/// The account whose good access token the request carries, as the database has it now.
#[derive(Clone)]
pub(crate) struct CurrentUser {
    pub(crate) account: Arc<AccountRow>,
    pub(crate) session: SessionState,
    pub(crate) token: Arc<VerifiedToken>,
}

impl CurrentUser {
    /// As whom the caller sees their own account: with its e-mail address, unless the token hides that.
    pub(crate) fn of_themselves(&self) -> Viewer {
        Viewer::of(&self.token.access)
    }
}

/// A SUPERADMIN who signed in at most [`ADMIN_SIGN_IN_AGE`] ago.
pub(crate) struct SuperAdmin(pub(crate) CurrentUser);

/// How old a sign-in may be that administers other people's accounts.
const ADMIN_SIGN_IN_AGE: TimeDelta = TimeDelta::hours(12);

/// What a SUPERADMIN without a second factor is told where administration takes one.
pub(crate) const SECOND_FACTOR_MISSING: &str = "this takes a second factor; set one up at /account/second-factor, or with POST /api/auth/totp/setup";

/// The caller of an endpoint that needs no token; a bad token counts as none there.
pub(crate) struct MaybeUser(pub(crate) Option<CurrentUser>);

/// The caller, if the token may be used at this endpoint ([`crate::access::TABLE`]).
pub(crate) async fn current_user(req: &HttpRequest) -> Result<CurrentUser, Error> {
    let caller = identify(req).await?;
    let pattern = req.match_pattern().unwrap_or_default();
    if !access::allows(&caller.token.access, req.method().as_str(), &pattern) {
        return Err(Error::InsufficientScope);
    }
    Ok(caller)
}

/// Verifies the request's token, then asks whether its session and account still stand. What the token may
/// be used for is not looked at.
async fn identify(req: &HttpRequest) -> Result<CurrentUser, Error> {
    let app = App::of(req)?;
    identify_token(&app, bearer(req)?).await
}

/// The token that the request carries, whatever it is worth.
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

/// The caller of a good token. It does not check what the token may do; the code that asks does.
pub(crate) async fn identify_token(app: &App, token: &str) -> Result<CurrentUser, Error> {
    let token = app.tokens.verify(token, app.clock.now()).await?;
    let (session, account) = standing(app, &token).await?;
    Ok(CurrentUser {
        account,
        session,
        token,
    })
}

/// The session and the account of a token whose signature is good, if both still stand. From memory
/// while the change feed lives, else from the database.
pub(crate) async fn standing(
    app: &App,
    token: &VerifiedToken,
) -> Result<(SessionState, Arc<AccountRow>), Error> {
    let ticket = app.memory.ticket();
    let known = ticket.and_then(|ticket| {
        let session = app.memory.session(ticket, &token.session_id)?;
        Some((session, app.memory.user(ticket, token.user_id)?))
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
                app.memory
                    .remember(ticket, &token.session_id, session, &account);
            }
            (session, account)
        }
    };
    if session.revoked_at.is_some() || !account.is_active || account.id != token.user_id {
        return Err(Error::TokenRevoked);
    }
    // The last access token of a sign-in may be good for longer than the sign-in itself.
    if session.expires_at <= app.clock.now_naive() {
        return Err(Error::TokenExpired);
    }
    Ok((session, account))
}

/// Whether the caller has a second factor, or administration takes none here.
pub(crate) async fn has_factor_of_admin(app: &App, caller: &CurrentUser) -> Result<bool, Error> {
    let id = caller.account.id;
    Ok(!app.require_admin_totp || app.read(move |db| totp::is_on(db, id)).await?)
}

async fn maybe_user(req: &HttpRequest) -> Result<MaybeUser, Error> {
    match current_user(req).await {
        Ok(user) => Ok(MaybeUser(Some(user))),
        Err(error) if error.is_refusal() => Ok(MaybeUser(None)),
        Err(error) => Err(error),
    }
}

async fn super_admin(req: &HttpRequest) -> Result<SuperAdmin, Error> {
    let caller = current_user(req).await?;
    let app = App::of(req)?;
    SuperAdmin::new(&app, caller).await
}

impl SuperAdmin {
    /// The caller as an administrator.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for others, after a sign-in too long ago, and without a second factor where it takes one.
    pub(crate) async fn new(app: &App, caller: CurrentUser) -> Result<Self, Error> {
        if caller.account.role()? != AccountRole::Superadmin {
            return Err(Error::Forbidden("this takes a SUPERADMIN"));
        }
        if app.clock.now_naive() - caller.session.authenticated_at > ADMIN_SIGN_IN_AGE {
            return Err(Error::Forbidden(
                "this takes a sign-in of the last 12 hours; sign in again",
            ));
        }
        if !has_factor_of_admin(app, &caller).await? {
            return Err(Error::Forbidden(SECOND_FACTOR_MISSING));
        }
        Ok(Self(caller))
    }
}

impl Origin {
    /// The same, on behalf of who is signed in.
    pub(crate) fn of(mut self, caller: &CurrentUser) -> Self {
        self.actor = Some(caller.account.id);
        self.standing = Some(Standing {
            session_id: caller.token.session_id.clone(),
            superadmin: false,
        });
        self
    }

    /// The same, on behalf of an administrator.
    pub(crate) fn of_admin(self, SuperAdmin(caller): &SuperAdmin) -> Self {
        let mut origin = self.of(caller);
        if let Some(standing) = &mut origin.standing {
            standing.superadmin = true;
        }
        origin
    }

    /// The same from a browser that gets another cookie in place of this sign-in's, if it has one.
    pub(crate) fn replacing(mut self, before: Option<&CurrentUser>) -> Self {
        self.replaces = before.map(|user| (user.account.id, user.token.session_id.clone()));
        self
    }
}
