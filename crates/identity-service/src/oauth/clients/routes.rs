use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::wire::IdentityError;
use service_kit::Problem;
use service_kit::http::{Json, Path, endpoint};

use super::wire::{
    CreateOAuthClientRequest, OAuthClientBody, OAuthClientList, OAuthClientResponse,
    OAuthClientSecretResponse, UpdateOAuthClientRequest,
};
use super::{ClientChanges, NewClient, service};
use crate::app::App;
use crate::auth::SuperAdmin;
use crate::error::Error;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(
        endpoint("/api/admin/oauth-clients")
            .get(list_clients)
            .post(create_client),
    )
    .service(
        endpoint("/api/admin/oauth-clients/{client_id}")
            .get(get_client)
            .patch(update_client)
            .delete(delete_client),
    )
    .service(endpoint("/api/admin/oauth-clients/{client_id}/rotate-secret").post(rotate_secret));
}

/// Lists all OAuth clients, oldest first.
#[utoipa::path(
    get, path = "/api/admin/oauth-clients", operation_id = "listOauthClients", tag = "administration", security(("bearer" = [])),
    responses(
        (status = 200, description = "The clients", body = OAuthClientList),
    )
)]
async fn list_clients(app: Data<App>, _: SuperAdmin) -> Result<HttpResponse, Error> {
    let clients = service::list(&app).await?;
    Ok(HttpResponse::Ok().json(OAuthClientList {
        clients: clients.into_iter().map(OAuthClientBody::from).collect(),
    }))
}

/// Registers an OAuth client. Only this response contains its secret.
#[utoipa::path(
    post, path = "/api/admin/oauth-clients", operation_id = "createOauthClient", tag = "administration", request_body = CreateOAuthClientRequest, security(("bearer" = [])),
    responses(
        (status = 201, description = "The client, with its secret if it is confidential", body = OAuthClientSecretResponse),
    )
)]
async fn create_client(
    app: Data<App>,
    admin: SuperAdmin,
    context: RequestContext,
    body: Json<CreateOAuthClientRequest>,
) -> actix_web::Result<HttpResponse> {
    let new = NewClient::try_from(body.into_inner()?)?;
    let made = service::create(&app, new, &context.for_admin(&admin)).await?;
    Ok(HttpResponse::Created().json(OAuthClientSecretResponse::from(made)))
}

/// Returns an OAuth client.
#[utoipa::path(
    get, path = "/api/admin/oauth-clients/{client_id}", operation_id = "getOauthClient", tag = "administration", params(("client_id" = String, Path)), security(("bearer" = [])),
    responses(
        (status = 200, description = "The client", body = OAuthClientResponse),
        (status = 404, description = "`not_found`", body = IdentityError),
    )
)]
async fn get_client(
    app: Data<App>,
    _: SuperAdmin,
    id: Result<Path<(String,)>, Problem>,
) -> actix_web::Result<HttpResponse> {
    let Path((id,)) = id?;
    let client = service::get(&app, &id).await?.into();
    Ok(HttpResponse::Ok().json(OAuthClientResponse { client }))
}

/// Changes an OAuth client. Its sessions and consents stay.
#[utoipa::path(
    patch, path = "/api/admin/oauth-clients/{client_id}", operation_id = "updateOauthClient", tag = "administration", params(("client_id" = String, Path)),
    request_body = UpdateOAuthClientRequest, security(("bearer" = [])),
    responses(
        (status = 200, description = "The changed client", body = OAuthClientResponse),
        (status = 400, description = "`validation_failed`", body = IdentityError),
        (status = 403, description = "`forbidden`: the caller is not a SUPERADMIN or signed in more than 12 hours ago, or the client is defined in the configuration file", body = IdentityError),
        (status = 404, description = "`not_found`", body = IdentityError),
    )
)]
async fn update_client(
    app: Data<App>,
    admin: SuperAdmin,
    context: RequestContext,
    id: Result<Path<(String,)>, Problem>,
    body: Json<ClientChanges>,
) -> actix_web::Result<HttpResponse> {
    let Path((id,)) = id?;
    let changes = body.into_inner()?;
    let changed = service::update(&app, &id, changes, &context.for_admin(&admin)).await?;
    let client = changed.into();
    Ok(HttpResponse::Ok().json(OAuthClientResponse { client }))
}

/// Deletes an OAuth client. All of its sessions end at once.
#[utoipa::path(
    delete, path = "/api/admin/oauth-clients/{client_id}", operation_id = "deleteOauthClient", tag = "administration", params(("client_id" = String, Path)), security(("bearer" = [])),
    responses(
        (status = 204, description = "The client was deleted."),
        (status = 403, description = "`forbidden`: the caller is not a SUPERADMIN or signed in more than 12 hours ago, or the client is defined in the configuration file", body = IdentityError),
        (status = 404, description = "`not_found`", body = IdentityError),
    )
)]
async fn delete_client(
    app: Data<App>,
    admin: SuperAdmin,
    context: RequestContext,
    id: Result<Path<(String,)>, Problem>,
) -> actix_web::Result<HttpResponse> {
    let Path((id,)) = id?;
    service::delete(&app, &id, &context.for_admin(&admin)).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Replaces the secret of an OAuth client. Only this response contains the new one. The old secret stops working at once;
/// tokens stay valid.
#[utoipa::path(
    post, path = "/api/admin/oauth-clients/{client_id}/rotate-secret", operation_id = "rotateOauthClientSecret", tag = "administration", params(("client_id" = String, Path)), security(("bearer" = [])),
    responses(
        (status = 200, description = "The client, with its new secret", body = OAuthClientSecretResponse),
        (status = 400, description = "`validation_failed`: the client is public", body = IdentityError),
        (status = 403, description = "`forbidden`: the caller is not a SUPERADMIN or signed in more than 12 hours ago, or the client is defined in the configuration file", body = IdentityError),
        (status = 404, description = "`not_found`", body = IdentityError),
    )
)]
async fn rotate_secret(
    app: Data<App>,
    admin: SuperAdmin,
    context: RequestContext,
    id: Result<Path<(String,)>, Problem>,
) -> actix_web::Result<HttpResponse> {
    let Path((id,)) = id?;
    let made = service::rotate_secret(&app, &id, &context.for_admin(&admin)).await?;
    Ok(HttpResponse::Ok().json(OAuthClientSecretResponse::from(made)))
}
