use actix_web::HttpResponse;
use actix_web::web::Data;
use auth_types::UserId;
use auth_types::wire::IdentityError;
use service_kit::http::{Path, UnreadBody};

use super::service;
use super::wire::UpdateProfileRequest;
use crate::accounts::wire::UserResponse;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::photos::routes::own_id;
use crate::request_context::RequestContext;

/// Updates the caller's own profile, completely or not at all. An e-mail address that is set here gets no password reset
/// link, even if verified, until it is confirmed with the password through `email/change`.
#[utoipa::path(
    put, path = "/api/auth/user/{user_id}", tag = "accounts", params(("user_id" = UserId, Path)), request_body = UpdateProfileRequest, security(("bearer" = [])),
    responses(
        (status = 200, description = "The updated account", body = UserResponse),
        (status = 400, description = "`validation_failed`, `email_not_updatable`, `email_taken` or `photo_unreachable`; nothing was changed", body = IdentityError),
        (status = 403, description = "`forbidden`: the id is not the caller's own; `insufficient_scope`, also if an OAuth client or an SSO session sets `email`", body = IdentityError),
        (status = 404, description = "`user_not_found`: the path contains no valid id", body = IdentityError),
        (status = 413, description = "`payload_too_large`, or `photo_too_large` for a `data:` image", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
pub(crate) async fn update_user(
    app: Data<App>,
    context: RequestContext,
    caller: CurrentUser,
    user_id: Path<(String,)>,
    body: UnreadBody,
) -> actix_web::Result<HttpResponse> {
    let id = own_id(&caller, &user_id.0.0)?;
    let body = body.of_account(id.get());
    let request: UpdateProfileRequest = body.json(app.profile_json_bytes).await?;
    let user = service::update_user(&app, &caller, request, context).await?;
    Ok(HttpResponse::Ok().json(UserResponse { user }))
}
