//! The applications with access to an account.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use askama::Template;
use auth_types::ScopeSet;
use messages::{Text, t};
use serde::Deserialize;
use service_kit::http::{Query, endpoint};

use crate::error::Error;
use crate::oauth::consents::service;
use crate::oauth::consents::wire::Application;
use crate::oauth::scopes;
use crate::pages::form::Form;
use crate::pages::form_messages::DoneQuery;
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::pages::visitor::SignedInVisitor;
use crate::request_context::RequestContext;

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/account/applications").get(page))
        .service(endpoint("/account/applications/revoke").post(revoke));
}

#[derive(Template)]
#[template(path = "account/applications.html")]
struct ApplicationsPage {
    frame: PageFrame,
    applications: Vec<ApplicationView>,
}

/// An application as the page shows it.
struct ApplicationView {
    client_id: String,
    name: String,
    may: Vec<Text>,
    since: String,
    last_used: Option<String>,
}

impl From<Application> for ApplicationView {
    fn from(application: Application) -> Self {
        let lines = scopes::lines(application.scope, ScopeSet::default()).into_iter();
        let last_used = application.last_used_at;
        Self {
            may: lines.map(|line| line.text).collect(),
            since: text::day(&application.connected_at),
            last_used: last_used.as_ref().map(text::moment),
            client_id: application.client_id,
            name: application.name,
        }
    }
}

#[derive(Deserialize)]
struct RevokeForm {
    client_id: String,
}

async fn page(caller: SignedInVisitor, query: Query<DoneQuery>) -> Result<HttpResponse, Error> {
    let app = &caller.visitor.app;
    let found = service::list_applications(app, caller.user.account.id).await?;
    let page = ApplicationsPage {
        frame: caller
            .visitor
            .frame(t("account-applications"))
            .with(query.0.messages()),
        applications: found.into_iter().map(ApplicationView::from).collect(),
    };
    Ok(caller.visitor.show(StatusCode::OK, &page))
}

async fn revoke(
    form: Form<RevokeForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (SignedInVisitor { visitor, user }, RevokeForm { client_id }) = form.by_caller()?;
    service::revoke_application(&visitor.app, &user, client_id, &context).await?;
    Ok(visitor.see_other("/account/applications?done=application"))
}
