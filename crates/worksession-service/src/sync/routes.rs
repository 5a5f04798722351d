use actix_web::web;
use service_kit::Problem;
use service_kit::http::{Query, endpoint};

use super::cursor::SyncCursor;
use super::status;
use super::wire::{StatusQuery, SyncStatus};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead};
use crate::error::{Error, ErrorBody};

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/sync/status").get(get));
}

/// Returns what changed for the caller since a cursor, and the running session.
#[utoipa::path(
    get, path = "/api/sync/status", operation_id = "getSyncStatus", tag = "live", params(StatusQuery), security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The changes since the cursor, and the running session", body = SyncStatus),
        (status = 400, description = "since is not a cursor", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    state: State,
    caller: Caller<SessionsRead>,
    query: Result<Query<StatusQuery>, Problem>,
) -> Result<web::Json<SyncStatus>, Error> {
    let since = query?.0.since;
    let since = since.map_or(Ok(SyncCursor::BEGINNING), |text| text.parse())?;
    Ok(web::Json(status::load(&state, caller.id, since).await?))
}
