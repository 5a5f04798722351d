//! The OpenAPI description of the service, generated from its handlers.

use service_kit::openapi::{add_bearer, complete, may_answer, operations, refuses_misfits};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::{
    accounts, admin, audit, credentials, deletion, existence_check, export, invitations, oauth,
    photos, profiles, sessions, sso, teams, token_access, tokens, totp,
};

#[derive(OpenApi)]
#[openapi(
    info(title = "Holdfast identity", description = "Accounts, tokens, OAuth 2.0 and OpenID Connect, profile photos and teams."),
    tags(
        (name = "accounts", description = "Registration, profiles, export and deletion"),
        (name = "administration", description = "For SUPERADMINs: accounts, OAuth clients and the audit log"),
        (name = "credentials", description = "Passwords and e-mail addresses"),
        (name = "invitations", description = "Invitations to teams"),
        (name = "oauth", description = "OAuth 2.0 and OpenID Connect"),
        (name = "photos", description = "Profile photos"),
        (name = "second factor", description = "Codes of an authenticator app"),
        (name = "services", description = "For the other services of the product"),
        (name = "sessions", description = "Sign-in, refresh, validation and sign-out"),
        (name = "sso", description = "Single sign-on for web applications without OAuth"),
        (name = "status", description = "The state of the service"),
        (name = "teams", description = "Teams and their members"),
        (name = "tokens", description = "The keys that verify tokens"),
    ),
    paths(
        accounts::routes::register,
        accounts::routes::me,
        accounts::routes::get_user,
        accounts::routes::status,
        existence_check::routes::existence,
        export::routes::export,
        deletion::routes::delete_account,
        profiles::routes::update_user,
        photos::routes::put_photo,
        photos::routes::delete_photo,
        photos::routes::get_meta,
        photos::routes::list_meta,
        photos::routes::get_file,
        photos::routes::get_public_meta,
        photos::routes::get_public_file,
        sessions::routes::sign_in,
        sessions::routes::logout,
        sessions::routes::global_logout,
        sessions::routes::list_sessions,
        sessions::routes::end_others,
        sessions::routes::end_session,
        sessions::routes::rotate,
        sessions::routes::validate,
        teams::routes::list_teams,
        teams::routes::create_team,
        teams::routes::list_own_teams,
        teams::routes::get_team,
        teams::routes::change_team,
        teams::routes::delete_team,
        teams::routes::leave,
        teams::routes::list_members,
        teams::routes::add_member,
        teams::routes::change_role,
        teams::routes::remove_member,
        invitations::routes::invite,
        invitations::routes::list_of_team,
        invitations::routes::revoke,
        invitations::routes::accept,
        invitations::routes::decline,
        invitations::routes::list_own,
        sso::routes::authorize,
        sso::routes::token,
        sso::routes::callback,
        tokens::routes::jwks,
        admin::routes::search_users,
        admin::routes::create_user,
        admin::routes::get_admin_user,
        admin::routes::update_user,
        admin::routes::reset_password,
        admin::routes::revoke_sessions,
        audit::routes::list_audit,
        credentials::routes::change_password,
        credentials::routes::forgot_password,
        credentials::routes::reset_password,
        credentials::routes::verify_email,
        credentials::routes::change_email,
        totp::routes::get_totp,
        totp::routes::set_up_totp,
        totp::routes::confirm_totp,
        totp::routes::disable_totp,
        totp::routes::renew_recovery_codes,
        oauth::routes::openid_configuration,
        oauth::routes::oauth_metadata,
        oauth::logout::routes::log_out,
        oauth::logout::routes::post_log_out,
        oauth::routes::introspect,
        oauth::routes::revoke,
        oauth::routes::get_userinfo,
        oauth::routes::post_userinfo,
        oauth::clients::routes::list_clients,
        oauth::clients::routes::create_client,
        oauth::clients::routes::get_client,
        oauth::clients::routes::update_client,
        oauth::clients::routes::delete_client,
        oauth::clients::routes::rotate_secret,
        oauth::authorize::routes::authorize,
        oauth::authorize::routes::authorize_by_form,
        oauth::token::routes::token,
        oauth::devices::routes::begin,
        oauth::consents::routes::list_applications,
        oauth::consents::routes::revoke_application,
    ),
    modifiers(&Authentication, &CommonAnswers, &Refusals)
)]
struct Description;

struct Authentication;

impl Modify for Authentication {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        add_bearer(openapi);
        let client = SecurityScheme::Http(Http::new(HttpAuthScheme::Basic));
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("client", client);
    }
}

/// Adds the responses that all operations of a kind share. A handler describes a status itself if it has another reason for it.
struct CommonAnswers;

impl Modify for CommonAnswers {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        for (_, path, operation) in operations(openapi) {
            let takes_json = takes_json(operation);
            let is_administration = operation
                .tags
                .iter()
                .flatten()
                .any(|tag| tag == "administration");
            for (applies, status, reason) in [
                (takes_json, "400", "`validation_failed`"),
                (
                    takes_token(operation),
                    "401",
                    "`authentication_required`, `invalid_token`, `token_expired` or `token_revoked`",
                ),
                (
                    is_administration,
                    "403",
                    "`forbidden`: the caller is not a SUPERADMIN or signed in more than 12 hours ago",
                ),
                (
                    path.starts_with("/api/teams/{slug}"),
                    "404",
                    "`team_not_found`, also if the caller is not a member",
                ),
                (takes_json, "413", "`payload_too_large`"),
                (
                    !METADATA.contains(&path),
                    "503",
                    "`unavailable`; see `Retry-After`",
                ),
            ] {
                if applies && !operation.responses.responses.contains_key(status) {
                    may_answer(operation, status, reason, "IdentityError");
                }
            }
        }
    }
}

/// The endpoints that respond without the database.
const METADATA: [&str; 2] = [
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
];

fn takes_json(operation: &Operation) -> bool {
    let body = operation.request_body.as_ref();
    body.is_some_and(
        |body| matches!(body, RefOr::T(it) if it.content.contains_key("application/json")),
    )
}

/// Whether the operation always requires an access token.
fn takes_token(operation: &Operation) -> bool {
    let bearer = SecurityRequirement::new::<_, [&str; 0], &str>("bearer", []);
    operation.security.as_deref() == Some(&[bearer])
}

/// Adds 403 to the operations that some tokens may not call. The endpoint table decides that before any handler runs.
struct Refusals;

impl Modify for Refusals {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        refuses_misfits(openapi, "IdentityError");
        for (method, path, operation) in operations(openapi) {
            if token_access::refuses_some(method, path) {
                may_answer(operation, "403", "`insufficient_scope`", "IdentityError");
            }
        }
    }
}

/// Returns the OpenAPI description of the identity service.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut description = Description::openapi();
    complete(&mut description, include_str!("openapi_examples.json"));
    description
}
