use actix_web::HttpResponse;
use reqwest::Method;
use serde_json::{Value, json};
use service_kit::http::Path;

use super::bodies::{API, PATH, ProjectForm};
use super::pages::{show_list, show_one};
use crate::form::{EmptyForm, Form, normalize_line_ends};
use crate::visitor::SignedInVisitor;

/// The fields, for the messages beside them.
const FIELDS: [&str; 2] = ["name", "description"];

impl ProjectForm {
    fn body(&self) -> Value {
        json!({"name": self.name, "description": normalize_line_ends(&self.description)})
    }
}

pub(super) async fn create(form: Form<ProjectForm>) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    match user
        .submit::<Value>(Method::POST, API, fields.body())
        .await?
    {
        Ok(_) => Ok(done(&user, "project")),
        Err(refused) => show_list(&user, refused.messages(&FIELDS), fields).await,
    }
}

pub(super) async fn save(
    form: Form<ProjectForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let path = format!("{API}/{id}");
    match user
        .submit::<Value>(Method::PUT, &path, fields.body())
        .await?
    {
        Ok(_) => Ok(done(&user, "project")),
        Err(refused) => show_one(&user, id, refused.messages(&FIELDS), Some(fields)).await,
    }
}

/// Archives a project: its sessions stay, and no new one starts on it.
pub(super) async fn archive(
    form: Form<EmptyForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let (user, path) = (form.user, format!("{API}/{id}"));
    user.request::<Value>(Method::DELETE, &path).await?;
    Ok(done(&user, "archived"))
}

fn done(user: &SignedInVisitor, name: &str) -> HttpResponse {
    user.see_other(&format!("{PATH}?done={name}"))
}
