use actix_web::HttpResponse;
use reqwest::Method;
use serde_json::{Value, json};
use service_kit::http::Path;

use super::bodies::{API, PATH, Typed};
use super::pages::{show_list, show_one};
use crate::form::{Empty, Form, lines};
use crate::visitor::Member;

/// The fields, for the messages beside them.
const FIELDS: [&str; 2] = ["name", "description"];

impl Typed {
    fn body(&self) -> Value {
        json!({"name": self.name, "description": lines(&self.description)})
    }
}

pub(super) async fn create(form: Form<Typed>) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    match member
        .submit::<Value>(Method::POST, API, fields.body())
        .await?
    {
        Ok(_) => Ok(done(&member, "project")),
        Err(refused) => show_list(&member, refused.notices(&FIELDS), fields).await,
    }
}

pub(super) async fn save(
    form: Form<Typed>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    let path = format!("{API}/{id}");
    match member
        .submit::<Value>(Method::PUT, &path, fields.body())
        .await?
    {
        Ok(_) => Ok(done(&member, "project")),
        Err(refused) => show_one(&member, id, refused.notices(&FIELDS), Some(fields)).await,
    }
}

/// Archives a project: its sessions stay, and no new one starts on it.
pub(super) async fn archive(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let (member, path) = (form.member, format!("{API}/{id}"));
    member.order::<Value>(Method::DELETE, &path).await?;
    Ok(done(&member, "archived"))
}

fn done(member: &Member, name: &str) -> HttpResponse {
    member.see_other(&format!("{PATH}?done={name}"))
}
