use actix_web::http::header::{
    self, CacheControl, CacheDirective, ETag, EntityTag, Header as _, IfNoneMatch,
};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use auth_types::UserId;
use auth_types::wire::IdentityError;
use service_kit::Problem;
use service_kit::http::{Json, Path, Query, UnreadBody, endpoint};

use super::service::{self, PhotoFile, sees_inactive};
use super::upload;
use super::wire::{
    ImageFile, PhotoForm, PhotosRequest, PhotosResponse, ProfilePhotoMeta, VersionQuery,
};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::rate_limits::AccountLimit;
use crate::request_context::RequestContext;

/// How long a version may be cached, in seconds: in effect, forever.
const A_YEAR: u32 = 31_536_000;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(
        endpoint("/api/auth/user/{user_id}/profile-photo")
            .get(get_meta)
            .put(put_photo)
            .delete(delete_photo),
    )
    .service(endpoint("/api/auth/user/{user_id}/profile-photo/file").get(get_file))
    .service(endpoint("/api/auth/users/profile-photos").post(list_meta))
    .service(endpoint("/api/public/user/{user_id}/profile-photo").get(get_public_meta))
    .service(endpoint("/api/public/user/{user_id}/profile-photo/file").get(get_public_file));
}

/// Replaces the caller's photo. It is encoded anew, at most 512 pixels wide and high. Everything else in the file is
/// dropped.
#[utoipa::path(
    put, path = "/api/auth/user/{user_id}/profile-photo", operation_id = "uploadProfilePhoto", tag = "photos", params(("user_id" = UserId, Path)), security(("bearer" = [])),
    request_body(description = "The image itself, or a form with the field `photo`. The content must be JPEG, PNG, GIF or WebP, at most 5 MiB and 50 megapixels.", content(
        (ImageFile = "image/jpeg"), (ImageFile = "image/png"), (ImageFile = "image/gif"), (ImageFile = "image/webp"), (PhotoForm = "multipart/form-data")
    )),
    responses(
        (status = 200, description = "The new photo", body = ProfilePhotoMeta),
        (status = 400, description = "`validation_failed`: the image is empty, or the form cannot be read", body = IdentityError),
        (status = 403, description = "`forbidden`: the id is not the caller's own", body = IdentityError),
        (status = 404, description = "`user_not_found`: the path contains no valid id", body = IdentityError),
        (status = 413, description = "`photo_too_large`: too many bytes or pixels, or too much memory to decode; the text names the limit", body = IdentityError),
        (status = 415, description = "`unsupported_image`: not a complete JPEG, PNG, GIF or WebP image", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn put_photo(
    app: Data<App>,
    context: RequestContext,
    caller: CurrentUser,
    user_id: Path<(String,)>,
    body: UnreadBody,
) -> actix_web::Result<HttpResponse> {
    let id = own_id(&caller, &user_id.0.0)?;
    app.rate_limits.check_account(AccountLimit::Photo, id)?;
    let file = upload::read(body.of_account(id.get()), app.photos.max_bytes).await?;
    let meta = service::put(&app, id, file, &context.for_caller(&caller)).await?;
    Ok(HttpResponse::Ok().json(meta))
}

/// Deletes the caller's photo, if there is one.
#[utoipa::path(
    delete, path = "/api/auth/user/{user_id}/profile-photo", operation_id = "deleteProfilePhoto", tag = "photos", params(("user_id" = UserId, Path)), security(("bearer" = [])),
    responses(
        (status = 204, description = "The account has no photo."),
        (status = 403, description = "`forbidden`: the id is not the caller's own", body = IdentityError),
        (status = 404, description = "`user_not_found`: the path contains no valid id", body = IdentityError),
    )
)]
async fn delete_photo(
    app: Data<App>,
    context: RequestContext,
    caller: CurrentUser,
    user_id: Path<(String,)>,
) -> Result<HttpResponse, Error> {
    let id = own_id(&caller, &user_id.0.0)?;
    service::remove(&app, id, &context.for_caller(&caller)).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Returns whether an account has a photo, and its address. Digits are an id, anything else is a username.
#[utoipa::path(
    get, path = "/api/auth/user/{user_id}/profile-photo", operation_id = "getProfilePhoto", tag = "photos",
    params(("user_id" = String, Path, description = "The id if it consists of digits, otherwise the username, without regard to case")), security(("bearer" = [])),
    responses(
        (status = 200, description = "The photo address of the account, or null", body = ProfilePhotoMeta),
        (status = 404, description = "`user_not_found`", body = IdentityError),
    )
)]
async fn get_meta(
    app: Data<App>,
    caller: CurrentUser,
    user: Path<(String,)>,
) -> Result<HttpResponse, Error> {
    let meta = service::get_meta(&app, &user.0.0, sees_inactive(&caller)?).await?;
    Ok(HttpResponse::Ok().json(meta))
}

/// Returns the photo addresses of many accounts. Unknown accounts are left out, and each account appears once.
#[utoipa::path(
    post, path = "/api/auth/users/profile-photos", operation_id = "listProfilePhotos", tag = "photos", request_body = PhotosRequest, security(("bearer" = [])),
    responses(
        (status = 200, description = "The photo addresses of the accounts that exist", body = PhotosResponse),
        (status = 400, description = "`validation_failed`: more than 200 ids and names together, or not lists of ids and names", body = IdentityError),
    )
)]
async fn list_meta(
    app: Data<App>,
    caller: CurrentUser,
    body: Json<PhotosRequest>,
) -> actix_web::Result<HttpResponse> {
    let list = service::list_meta(&app, body.into_inner()?, sees_inactive(&caller)?).await?;
    Ok(HttpResponse::Ok().json(list))
}

