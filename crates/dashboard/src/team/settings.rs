use actix_web::HttpResponse;
use askama::Template;
use event_types::ChatProvider;
use service_kit::Problem;
use service_kit::http::{Path, Query};

use super::bodies::{Chat, ChatResponse, TeamDetail, TeamProject};
use super::chat;
use super::manage;
use crate::api::Slug;
use crate::frame::PageFrame;
use crate::notices::{DoneQuery, FormMessages};
use crate::text::TimeFormatter;
use crate::visitor::Member;

/// The team and the project in a path.
pub(super) type Place = (Slug, i64);

#[derive(Template)]
#[template(path = "team/settings.html")]
struct SettingsPage<'a> {
    frame: PageFrame,
    project: &'a TeamProject,
    path: String,
    typed: manage::Typed,
    chat: &'a Chat,
    /// Who configured a paused chat.
    maker: Option<String>,
    chat_typed: chat::Typed,
    last_test: Option<String>,
}

/// Shows what can be changed of a project.
pub(super) async fn page(
    member: Member,
    Path(place): Path<Place>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let notices = done.0.notices();
    show(&member, &place, notices, None, None).await
}

/// Shows both forms with the user's input, or else with what is stored.
pub(super) async fn show(
    member: &Member,
    (slug, id): &Place,
    notices: FormMessages,
    typed: Option<manage::Typed>,
    chat_typed: Option<chat::Typed>,
) -> actix_web::Result<HttpResponse> {
    let (call, api) = (member.call(), format!("/api/team-projects/{id}"));
    let (team, chat) = (format!("/api/teams/{slug}"), format!("{api}/chat"));
    let (data, detail, project, answer) = member.on(tokio::try_join!(
        call.user_data(),
        call.identity::<TeamDetail>(&team),
        call.get::<TeamProject>(&api),
        call.get::<ChatResponse>(&chat),
    ))?;
    if !detail.manages() || project.team_id != detail.team.id {
        return Err(Problem::not_found().into());
    }
    let (face, chat) = (TimeFormatter::of(&data.timezone), &answer.chat);
    let maker = call.maker(chat.created_by, chat.client_id.as_deref());
    let page = SettingsPage {
        maker: match chat.status.as_str() {
            "paused" => Some(maker.await),
            _ => None,
        },
        frame: member.frame("Settings of the project", &data).with(notices),
        path: format!("/team/{slug}/projects/{id}"),
        typed: typed.unwrap_or_else(|| manage::Typed::of(&project)),
        chat_typed: chat_typed.unwrap_or_else(|| chat::Typed::of(chat)),
        last_test: chat
            .last_test
            .as_ref()
            .map(|test| chat::outcome(test, face)),
        project: &project,
        chat,
    };
    Ok(member.show(page.frame.status(), &page))
}
