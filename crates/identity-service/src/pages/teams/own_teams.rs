//! A user's teams, the invitations to them, and the creation of a team.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::UserId;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use crate::invitations::acceptance;
use crate::invitations::model::InvitationRef;
use crate::invitations::wire::Invitation;
use crate::pages::form::{Form, IdForm};
use crate::pages::form_messages::{DoneQuery, FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::pages::visitor::SignedInVisitor;
use crate::request_context::RequestContext;
use crate::teams::service;
use crate::teams::wire::{CreateTeamRequest, PageQuery, Team};

#[derive(Template)]
#[template(path = "teams/own_teams.html")]
struct TeamsPage {
    frame: PageFrame,
    teams: Vec<Team>,
    invitations: Vec<Invitation>,
    user_id: UserId,
}

#[derive(Template)]
#[template(path = "teams/new.html")]
struct NewTeamPage<'a> {
    frame: PageFrame,
    name: &'a str,
    slug: &'a str,
    description: &'a str,
}

#[derive(Deserialize)]
pub(super) struct NewTeamForm {
    name: String,
    slug: String,
    #[serde(default)]
    description: String,
}

pub(super) async fn page(
    caller: SignedInVisitor,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    show(&caller, query.0.messages()).await
}

async fn show(caller: &SignedInVisitor, messages: FormMessages) -> actix_web::Result<HttpResponse> {
    let app = &caller.visitor.app;
    let waiting = acceptance::list_own(app, &caller.user, PageQuery::default()).await?;
    let page = TeamsPage {
        frame: caller.visitor.frame(t("teams-title")).with(messages),
        teams: service::list_teams(app, &caller.user).await?,
        invitations: waiting.invitations,
        user_id: caller.user.account.id,
    };
    Ok(caller.visitor.show(page.frame.status(), &page))
}

pub(super) async fn create_page(caller: SignedInVisitor) -> HttpResponse {
    show_new(&caller, FormMessages::default(), ("", "", ""))
}

pub(super) async fn create(
    form: Form<NewTeamForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, input) = form.by_caller()?;
    let request = CreateTeamRequest {
        name: input.name.clone(),
        slug: input.slug.trim().to_owned(),
        description: text::given(input.description.replace("\r\n", "\n")),
    };
    let made = service::create_team(&caller.visitor.app, &caller.user, request, &context).await;
    match made {
        Ok(team) => {
            let path = format!("/teams/{}?done=team", team.slug);
            Ok(caller.visitor.see_other(&path))
        }
        Err(error) => {
            let messages = messages_for(error, &["name", "slug", "description"])?;
            let input = (&*input.name, &*input.slug, &*input.description);
            Ok(show_new(&caller, messages, input))
        }
    }
}

fn show_new(
    caller: &SignedInVisitor,
    messages: FormMessages,
    (name, slug, description): (&str, &str, &str),
) -> HttpResponse {
    let page = NewTeamPage {
        frame: caller.visitor.frame(t("teams-new")).with(messages),
        name,
        slug,
        description,
    };
    caller.visitor.show(page.frame.status(), &page)
}

pub(super) async fn accept(
    form: Form<IdForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, IdForm { id }) = form.by_caller()?;
    let reference = InvitationRef::parse(id);
    let app = &caller.visitor.app;
    match acceptance::accept(app, &caller.user, reference, &context).await {
        Ok(joined) => {
            let path = format!("/teams/{}?done=joined", joined.team.slug);
            Ok(caller.visitor.see_other(&path))
        }
        Err(error) => show(&caller, messages_for(error, &[])?).await,
    }
}

pub(super) async fn decline(
    form: Form<IdForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, IdForm { id }) = form.by_caller()?;
    let reference = InvitationRef::parse(id);
    let app = &caller.visitor.app;
    match acceptance::decline(app, &caller.user, reference, &context).await {
        Ok(()) => Ok(caller.visitor.see_other("/teams?done=declined")),
        Err(error) => show(&caller, messages_for(error, &[])?).await,
    }
}
