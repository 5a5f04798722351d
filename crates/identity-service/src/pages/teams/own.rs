//! A user's teams, the invitations to them, and the creation of a team.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::UserId;
use messages::t;
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
use crate::pages::visitor::SignedInVisitor;
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
    caller: SignedInVisitor,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    show(&caller, query.0.notices()).await
}

async fn show(caller: &SignedInVisitor, notices: FormMessages) -> actix_web::Result<HttpResponse> {
    let app = &caller.visitor.app;
    let waiting = answers::list_own(app, &caller.user, PageQuery::default()).await?;
    let page = TeamsPage {
        frame: caller.visitor.frame(t("teams-title")).with(notices),
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
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, typed) = form.by_caller()?;
    let request = CreateTeamRequest {
        name: typed.name.clone(),
        slug: typed.slug.trim().to_owned(),
        description: text::given(typed.description.replace("\r\n", "\n")),
    };
    let made = service::create_team(&caller.visitor.app, &caller.user, request, &origin).await;
    match made {
        Ok(team) => {
            let path = format!("/teams/{}?done=team", team.slug);
            Ok(caller.visitor.see_other(&path))
        }
        Err(error) => {
            let notices = notices::of(error, &["name", "slug", "description"])?;
            let typed = (&*typed.name, &*typed.slug, &*typed.description);
            Ok(show_new(&caller, notices, typed))
        }
    }
}

fn show_new(
    caller: &SignedInVisitor,
    notices: FormMessages,
    (name, slug, description): (&str, &str, &str),
) -> HttpResponse {
    let page = NewTeamPage {
        frame: caller.visitor.frame(t("teams-new")).with(notices),
        name,
        slug,
        description,
    };
    caller.visitor.show(page.frame.status(), &page)
}

pub(super) async fn accept(
    form: Form<IdForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, IdForm { id }) = form.by_caller()?;
    let reference = InvitationRef::parse(id);
    let app = &caller.visitor.app;
    match answers::accept(app, &caller.user, reference, &origin).await {
        Ok(joined) => {
            let path = format!("/teams/{}?done=joined", joined.team.slug);
            Ok(caller.visitor.see_other(&path))
        }
        Err(error) => show(&caller, notices::of(error, &[])?).await,
    }
}

pub(super) async fn decline(
    form: Form<IdForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, IdForm { id }) = form.by_caller()?;
    let reference = InvitationRef::parse(id);
    let app = &caller.visitor.app;
    match answers::decline(app, &caller.user, reference, &origin).await {
        Ok(()) => Ok(caller.visitor.see_other("/teams?done=declined")),
        Err(error) => show(&caller, notices::of(error, &[])?).await,
    }
}
