use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use service_kit::Problem;
use service_kit::http::Query;

use super::service;
use super::wire::{ExportQuery, ExportedSessions};
use crate::app_state::State;
use crate::auth::{AccountAccess, Caller};
use crate::error::{Error, ErrorBody};

/// Exports all of the caller's sessions as a file, oldest first.
///
/// OAuth clients of third parties and tokens from single sign-on have no access. JSON has every field, a calendar the
/// executed sessions only. In CSV an apostrophe precedes each cell that a spreadsheet would run as a formula. Such a
/// cell begins with one of `= + - @`, a tab or a line break, also after apostrophes. Without the apostrophe it is the
/// original text.
#[utoipa::path(
    get, path = "/api/sessions/export", operation_id = "exportSessions", tag = "sessions", params(ExportQuery), security(("bearer" = ["account"])),
    responses(
        (status = 200, description = "The file, with `Content-Disposition: attachment`", content(
            (ExportedSessions = "application/json"), (String = "text/csv"), (String = "text/calendar"),
        )),
        (status = 400, description = "A parameter has an invalid value", body = ErrorBody),
    )
)]
pub(crate) async fn export(
    state: State,
    caller: Caller<AccountAccess>,
    query: Result<Query<ExportQuery>, Problem>,
) -> Result<HttpResponse, Error> {
    let today = state.clock.now().date_naive();
    let export = service::open(state, caller.id, query?.0).await?;
    // A username has no character that needs quotes.
    let name = format!(
        "attachment; filename=\"holdfast-sessions-{}-{today}.{}\"",
        caller.username,
        export.format.name()
    );
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, export.format.content_type()))
        .insert_header((CONTENT_DISPOSITION, name))
        .streaming(export.into_stream()))
}
