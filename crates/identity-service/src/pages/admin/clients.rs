//! The OAuth clients, which may ask for access to accounts.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use auth_types::Scope;
use messages::t;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use service_kit::http::{Path, Query};

use crate::error::Error;
use crate::oauth::clients::model::{ClientWithSecret, OAuthClient};
use crate::oauth::clients::service;
use crate::oauth::clients::wire::CreateOAuthClientRequest;
use crate::oauth::clients::{ClientMetadata, NewClient};
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

#[derive(Template)]
#[template(path = "admin/new_client.html")]
struct NewClientPage<'a> {
    frame: PageFrame,
    input: &'a ClientForm,
    scopes: [Scope; Scope::ALL.len()],
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

/// A ticked checkbox is a present field, an unticked one is absent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ClientForm {
    name: String,
    /// One per line.
    redirect_uris: String,
    scope: String,
    is_public: Option<String>,
    is_first_party: Option<String>,
    may_introspect_any: Option<String>,
    algorithm: String,
    requires_pkce_s256: Option<String>,
    grant_authorization_code: Option<String>,
    grant_refresh_token: Option<String>,
    grant_device_code: Option<String>,
}

impl ClientForm {
    fn registration(&self) -> CreateOAuthClientRequest {
        CreateOAuthClientRequest {
            name: self.name.clone(),
            redirect_uris: self
                .redirect_uris
                .lines()
                .filter_map(|line| text::given(line.to_owned()))
                .collect(),
            scope: Some(self.scope.split_whitespace().collect::<Vec<_>>().join(" ")),
            is_public: self.is_public.is_some(),
            is_first_party: self.is_first_party.is_some(),
            may_introspect_any: self.may_introspect_any.is_some(),
            id_token_signed_response_alg: text::given(self.algorithm.clone()),
            requires_pkce_s256: self.requires_pkce_s256.is_some(),
            grant_types: self.grant_types(),
            metadata: ClientMetadata::default(),
        }
    }

    /// Returns the grant types whose checkboxes are ticked.
    fn grant_types(&self) -> Vec<String> {
        let boxes = [
            (&self.grant_authorization_code, "authorization_code"),
            (&self.grant_refresh_token, "refresh_token"),
            (&self.grant_device_code, "device_code"),
        ];
        let ticked = boxes.iter().filter(|(ticked, _)| ticked.is_some());
        ticked.map(|(_, name)| (*name).to_owned()).collect()
    }
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
    let usual = || Some("yes".to_owned());
    let form = ClientForm {
        grant_authorization_code: usual(),
        grant_refresh_token: usual(),
        ..ClientForm::default()
    };
    show_new(&admin, FormMessages::default(), &form)
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
            Ok(show_new(&admin, messages, &input))
        }
    }
}

fn show_new(admin: &Administrator, messages: FormMessages, input: &ClientForm) -> HttpResponse {
    let page = NewClientPage {
        frame: admin.visitor.frame(t("admin-client-new")).with(messages),
        input,
        scopes: Scope::ALL,
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
