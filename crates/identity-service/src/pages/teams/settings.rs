//! A team's name, slug and description.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::TeamRole;
use messages::t;
use serde::Deserialize;

use super::team_context::{TeamForm, TeamPageContext};
use crate::pages::form_messages::{FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::request_context::RequestContext;
use crate::teams::authorization::TeamAdmin;
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

pub(super) async fn page(team: TeamPageContext<TeamAdmin>) -> HttpResponse {
    let row = team.team();
    let description = row.description.as_deref().unwrap_or_default();
    let values = (&*row.name, &*row.slug, description);
    show(&team, FormMessages::default(), values)
}

pub(super) async fn save(
    form: TeamForm<SettingsForm, TeamAdmin>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { team, input } = form;
    let request = ChangeTeamRequest {
        name: Some(input.name.clone()),
        slug: input.slug.as_deref().map(|slug| slug.trim().to_owned()),
        description: Some(text::given(input.description.replace("\r\n", "\n"))),
    };
    match service::change_team(&team.visitor.app, &team.member, request, &context).await {
        Ok(changed) => {
            let path = format!("/teams/{}?done=team-saved", changed.slug);
            Ok(team.visitor.see_other(&path))
        }
        Err(error) => {
            let messages = messages_for(error, &["name", "slug", "description"])?;
            let slug = input.slug.as_deref().unwrap_or_default();
            let values = (&*input.name, slug, &*input.description);
            Ok(show(&team, messages, values))
        }
    }
}

fn show(
    team: &TeamPageContext<TeamAdmin>,
    messages: FormMessages,
    (name, slug, description): (&str, &str, &str),
) -> HttpResponse {
    let page = SettingsPage {
        frame: team.visitor.frame(t("teams-settings")).with(messages),
        path: team.path(),
        team_name: &team.team().name,
        is_owner: team.member().role == TeamRole::Owner,
        name,
        slug,
        description,
    };
    team.visitor.show(page.frame.status(), &page)
}
