use actix_web::web;
use service_kit::Problem;
use service_kit::http::{Query, endpoint};

use super::range::DateRange;
use super::tracking;
use super::wire::{Group, TrackingQuery, TrackingResponse};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead};
use crate::error::{Error, ErrorBody};
use crate::preferences;
use crate::rules::time::local_moment;

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/analytics/tracking").get(get));
}

/// Returns the caller's work in a range of local dates, divided by day, week, hour, category or project.
#[utoipa::path(
    get, path = "/api/analytics/tracking", operation_id = "getTracking", tag = "user", params(TrackingQuery), security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The totals of the range, and of each part", body = TrackingResponse),
        (status = 400, description = "The range or group is invalid", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    state: State,
    caller: Caller<SessionsRead>,
    query: Result<Query<TrackingQuery>, Problem>,
) -> Result<web::Json<TrackingResponse>, Error> {
    let query = query?.0;
    let group = Group::parse(query.group.as_deref())?;
    let (user, now) = (caller.id, state.clock.now_naive());
    let read = state.pool.read::<_, Error, _>(move |db| {
        let settings = preferences::get_or_default(db, user)?;
        let today = local_moment(now, settings.tz()).day;
        let range = DateRange::parse(query.from.as_deref(), query.to.as_deref(), today)?;
        let (buckets, totals) = tracking::buckets(db, user, range, group)?;
        Ok(TrackingResponse {
            success: true,
            from: range.from,
            to: range.to,
            group,
            timezone: settings.timezone,
            buckets,
            totals,
        })
    });
    Ok(web::Json(read.await?))
}
