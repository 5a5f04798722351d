use actix_web::web;
use service_kit::http::endpoint;

use super::wire::UserData;
use crate::app_state::State;
use crate::auth::{Caller, UserDataAccess};
use crate::error::{Error, ErrorBody};

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/user/data").get(get));
}

/// Returns the caller's profile, points, streaks, badges, preferences and statistics.
#[utoipa::path(
    get, path = "/api/user/data", operation_id = "getUserData", tag = "user", security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The data of the caller", body = UserData),
        (status = 401, description = "Invalid or expired token", body = ErrorBody),
        (status = 403, description = "Token required", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    state: State,
    caller: Caller<UserDataAccess>,
) -> Result<web::Json<UserData>, Error> {
    let request = (caller.id, state.clock.now_naive());
    let loaded = state.user_data.run(request).await?;
    Ok(web::Json(UserData::new(&caller, loaded)))
}
