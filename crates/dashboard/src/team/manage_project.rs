//! Creating, changing and archiving a team's project, by its owner and admins.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use service_kit::Problem;
use service_kit::http::Path;

use super::bodies::{TeamDetail, TeamProject};
use super::project_settings::{ProjectPath, show};
use crate::api::Slug;
use crate::form::{EmptyForm, Form, normalize_line_ends};
use crate::form_messages::FormMessages;
use crate::page_frame::PageFrame;
use crate::visitor::SignedInVisitor;

/// The fields, for the messages beside them.
const FIELDS: [&str; 3] = ["name", "description", "chat_channel"];

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct TeamProjectForm {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) chat_channel: String,
    pub(super) is_public: Option<String>,
}

#[derive(Template)]
#[template(path = "team/new_project.html")]
struct NewProjectPage<'a> {
    frame: PageFrame,
    detail: &'a TeamDetail,
    input: TeamProjectForm,
}

impl TeamProjectForm {
    pub(super) fn from_project(project: &TeamProject) -> Self {
        Self {
            name: project.name.clone(),
            description: project.description.clone(),
            chat_channel: project.chat_channel.clone(),
            is_public: project.is_public.then(|| "yes".to_owned()),
        }
    }

    /// Returns the body for the service; a new project also needs its team.
    fn body(&self, team: Option<i64>) -> Value {
        json!({
            "team_id": team,
            "name": self.name,
            "description": normalize_line_ends(&self.description),
            "chat_channel": self.chat_channel,
            "is_public": self.is_public.is_some(),
        })
    }
}

pub(super) async fn new_page(
    user: SignedInVisitor,
    Path((slug,)): Path<(Slug,)>,
) -> actix_web::Result<HttpResponse> {
    ask(
        &user,
        &slug,
        FormMessages::default(),
        TeamProjectForm::default(),
    )
    .await
}

pub(super) async fn create(
    form: Form<TeamProjectForm>,
    Path((slug,)): Path<(Slug,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let team = format!("/api/teams/{slug}");
    let team = user.call().identity::<TeamDetail>(&team).await;
    let team = user.on(team)?.team;
    let body = fields.body(Some(team.id));
    let made = user.submit::<TeamProject>(Method::POST, "/api/team-projects", body);
    match made.await? {
        Ok(made) => {
            let path = format!("/team/{slug}/projects/{}?done=project", made.id);
            Ok(user.see_other(&path))
        }
        Err(refused) => ask(&user, &slug, refused.messages(&FIELDS), fields).await,
    }
}

pub(super) async fn save(
    form: Form<TeamProjectForm>,
    Path(path): Path<ProjectPath>,
) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let (slug, id) = &path;
    let api = format!("/api/team-projects/{id}");
    match user
        .submit::<Value>(Method::PUT, &api, fields.body(None))
        .await?
    {
        Ok(_) => Ok(user.see_other(&format!("/team/{slug}/projects/{id}?done=project"))),
        Err(refused) => {
            let messages = refused.messages(&FIELDS);
            show(&user, &path, messages, Some(fields), None).await
        }
    }
}

/// Archives a project: its sessions stay, and no new one starts on it.
pub(super) async fn archive(
    form: Form<EmptyForm>,
    Path((slug, id)): Path<ProjectPath>,
) -> actix_web::Result<HttpResponse> {
    let (user, api) = (form.user, format!("/api/team-projects/{id}"));
    user.request::<Value>(Method::DELETE, &api).await?;
    Ok(user.see_other(&format!("/team/{slug}?done=archived")))
}

async fn ask(
    user: &SignedInVisitor,
    slug: &Slug,
    messages: FormMessages,
    input: TeamProjectForm,
) -> actix_web::Result<HttpResponse> {
    let (call, team) = (user.call(), format!("/api/teams/{slug}"));
    let (data, detail) = user.on(tokio::try_join!(
        call.user_data(),
        call.identity::<TeamDetail>(&team),
    ))?;
    if !detail.manages() {
        return Err(Problem::not_found().into());
    }
    let page = NewProjectPage {
        frame: user.frame(t("team-new-project"), &data).with(messages),
        detail: &detail,
        input,
    };
    Ok(user.show(page.frame.status(), &page))
}
