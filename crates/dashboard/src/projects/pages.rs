use actix_web::HttpResponse;
use askama::Template;
use service_kit::http::{Path, Query};

use super::bodies::{API, One, OwnProject, OwnProjects, Typed};
use crate::frame::PageFrame;
use crate::notices::{DoneQuery, FormMessages};
use crate::visitor::Member;

#[derive(Template)]
#[template(path = "projects/list.html")]
struct ListPage {
    frame: PageFrame,
    projects: Vec<OwnProject>,
    typed: Typed,
}

#[derive(Template)]
#[template(path = "projects/one.html")]
struct OnePage<'a> {
    frame: PageFrame,
    project: &'a OwnProject,
    typed: Typed,
}

/// Shows all projects, the archived ones last.
pub(super) async fn list(
    member: Member,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let notices = done.0.notices();
    show_list(&member, notices, Typed::default()).await
}

pub(super) async fn one(
    member: Member,
    Path((id,)): Path<(i64,)>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let notices = done.0.notices();
    show_one(&member, id, notices, None).await
}

pub(super) async fn show_list(
    member: &Member,
    notices: FormMessages,
    typed: Typed,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (member.call(), format!("{API}?archived=true"));
    let (data, mut found) = member.on(tokio::try_join!(
        call.user_data(),
        call.get::<OwnProjects>(&path),
    ))?;
    found.projects.sort_by_key(|project| project.archived);
    let page = ListPage {
        frame: member.frame("Your projects", &data).with(notices),
        projects: found.projects,
        typed,
    };
    Ok(member.show(page.frame.status(), &page))
}

pub(super) async fn show_one(
    member: &Member,
    id: i64,
    notices: FormMessages,
    typed: Option<Typed>,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (member.call(), format!("{API}/{id}"));
    let (data, One { project }) =
        member.on(tokio::try_join!(call.user_data(), call.get::<One>(&path)))?;
    let stored = || Typed {
        name: project.name.clone(),
        description: project.description.clone(),
    };
    let page = OnePage {
        frame: member.frame("Project", &data).with(notices),
        typed: typed.unwrap_or_else(stored),
        project: &project,
    };
    Ok(member.show(page.frame.status(), &page))
}
