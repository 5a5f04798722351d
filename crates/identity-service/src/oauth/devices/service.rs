use auth_types::ScopeSet;
use chrono::TimeDelta;
use secrecy::{ExposeSecret as _, SecretString};
use service_kit::crypto::random_token;

use super::model::{DeviceRow, DeviceStatus, INTERVAL_SECONDS};
use super::queries::{self, DeviceDecision, NewDevice};
use super::user_code::UserCode;
use super::wire::DeviceAuthorizationResponse;
use crate::accounts;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::mail_links;
use crate::oauth::authorize::scope_for;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::clients::{self, GrantType};
use crate::oauth::consents;
use crate::oauth::error::OAuthError;
use crate::oauth::grants::{self, GrantedSession, NewGrant};
use crate::oauth::scopes;
use crate::rate_limits::AddressLimit;
use crate::request_context::RequestContext;

/// The lifetime of a device authorization: enough to find a browser and sign in.
const DEVICE_LIFE: TimeDelta = TimeDelta::minutes(15);
/// How many user codes are tried. With a million pending devices, one code in 25,000 is taken.
const ATTEMPTS: usize = 5;

/// Starts the authorization of a device of this client.
pub(super) async fn begin(
    app: &App,
    client: &OAuthClient,
    scope: Option<&str>,
    context: &RequestContext,
) -> Result<DeviceAuthorizationResponse, OAuthError> {
    client.check_grant_type(GrantType::DeviceCode)?;
    app.rate_limits
        .check_address(AddressLimit::Device, context.address)?;
    let scope = scope_for(client, scope)
        .map_err(|refusal| OAuthError::InvalidScope(refusal.description))?;
    let device_code = random_token();
    for _ in 0..ATTEMPTS {
        let user_code = UserCode::generate();
        let (hash, code) = (mail_links::hash(&device_code), user_code.clone());
        let (client_id, now) = (client.id.clone(), app.clock.now_naive());
        let stored = app
            .write_one(move |db| {
                let device = NewDevice {
                    device_code_hash: hash,
                    user_code: code.as_str().to_owned(),
                    client_id,
                    scope: scope.to_string(),
                    status: DeviceStatus::Pending.as_str(),
                    poll_seconds: INTERVAL_SECONDS,
                    created_at: now,
                    expires_at: now + DEVICE_LIFE,
                };
                queries::insert_device(db, &device)
            })
            .await?;
        if stored {
            let verification_uri = format!("{}/device", app.base_url);
            let user_code = user_code.shown();
            return Ok(DeviceAuthorizationResponse {
                verification_uri_complete: format!("{verification_uri}?user_code={user_code}"),
                verification_uri,
                device_code: device_code.expose_secret().to_owned(),
                user_code,
                expires_in: DEVICE_LIFE.num_seconds(),
                interval: INTERVAL_SECONDS,
            });
        }
    }
    Err(Error::internal("oauth_devices.user_code", "no free code was found").into())
}

/// A pending device authorization, for the user to decide.
pub(super) struct PendingDevice {
    pub(super) client: OAuthClient,
    /// The requested scope, as far as the client may still have it.
    pub(super) scope: ScopeSet,
}

/// Finds the pending device with this user code. Attempts are limited.
pub(super) async fn find_pending(
    app: &App,
    user: &CurrentUser,
    code: &UserCode,
    context: &RequestContext,
) -> Result<Option<PendingDevice>, Error> {
    app.rate_limits
        .check_user_code(user.account.id, context.address)?;
    let (code, now) = (code.clone(), app.clock.now_naive());
    let row = app
        .read(move |db| queries::find_pending(db, code.as_str(), now))
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let asked = scopes::read(&row.scope, "oauth_devices.scope")?;
    let client = clients::service::find_client(app, &row.client_id).await?;
    Ok(client.map(|client| PendingDevice {
        scope: asked.intersection(client.allowed_scope()),
        client,
    }))
}

