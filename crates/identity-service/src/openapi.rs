//! The description of the area, generated from the handlers.

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::{accounts, sessions, teams};

#[derive(OpenApi)]
#[openapi(
    info(title = "Holdfast identity", version = "1.0.0", description = "Accounts, tokens and teams.", license(name = "MIT OR Apache-2.0")),
    paths(
        accounts::routes::register,
        accounts::routes::me,
        accounts::routes::get_user,
        accounts::routes::status,
        sessions::routes::login,
        sessions::routes::logout,
        sessions::routes::refresh,
        sessions::routes::validate,
        teams::routes::list_teams,
        teams::routes::create_team,
        teams::routes::list_own_teams,
        teams::routes::get_team,
        teams::routes::list_members,
        teams::routes::add_member,
        teams::routes::change_role,
        teams::routes::remove_member,
    ),
    modifiers(&Bearer)
)]
struct Description;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(
            Http::builder()
                .scheme(HttpAuthScheme::Bearer)
                .bearer_format("JWT")
                .build(),
        );
        openapi
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", scheme);
    }
}

/// The OpenAPI description of the identity area.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    Description::openapi()
}
