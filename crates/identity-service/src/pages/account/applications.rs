//! The applications with access to an account.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use askama::Template;
use auth_types::ScopeSet;
use serde::Deserialize;
use service_kit::http::{Query, endpoint};

use crate::error::Error;
use crate::oauth::consents::service;
use crate::oauth::consents::wire::Application;
use crate::oauth::scopes;
use crate::origin::RequestContext;
use crate::pages::form::Form;
use crate::pages::layout::PageFrame;
use crate::pages::notices::DoneQuery;
use crate::pages::text;
use crate::pages::visitor::Member;

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/account/applications").get(page))
        .service(endpoint("/account/applications/revoke").post(revoke));
}

#[derive(Template)]
#[template(path = "account/applications.html")]
struct ApplicationsPage {
    frame: PageFrame,
    applications: Vec<Listed>,
}

/// An application as the page shows it.
struct Listed {
    client_id: String,
    name: String,
    may: Vec<&'static str>,
    since: String,
    last_used: Option<String>,
}

impl From<Application> for Listed {
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

async fn page(member: Member, query: Query<DoneQuery>) -> Result<HttpResponse, Error> {
    let app = &member.visitor.app;
    let found = service::list_applications(app, member.user.account.id).await?;
    let page = ApplicationsPage {
        frame: member.visitor.frame("Applications").with(query.0.notices()),
        applications: found.into_iter().map(Listed::from).collect(),
    };
    Ok(member.visitor.show(StatusCode::OK, &page))
}

async fn revoke(form: Form<RevokeForm>, origin: RequestContext) -> actix_web::Result<HttpResponse> {
    let (Member { visitor, user }, RevokeForm { client_id }) = form.by_member()?;
    service::revoke_application(&visitor.app, &user, client_id, &origin).await?;
    Ok(visitor.see_other("/account/applications?done=application"))
}
