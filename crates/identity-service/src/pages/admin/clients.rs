//! The OAuth clients, which may ask for access to accounts.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use auth_types::Scope;
use messages::t;
use secrecy::ExposeSecret as _;
use service_kit::http::{Path, Query};

use super::client_form::ClientForm;
use crate::error::Error;
use crate::oauth::clients::NewClient;
use crate::oauth::clients::model::{ClientWithSecret, OAuthClient};
use crate::oauth::clients::service;
use crate::pages::form::{EmptyForm, Form};
use crate::pages::form_messages::{DoneQuery, FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::pages::visitor::Administrator;
use crate::request_context::RequestContext;

const PATH: &str = "/admin/clients";

#[derive(Template)]
#[template(path = "admin/clients.html")]
struct ClientsPage {
    frame: PageFrame,
    clients: Vec<OAuthClient>,
}

/// The form of a new client, or that of the registered client `id`.
#[derive(Template)]
#[template(path = "admin/client_form.html")]
struct ClientFormPage<'a> {
    frame: PageFrame,
    id: Option<&'a str>,
    input: &'a ClientForm,
    scopes: &'static [Scope],
}

#[derive(Template)]
#[template(path = "admin/client.html")]
struct ClientPage {
    frame: PageFrame,
    client: OAuthClient,
    made: String,
}

/// The page that shows a new secret, only once.
#[derive(Template)]
#[template(path = "admin/client_secret.html")]
struct SecretPage<'a> {
    frame: PageFrame,
    client: &'a OAuthClient,
    secret: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "admin/client_confirm.html")]
struct ClientConfirmPage<'a> {
    frame: PageFrame,
    client: &'a OAuthClient,
    deletes: bool,
}

pub(super) async fn list(
    admin: Administrator,
    query: Query<DoneQuery>,
) -> Result<HttpResponse, Error> {
    let page = ClientsPage {
        frame: admin
            .visitor
            .frame(t("admin-clients"))
            .with(query.0.messages()),
        clients: service::list(&admin.visitor.app).await?,
    };
    Ok(admin.visitor.show(StatusCode::OK, &page))
}

pub(super) async fn create_page(admin: Administrator) -> HttpResponse {
    show_form(
        &admin,
        None,
        FormMessages::default(),
        &ClientForm::for_new(),
    )
}

pub(super) async fn create(
    form: Form<ClientForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (admin, input) = form.by_administrator().await?;
    let context = context.for_admin(&admin.admin);
    let made = match NewClient::try_from(input.registration()) {
        Ok(new) => service::create(&admin.visitor.app, new, &context).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => Ok(show_secret(&admin, &made)),
        Err(error) => {
            let messages = messages_for(error, &["name"])?;
            Ok(show_form(&admin, None, messages, &input))
        }
    }
}

pub(super) async fn edit_page(
    admin: Administrator,
    id: Path<(String,)>,
) -> actix_web::Result<HttpResponse> {
    let id = id.0.0;
    let client = service::get(&admin.visitor.app, &id).await?;
    let form = ClientForm::for_client(client)?;
    Ok(show_form(&admin, Some(&id), FormMessages::default(), &form))
}

pub(super) async fn edit(
    form: Form<ClientForm>,
    id: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (admin, input) = form.by_administrator().await?;
    let (id, context) = (id.0.0, context.for_admin(&admin.admin));
    match service::update(&admin.visitor.app, &id, input.changes(), &context).await {
        Ok(_) => Ok(admin
            .visitor
            .see_other(&format!("{PATH}/{id}?done=client-saved"))),
        Err(error) => {
            let messages = messages_for(error, &["name"])?;
            Ok(show_form(&admin, Some(&id), messages, &input))
        }
    }
}

fn show_form(
    admin: &Administrator,
    id: Option<&str>,
    messages: FormMessages,
    input: &ClientForm,
) -> HttpResponse {
    let title = match id {
        Some(_) => t("admin-client-edit"),
        None => t("admin-client-new"),
    };
    let page = ClientFormPage {
        frame: admin.visitor.frame(title).with(messages),
        id,
        input,
        scopes: &Scope::ALL,
    };
    admin.visitor.show(page.frame.status(), &page)
}

fn show_secret(admin: &Administrator, made: &ClientWithSecret) -> HttpResponse {
    let page = SecretPage {
        frame: admin.visitor.frame(&made.client.name),
        client: &made.client,
        secret: made.secret.as_ref().map(|secret| secret.expose_secret()),
    };
    admin.visitor.show(StatusCode::OK, &page)
}

pub(super) async fn page(
    admin: Administrator,
    id: Path<(String,)>,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let client = service::get(&admin.visitor.app, &id.0.0).await?;
    let page = ClientPage {
        frame: admin.visitor.frame(&client.name).with(query.0.messages()),
        made: text::moment(&client.created_at.and_utc()),
        client,
    };
    Ok(admin.visitor.show(StatusCode::OK, &page))
}

pub(super) async fn ask_rotate(
    admin: Administrator,
    id: Path<(String,)>,
) -> actix_web::Result<HttpResponse> {
    ask(&admin, &id.0.0, FormMessages::default(), false).await
}

pub(super) async fn rotate(
    form: Form<EmptyForm>,
    id: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (admin, _) = form.by_administrator().await?;
    let (id, context) = (id.0.0, context.for_admin(&admin.admin));
    match service::rotate_secret(&admin.visitor.app, &id, &context).await {
        Ok(made) => Ok(show_secret(&admin, &made)),
        Err(error) => ask(&admin, &id, messages_for(error, &[])?, false).await,
    }
}

pub(super) async fn ask_delete(
    admin: Administrator,
    id: Path<(String,)>,
) -> actix_web::Result<HttpResponse> {
    ask(&admin, &id.0.0, FormMessages::default(), true).await
}

pub(super) async fn delete(
    form: Form<EmptyForm>,
    id: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (admin, _) = form.by_administrator().await?;
    let (id, context) = (id.0.0, context.for_admin(&admin.admin));
    match service::delete(&admin.visitor.app, &id, &context).await {
        Ok(_) => Ok(admin
            .visitor
            .see_other(&format!("{PATH}?done=client-deleted"))),
        Err(error) => ask(&admin, &id, messages_for(error, &[])?, true).await,
    }
}

async fn ask(
    admin: &Administrator,
    id: &str,
    messages: FormMessages,
    deletes: bool,
) -> actix_web::Result<HttpResponse> {
    let client = service::get(&admin.visitor.app, id).await?;
    let title = match deletes {
        true => t("admin-client-delete"),
        false => t("admin-client-rotate"),
    };
    let page = ClientConfirmPage {
        frame: admin.visitor.frame(title).with(messages),
        client: &client,
        deletes,
    };
    Ok(admin.visitor.show(page.frame.status(), &page))
}
