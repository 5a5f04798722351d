use actix_web::HttpResponse;
use askama::Template;
use event_types::ChatProvider;
use messages::t;
use service_kit::Problem;
use service_kit::http::{Path, Query};

use super::bodies::{Chat, ChatResponse, TeamDetail, TeamProject};
use super::chat::ChatForm;
use super::manage_project::TeamProjectForm;
use crate::api::Slug;
use crate::form_messages::{DoneQuery, FormMessages};
use crate::page_frame::PageFrame;
use crate::text::TimeFormatter;
use crate::visitor::SignedInVisitor;

pub(super) type ProjectPath = (Slug, i64);

#[derive(Template)]
#[template(path = "team/project_settings.html")]
struct ProjectSettingsPage<'a> {
    frame: PageFrame,
    project: &'a TeamProject,
    path: String,
    input: TeamProjectForm,
    chat: &'a Chat,
    /// Who configured a paused chat.
    creator: Option<String>,
    chat_input: ChatForm,
    zone: TimeFormatter,
}

pub(super) async fn page(
    user: SignedInVisitor,
    Path(path): Path<ProjectPath>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let messages = done.0.messages();
    show(&user, &path, messages, None, None).await
}

/// Shows both forms with the user's input, or else with what is stored.
pub(super) async fn show(
    user: &SignedInVisitor,
    (slug, id): &ProjectPath,
    messages: FormMessages,
    input: Option<TeamProjectForm>,
    chat_input: Option<ChatForm>,
) -> actix_web::Result<HttpResponse> {
    let (call, api) = (user.call(), format!("/api/team-projects/{id}"));
    let (team, chat) = (format!("/api/teams/{slug}"), format!("{api}/chat"));
    let (data, detail, project, answer) = user.on(tokio::try_join!(
        call.user_data(),
        call.identity::<TeamDetail>(&team),
        call.get::<TeamProject>(&api),
        call.get::<ChatResponse>(&chat),
    ))?;
    if !detail.manages() || project.team_id != detail.team.id {
        return Err(Problem::not_found().into());
    }
    let chat = &answer.chat;
    let creator = call.creator(chat.created_by, chat.client_id.as_deref());
    let page = ProjectSettingsPage {
        creator: match chat.status.as_str() {
            "paused" => Some(creator.await),
            _ => None,
        },
        frame: user.frame(t("team-project-settings"), &data).with(messages),
        path: format!("/team/{slug}/projects/{id}"),
        input: input.unwrap_or_else(|| TeamProjectForm::from_project(&project)),
        chat_input: chat_input.unwrap_or_else(|| ChatForm::from_chat(chat)),
        zone: TimeFormatter::new(&data.timezone),
        project: &project,
        chat,
    };
    Ok(user.show(page.frame.status(), &page))
}