/// Approves or denies a pending device. Returns false if it is pending no longer.
pub(super) async fn decide(
    app: &App,
    user: &CurrentUser,
    code: UserCode,
    pending: PendingDevice,
    allow: bool,
    context: &RequestContext,
) -> Result<bool, Error> {
    let (user_id, session_id) = (user.account.id, user.token.session_id.clone());
    let auth_time = user.session.authenticated_at;
    app.transact(&context.clone().for_caller(user), move |tx| {
        // The lock comes first, as in every change of an account.
        accounts::queries::lock_account(tx.db, user_id)?;
        let settlement = DeviceDecision {
            status: if allow {
                DeviceStatus::Approved
            } else {
                DeviceStatus::Denied
            },
            user_id,
            session_id: &session_id,
            auth_time,
            scope: pending.scope,
        };
        let now = tx.now.naive_utc();
        if !queries::record_decision(tx.db, code.as_str(), &settlement, now)? {
            return Ok(false);
        }
        let PendingDevice { client, scope } = pending;
        match allow {
            true => consents::service::allow(tx, user_id, &client.id, scope, BY)?,
            false => consents::service::deny(tx, user_id, &client.id, BY)?,
        }
        Ok(true)
    })
    .await
}

/// How access was given, for the audit log.
const BY: &str = "device_code";

/// Opens the session of an approved device. Other devices get the error for their status (RFC 8628 section 3.5).
pub(crate) async fn redeem(
    app: &App,
    client: &OAuthClient,
    device_code: &str,
    context: &RequestContext,
) -> Result<GrantedSession, OAuthError> {
    let hash = mail_links::hash(&SecretString::from(device_code));
    let (key, client_id) = (hash.clone(), client.id.clone());
    let row = app
        .read(move |db| queries::find_device(db, &key, &client_id))
        .await?
        .ok_or_else(unknown)?;
    let status: DeviceStatus = row.status.parse()?;
    if row.expires_at <= app.clock.now_naive() && status != DeviceStatus::Used {
        return Err(OAuthError::ExpiredToken);
    }
    match status {
        DeviceStatus::Pending => Err(wait(app, hash, &row).await?),
        DeviceStatus::Denied => Err(OAuthError::AccessDenied),
        DeviceStatus::Used => Err(unknown()),
        DeviceStatus::Approved => {
            let grant = row.grant(client)?;
            let granted = grants::open(app, grant, context, move |tx, session_id| {
                let now = tx.now.naive_utc();
                Ok(queries::use_up(tx.db, &hash, session_id, now)?)
            });
            granted.await?.ok_or_else(unknown)
        }
    }
}

fn unknown() -> OAuthError {
    OAuthError::invalid_grant("The device_code is unknown or used")
}

/// Records a poll and returns its error. A device that polls too early has to wait longer.
async fn wait(app: &App, hash: String, row: &DeviceRow) -> Result<OAuthError, OAuthError> {
    let now = app.clock.now_naive();
    let is_hasty = row.is_hasty(now);
    let longer = if is_hasty { INTERVAL_SECONDS } else { 0 };
    let poll_seconds = row.poll_seconds.saturating_add(longer);
    app.write_one(move |db| queries::note_poll(db, &hash, poll_seconds, now))
        .await?;
    Ok(match is_hasty {
        true => OAuthError::SlowDown,
        false => OAuthError::AuthorizationPending,
    })
}

impl DeviceRow {
    fn grant(self, client: &OAuthClient) -> Result<NewGrant, Error> {
        let (Some(user_id), Some(authorized_by), Some(auth_time)) =
            (self.user_id, self.authorized_by, self.auth_time)
        else {
            return Err(Error::internal("oauth_devices", "approved without user"));
        };
        Ok(NewGrant {
            client: client.clone(),
            user_id,
            scope: scopes::read(&self.scope, "oauth_devices.scope")?,
            authorized_by,
            ends_with_sign_in: false,
            auth_time,
            nonce: None,
            by: BY,
        })
    }
}
