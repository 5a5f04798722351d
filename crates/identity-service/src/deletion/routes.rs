use actix_web::HttpResponse;
use actix_web::web::Data;
use auth_types::wire::IdentityError;
use service_kit::http::{Json, Path};

use super::service;
use super::wire::DeleteAccountRequest;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;

/// Deletes the caller's account and all its data, including teams in which they are the only member. The username and
/// address become free; the id is never used again.
#[utoipa::path(
    delete, path = "/api/auth/user/{user_id}", tag = "accounts", security(("bearer" = [])),
    params(("user_id" = i64, Path)), request_body = DeleteAccountRequest,
    responses(
        (status = 204, description = "The account was deleted."),
        (status = 401, description = "`authentication_required`, `invalid_token`, `token_expired` or `token_revoked`; `invalid_credentials`, or `totp_required` if only the code is missing", body = IdentityError),
        (status = 403, description = "`forbidden`: the account is not the caller's own", body = IdentityError),
        (status = 404, description = "`user_not_found`: the path contains no valid id", body = IdentityError),
        (status = 409, description = "`last_owner`: the caller owns a team that has other members", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
pub(crate) async fn delete_account(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    user_id: Path<(String,)>,
    body: Json<DeleteAccountRequest>,
) -> actix_web::Result<HttpResponse> {
    let user_id = user_id.0.0.parse().map_err(|_| Error::UserNotFound)?;
    service::check_own(&caller, user_id)?;
    service::delete_account(&app, &caller, body.into_inner()?, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}
