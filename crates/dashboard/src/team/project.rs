use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde::Deserialize;
use service_kit::Problem;
use service_kit::http::{Path, Query};
use web_kit::text::{Pager, with_query};

use super::bodies::{ActivityEntry, ChatResponse, ProjectActivity, TeamDetail, TeamProject};
use crate::api::Slug;
use crate::form_messages::DoneQuery;
use crate::page_frame::PageFrame;
use crate::text::{self, TimeFormatter};
use crate::visitor::SignedInVisitor;

#[derive(Deserialize)]
pub(super) struct ProjectQuery {
    #[serde(default)]
    cursor: String,
}

#[derive(Template)]
#[template(path = "team/project.html")]
struct ProjectPage<'a> {
    frame: PageFrame,
    detail: &'a TeamDetail,
    project: &'a TeamProject,
    path: &'a str,
    /// Empty if there is none.
    chat: &'a str,
    chat_is_on: bool,
    zone: TimeFormatter,
    activity: &'a [ActivityEntry],
    pager: Pager,
}

/// Shows a project with its sessions, and whether they were announced in the chat.
pub(super) async fn page(
    user: SignedInVisitor,
    Path((slug, id)): Path<(Slug, i64)>,
    query: Query<ProjectQuery>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let (call, api) = (user.call(), format!("/api/team-projects/{id}"));
    let (team, chat) = (format!("/api/teams/{slug}"), format!("{api}/chat"));
    let pairs = [("limit", "25"), ("cursor", query.0.cursor.as_str())];
    let activity = with_query(&format!("{api}/activity"), &pairs);
    let (data, detail, project, chat, activity) = user.on(tokio::try_join!(
        call.user_data(),
        call.identity::<TeamDetail>(&team),
        call.get::<TeamProject>(&api),
        call.get::<ChatResponse>(&chat),
        call.get::<ProjectActivity>(&activity),
    ))?;
    if project.team_id != detail.team.id {
        return Err(Problem::not_found().into());
    }
    let path = format!("/team/{slug}/projects/{id}");
    let page = ProjectPage {
        frame: user.frame(&project.name, &data).with(done.0.messages()),
        chat: chat.chat.label().unwrap_or_default(),
        chat_is_on: chat.chat.status == "active",
        zone: TimeFormatter::new(&data.timezone),
        activity: &activity.activity,
        pager: Pager {
            previous: (!query.0.cursor.is_empty()).then(|| path.clone()),
            next: activity
                .next_cursor
                .map(|next| with_query(&path, &[("cursor", &next)])),
        },
        detail: &detail,
        project: &project,
        path: &path,
    };
    Ok(user.show(StatusCode::OK, &page))
}
