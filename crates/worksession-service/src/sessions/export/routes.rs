use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use service_kit::Problem;
use service_kit::http::Query;

use super::service;
use super::wire::{ExportQuery, ExportedSessions};
use crate::auth::{Account, Caller};
use crate::error::{Error, ErrorBody};
use crate::state::State;

/// Gives all of the caller's sessions as a file, oldest first. Not for OAuth clients of others and not for tokens that
/// single sign-on handed over.
///
/// In CSV an apostrophe stands before what a spreadsheet would take for a formula (cells that begin with one of
/// `= + - @`, a tab or a line break, apostrophes before it counted in); taken away, it leaves the text. A calendar has the sessions that
/// were executed; JSON has everything.
#[utoipa::path(
    get, path = "/api/sessions/export", tag = "sessions", params(ExportQuery), security(("bearer" = ["account"])),
    responses(
        (status = 200, description = "The file, with `Content-Disposition: attachment`", content(
            (ExportedSessions = "application/json"), (String = "text/csv"), (String = "text/calendar"),
        )),
        (status = 400, description = "A parameter does not fit", body = ErrorBody),
    )
)]
pub(crate) async fn export(
    state: State,
    caller: Caller<Account>,
    query: Result<Query<ExportQuery>, Problem>,
) -> Result<HttpResponse, Error> {
    let today = state.clock.now().date_naive();
    let export = service::open(state, caller.id, query?.0).await?;
    // A username has no character that would have to be quoted.
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
