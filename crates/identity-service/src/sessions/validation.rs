use actix_web::web::Bytes;
use auth_types::Scope;
use auth_types::wire::ValidateResponse;
use chrono::{DateTime, Utc};

use crate::accounts::model::Viewer;
use crate::app::App;
use crate::auth::{self, CurrentUser};
use crate::change_feed::ResponseKey;
use crate::error::Error;
use crate::teams::memberships::list_memberships;

/// Validates a token and returns the response body, with the account's teams if requested. The body is
/// cached for repeated requests.
pub(crate) async fn validate(app: &App, token: &str, with_teams: bool) -> Result<Bytes, Error> {
    let now = app.clock.now();
    // The ticket precedes all reads: if anything changes after it, the response is not cached.
    let ticket = app.cache.ticket();
    let key = ResponseKey::validation(token, with_teams);
    if let Some(body) = ticket.and_then(|ticket| app.cache.find_response(ticket, &key, now)) {
        return Ok(body);
    }
    let caller = auth::identify_token(app, token).await?;
    let answer = response_for(app, &caller, with_teams, now).await?;
    let body = serde_json::to_vec(&answer)
        .map_err(|error| Error::internal("writing a validation response", error))?;
    let Some(ticket) = ticket else {
        return Ok(body.into());
    };
    let times = (now, valid_until(&caller, now)?);
    Ok(app.cache.insert_response(ticket, key, body, times))
}

/// Returns when the response for a valid token becomes outdated by time alone: when the token, session or plan expires.
fn valid_until(caller: &CurrentUser, now: DateTime<Utc>) -> Result<DateTime<Utc>, Error> {
    let token = DateTime::from_timestamp(caller.token.expires_at, 0).unwrap_or(now);
    let session = caller.session.expires_at.and_utc();
    let plan = caller.account.plan()?.expires_at.map(|end| end.and_utc());
    let plan = plan.filter(|end| *end > now);
    Ok(plan.into_iter().fold(token.min(session), DateTime::min))
}

async fn response_for(
    app: &App,
    caller: &CurrentUser,
    with_teams: bool,
    now: DateTime<Utc>,
) -> Result<ValidateResponse, Error> {
    let user_id = caller.account.id;
    let teams = match with_teams && caller.token.access.sees_teams() {
        true => Some(list_memberships(app, user_id).await?.to_vec()),
        false => None,
    };
    let now = now.naive_utc();
    let access = &caller.token.access;
    // Only here does an OAuth client see a placeholder address: with its scope `email`, the response always has the field.
    let viewer = Viewer {
        placeholder: true,
        ..Viewer::from_access(access)
    };
    let user = caller.account.to_user(viewer, now, &app.base_url)?;
    let mut premium = caller
        .account
        .premium(|tier| app.premium.bandwidth_mb(tier), now)?;
    if !access.sees(Scope::Profile) {
        premium.expires_at = None;
    }
    let scope = caller.token.access.scope();
    Ok(ValidateResponse {
        valid: true,
        flat: user.clone(),
        user,
        premium,
        token_type: "access".to_owned(),
        expires_at: caller.token.expires_at,
        scope: scope.map(|scope| scope.to_string()),
        origin: caller.token.access.origin().map(str::to_owned),
        sso_origin: caller.token.access.site().map(str::to_owned),
        session_id: Some(caller.token.session_id.clone()),
        client_id: access.client_id().map(str::to_owned),
        teams,
    })
}
