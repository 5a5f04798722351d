use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use service_kit::http::{Path, Query};

use super::bodies::{API, OwnProject, OwnProjectBody, OwnProjects, ProjectForm};
use crate::form_messages::{DoneQuery, FormMessages};
use crate::page_frame::PageFrame;
use crate::visitor::SignedInVisitor;

#[derive(Template)]
#[template(path = "projects/list.html")]
struct ProjectListPage {
    frame: PageFrame,
    projects: Vec<OwnProject>,
    input: ProjectForm,
}

#[derive(Template)]
#[template(path = "projects/project.html")]
struct OwnProjectPage<'a> {
    frame: PageFrame,
    project: &'a OwnProject,
    input: ProjectForm,
}

/// Shows all projects, the archived ones last.
pub(super) async fn list(
    user: SignedInVisitor,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let messages = done.0.messages();
    show_list(&user, messages, ProjectForm::default()).await
}

pub(super) async fn one(
    user: SignedInVisitor,
    Path((id,)): Path<(i64,)>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let messages = done.0.messages();
    show_one(&user, id, messages, None).await
}

pub(super) async fn show_list(
    user: &SignedInVisitor,
    messages: FormMessages,
    input: ProjectForm,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (user.call(), format!("{API}?archived=true"));
    let (data, mut found) = user.on(tokio::try_join!(
        call.user_data(),
        call.get::<OwnProjects>(&path),
    ))?;
    found.projects.sort_by_key(|project| project.archived);
    let page = ProjectListPage {
        frame: user.frame(t("projects-title"), &data).with(messages),
        projects: found.projects,
        input,
    };
    Ok(user.show(page.frame.status(), &page))
}

pub(super) async fn show_one(
    user: &SignedInVisitor,
    id: i64,
    messages: FormMessages,
    input: Option<ProjectForm>,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (user.call(), format!("{API}/{id}"));
    let (data, OwnProjectBody { project }) = user.on(tokio::try_join!(
        call.user_data(),
        call.get::<OwnProjectBody>(&path)
    ))?;
    let stored = || ProjectForm {
        name: project.name.clone(),
        description: project.description.clone(),
    };
    let page = OwnProjectPage {
        frame: user.frame(t("projects-project"), &data).with(messages),
        input: input.unwrap_or_else(stored),
        project: &project,
    };
    Ok(user.show(page.frame.status(), &page))
}