/// Returns an account's photo.
#[utoipa::path(
    get, path = "/api/auth/user/{user_id}/profile-photo/file", operation_id = "getProfilePhotoFile", tag = "photos",
    params(("user_id" = UserId, Path), ("v" = Option<String>, Query, description = "The version of the photo. A response to the current version may be cached for a year.")), security(("bearer" = [])),
    responses(
        (status = 200, description = "The photo", content((ImageFile = "image/jpeg"), (ImageFile = "image/png"), (ImageFile = "image/gif"))),
        (status = 304, description = "The caller has the current photo, according to `If-None-Match`."),
        (status = 404, description = "`user_not_found` or `photo_not_found`", body = IdentityError),
    )
)]
async fn get_file(
    app: Data<App>,
    caller: CurrentUser,
    user_id: Path<(String,)>,
    query: Result<Query<VersionQuery>, Problem>,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    let sees_inactive = sees_inactive(&caller)?;
    let Query(VersionQuery { v }) = query?;
    let has = |version: &str| has(&req, version);
    let file = service::get_file(&app, &user_id.0.0, sees_inactive, has).await?;
    Ok(answer(v, file))
}

/// Returns whether an account has a photo, and its address. No sign-in is required.
#[utoipa::path(
    get, path = "/api/public/user/{user_id}/profile-photo", operation_id = "getPublicProfilePhoto", tag = "photos",
    params(("user_id" = String, Path, description = "The id if it consists of digits, otherwise the username, without regard to case")),
    responses(
        (status = 200, description = "The photo address of the account, or null", body = ProfilePhotoMeta),
        (status = 404, description = "`user_not_found`", body = IdentityError),
    )
)]
async fn get_public_meta(app: Data<App>, user: Path<(String,)>) -> Result<HttpResponse, Error> {
    let meta = service::get_meta(&app, &user.0.0, false).await?;
    Ok(HttpResponse::Ok().json(meta))
}

/// Returns an account's photo. No sign-in is required. `profile_photo_url` is the address of this endpoint.
#[utoipa::path(
    get, path = "/api/public/user/{user_id}/profile-photo/file", operation_id = "getPublicProfilePhotoFile", tag = "photos",
    params(("user_id" = UserId, Path), ("v" = Option<String>, Query, description = "The version of the photo. A response to the current version may be cached for a year.")),
    responses(
        (status = 200, description = "The photo", content((ImageFile = "image/jpeg"), (ImageFile = "image/png"), (ImageFile = "image/gif"))),
        (status = 304, description = "The caller has the current photo, according to `If-None-Match`."),
        (status = 404, description = "`user_not_found` or `photo_not_found`", body = IdentityError),
    )
)]
async fn get_public_file(
    app: Data<App>,
    user_id: Path<(String,)>,
    Query(VersionQuery { v }): Query<VersionQuery>,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    let file = service::get_file(&app, &user_id.0.0, false, |version| has(&req, version)).await?;
    Ok(answer(v, file))
}

/// Returns the caller's id if the path names it. The error for another id does not tell whether it exists.
pub(crate) fn own_id(caller: &CurrentUser, segment: &str) -> Result<UserId, Error> {
    let id: UserId = segment.parse().map_err(|_| Error::UserNotFound)?;
    if id == caller.account.id {
        Ok(id)
    } else {
        Err(Error::Forbidden("only its owner can change a profile"))
    }
}

/// Whether the caller has this version, according to `If-None-Match`.
fn has(req: &HttpRequest, version: &str) -> bool {
    let current = EntityTag::new_strong(version.to_owned());
    match IfNoneMatch::parse(req) {
        Ok(IfNoneMatch::Any) => req.headers().contains_key(header::IF_NONE_MATCH),
        Ok(IfNoneMatch::Items(known)) => known.iter().any(|tag| tag.weak_eq(&current)),
        Err(_) => false,
    }
}

fn answer(asked: Option<String>, file: PhotoFile) -> HttpResponse {
    let cached = if !file.is_public {
        CacheControl(vec![CacheDirective::Private, CacheDirective::NoCache])
    } else if asked.as_deref() == Some(file.version.as_str()) {
        CacheControl(vec![
            CacheDirective::Public,
            CacheDirective::MaxAge(A_YEAR),
            CacheDirective::Extension("immutable".to_owned(), None),
        ])
    } else {
        CacheControl(vec![CacheDirective::NoCache])
    };
    let mut response = match file.content {
        Some(_) => HttpResponse::Ok(),
        None => HttpResponse::NotModified(),
    };
    response
        .insert_header(ETag(EntityTag::new_strong(file.version)))
        .insert_header(cached)
        // A browser runs nothing in the file, whatever type it assumes.
        .insert_header((
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        ));
    match file.content {
        Some(row) => response
            .insert_header((header::CONTENT_TYPE, row.content_type))
            .body(row.bytes),
        None => response.finish(),
    }
}
