//! A user's teams, the invitations to them, and the creation of a team.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::UserId;
use serde::Deserialize;
use service_kit::http::Query;

use crate::invitations::answers;
use crate::invitations::model::InvitationRef;
use crate::invitations::wire::Invitation;
use crate::origin::RequestContext;
use crate::pages::form::{Form, IdForm};
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, DoneQuery, FormMessages};
use crate::pages::text;
use crate::pages::visitor::Member;
use crate::teams::service;
use crate::teams::wire::{CreateTeamRequest, PageQuery, Team};

#[derive(Template)]
#[template(path = "teams/own.html")]
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
    member: Member,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    show(&member, query.0.notices()).await
}

async fn show(member: &Member, notices: FormMessages) -> actix_web::Result<HttpResponse> {
    let app = &member.visitor.app;
    let waiting = answers::list_own(app, &member.user, PageQuery::default()).await?;
    let page = TeamsPage {
        frame: member.visitor.frame("Teams").with(notices),
        teams: service::list_teams(app, &member.user).await?,
        invitations: waiting.invitations,
        user_id: member.user.account.id,
    };
    Ok(member.visitor.show(page.frame.status(), &page))
}

pub(super) async fn create_page(member: Member) -> HttpResponse {
    show_new(&member, FormMessages::default(), ("", "", ""))
}

pub(super) async fn create(
    form: Form<NewTeamForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (member, typed) = form.by_member()?;
    let request = CreateTeamRequest {
        name: typed.name.clone(),
        slug: typed.slug.trim().to_owned(),
        description: text::given(typed.description.replace("\r\n", "\n")),
    };
    let made = service::create_team(&member.visitor.app, &member.user, request, &origin).await;
    match made {
        Ok(team) => {
            let path = format!("/teams/{}?done=team", team.slug);
            Ok(member.visitor.see_other(&path))
        }
        Err(error) => {
            let notices = notices::of(error, &["name", "slug", "description"])?;
            let typed = (&*typed.name, &*typed.slug, &*typed.description);
            Ok(show_new(&member, notices, typed))
        }
    }
}

fn show_new(
    member: &Member,
    notices: FormMessages,
    (name, slug, description): (&str, &str, &str),
) -> HttpResponse {
    let page = NewTeamPage {
        frame: member.visitor.frame("New team").with(notices),
        name,
        slug,
        description,
    };
    member.visitor.show(page.frame.status(), &page)
}

pub(super) async fn accept(
    form: Form<IdForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (member, IdForm { id }) = form.by_member()?;
    let reference = InvitationRef::parse(id);
    let app = &member.visitor.app;
    match answers::accept(app, &member.user, reference, &origin).await {
        Ok(joined) => {
            let path = format!("/teams/{}?done=joined", joined.team.slug);
            Ok(member.visitor.see_other(&path))
        }
        Err(error) => show(&member, notices::of(error, &[])?).await,
    }
}

pub(super) async fn decline(
    form: Form<IdForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (member, IdForm { id }) = form.by_member()?;
    let reference = InvitationRef::parse(id);
    let app = &member.visitor.app;
    match answers::decline(app, &member.user, reference, &origin).await {
        Ok(()) => Ok(member.visitor.see_other("/teams?done=declined")),
        Err(error) => show(&member, notices::of(error, &[])?).await,
    }
}
