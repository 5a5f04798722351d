//! The OpenAPI description, generated from the code. It lists every handler once.

use service_kit::openapi::{add_bearer, complete, may_answer, operations, refuses_misfits};
use utoipa::{Modify, OpenApi};

use crate::{
    analytics, chat_settings, event_stream, health, leaderboard, login, preferences, projects,
    sessions, sync, team_activity, team_projects, user_data, webhooks,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Holdfast work-session service",
        description = "Projects, focus sessions, points and statistics. Bodies are JSON, times RFC 3339 in UTC. \
                       A token of the identity service is sent as `Authorization: Bearer …`."
    ),
    tags(
        (name = "chat", description = "The chats of team projects"),
        (name = "health", description = "The state of the service"),
        (name = "live", description = "Changes as they happen"),
        (name = "login", description = "Sign-in through the identity service"),
        (name = "projects", description = "Personal projects"),
        (name = "sessions", description = "Focus sessions: start, submit, history and export"),
        (name = "team projects", description = "Projects of teams, and what their members do"),
        (name = "user", description = "Points, statistics, preferences and the leaderboard"),
        (name = "webhooks", description = "Calls to other programs when something happens"),
    ),
    paths(
        projects::routes::list,
        projects::routes::create,
        projects::routes::detail,
        projects::routes::update,
        projects::routes::archive,
        projects::routes::list_all,
        team_projects::routes::list,
        team_projects::routes::create,
        team_projects::routes::detail,
        team_projects::routes::update,
        team_projects::routes::archive,
        team_projects::activity::routes::list,
        team_activity::routes::show,
        chat_settings::routes::get,
        chat_settings::routes::put,
        chat_settings::routes::delete,
        chat_settings::routes::test,
        chat_settings::routes::adopt,
        preferences::routes::put,
        sessions::routes::start_client_a,
        sessions::routes::start_client_b,
        sessions::routes::start_session,
        sessions::routes::get_presession,
        sessions::routes::submit,
        sessions::history::routes::list,
        sessions::export::routes::export,
        sessions::history::routes::get,
        sessions::edit::routes::edit,
        sync::routes::get,
        event_stream::routes::get,
        user_data::routes::get,
        login::routes::login,
        analytics::routes::get,
        leaderboard::routes::get,
        webhooks::routes::list,
        webhooks::routes::create,
        webhooks::routes::get,
        webhooks::routes::update,
        webhooks::routes::delete,
        webhooks::routes::rotate_secret,
        webhooks::routes::adopt,
        webhooks::deliveries::routes::list,
        webhooks::deliveries::routes::replay,
        webhooks::deliveries::routes::test,
        health::routes::report,
    ),
    // Nothing collects the schemas of shared responses.
    components(schemas(sessions::wire::StartResponse)),
    modifiers(&ErrorResponses)
)]
struct Description;

/// Adds the error responses of authentication and body parsing, which precede every handler.
struct ErrorResponses;

impl Modify for ErrorResponses {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        const UNAVAILABLE: &str = "Authentication service unavailable";
        add_bearer(openapi);
        refuses_misfits(openapi, "ErrorBody");
        for (_, _, operation) in operations(openapi) {
            if operation.request_body.is_some() {
                may_answer(operation, "400", "The body is invalid", "ErrorBody");
                may_answer(
                    operation,
                    "413",
                    "The request body is too large",
                    "ErrorBody",
                );
            }
        }
        let protected =
            operations(openapi).filter(|(_, _, operation)| operation.security.is_some());
        for (_, _, operation) in protected {
            if !operation.responses.responses.contains_key("401") {
                may_answer(operation, "401", "Authentication required", "ErrorBody");
            }
            may_answer(operation, "403", "Insufficient scope", "ErrorBody");
            may_answer(operation, "503", UNAVAILABLE, "ErrorBody");
            may_answer(operation, "503", "Database unavailable", "ErrorBody");
        }
    }
}

/// Returns the OpenAPI description of this service.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut description = Description::openapi();
    complete(&mut description, include_str!("openapi_examples.json"));
    description
}

/// Returns the OpenAPI description as it is committed: pretty-printed JSON with a trailing newline.
///
/// # Errors
/// Never in practice, because the description contains plain data only.
pub fn openapi_json() -> Result<String, serde_json::Error> {
    openapi().to_pretty_json().map(|json| json + "\n")
}
