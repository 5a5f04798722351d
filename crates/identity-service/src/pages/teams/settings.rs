//! A team's name, slug and description.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::TeamRole;
use messages::t;
use serde::Deserialize;

use super::at_team::{TeamForm, TeamPageContext};
use crate::origin::RequestContext;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, FormMessages};
use crate::pages::text;
use crate::teams::access::TeamAdmin;
use crate::teams::service;
use crate::teams::wire::ChangeTeamRequest;

#[derive(Template)]
#[template(path = "teams/settings.html")]
struct SettingsPage<'a> {
    frame: PageFrame,
    path: String,
    team_name: &'a str,
    is_owner: bool,
    name: &'a str,
    slug: &'a str,
    description: &'a str,
}

#[derive(Deserialize)]
pub(super) struct SettingsForm {
    name: String,
    /// Absent in the form of an admin, who may not change it.
    slug: Option<String>,
    #[serde(default)]
    description: String,
}

pub(super) async fn page(at_team: TeamPageContext<TeamAdmin>) -> HttpResponse {
    let team = at_team.team();
    let description = team.description.as_deref().unwrap_or_default();
    let values = (&*team.name, &*team.slug, description);
    show(&at_team, FormMessages::default(), values)
}

pub(super) async fn save(
    form: TeamForm<SettingsForm, TeamAdmin>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { at_team, typed } = form;
    let request = ChangeTeamRequest {
        name: Some(typed.name.clone()),
        slug: typed.slug.as_deref().map(|slug| slug.trim().to_owned()),
        description: Some(text::given(typed.description.replace("\r\n", "\n"))),
    };
    match service::change_team(&at_team.visitor.app, &at_team.rank, request, &origin).await {
        Ok(team) => {
            let path = format!("/teams/{}?done=team-saved", team.slug);
            Ok(at_team.visitor.see_other(&path))
        }
        Err(error) => {
            let notices = notices::of(error, &["name", "slug", "description"])?;
            let slug = typed.slug.as_deref().unwrap_or_default();
            let values = (&*typed.name, slug, &*typed.description);
            Ok(show(&at_team, notices, values))
        }
    }
}

fn show(
    at_team: &TeamPageContext<TeamAdmin>,
    notices: FormMessages,
    (name, slug, description): (&str, &str, &str),
) -> HttpResponse {
    let page = SettingsPage {
        frame: at_team.visitor.frame(t("teams-settings")).with(notices),
        path: at_team.path(),
        team_name: &at_team.team().name,
        is_owner: at_team.member().role == TeamRole::Owner,
        name,
        slug,
        description,
    };
    at_team.visitor.show(page.frame.status(), &page)
}
