use actix_web::HttpResponse;
use reqwest::Method;
use serde_json::{Value, json};
use service_kit::http::Path;

use super::bodies::{API, PATH, Typed};
use super::pages::{show_list, show_one};
use crate::form::{Empty, Form, lines};
use crate::notices::Notices;
use crate::visitor::Member;

/// The fields, for what is said beside them.
const FIELDS: [&str; 2] = ["name", "description"];

impl Typed {
    fn body(&self) -> Value {
        json!({"name": self.name, "description": lines(&self.description)})
    }
}

/// Makes one.
pub(super) async fn create(form: Form<Typed>) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    let made = member
        .call()
        .send::<Value>(Method::POST, API, fields.body());
    match made.await {
        Ok(_) => Ok(done(&member, "project")),
        Err(error) => {
            let refused = member.on(error.about_the_form())?;
            show_list(&member, Notices::of(&refused, &FIELDS), fields).await
        }
    }
}

/// Changes one.
pub(super) async fn save(
    form: Form<Typed>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    let path = format!("{API}/{id}");
    let sent = member
        .call()
        .send::<Value>(Method::PUT, &path, fields.body());
    match sent.await {
        Ok(_) => Ok(done(&member, "project")),
        Err(error) => {
            let refused = member.on(error.about_the_form())?;
            show_one(&member, id, Notices::of(&refused, &FIELDS), Some(fields)).await
        }
    }
}

/// Archives one: what was done on it stays, nothing new is started.
pub(super) async fn archive(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let (member, path) = (form.member, format!("{API}/{id}"));
    let sent = member
        .call()
        .send::<Value>(Method::DELETE, &path, json!({}));
    member.on(sent.await)?;
    Ok(done(&member, "archived"))
}

fn done(member: &Member, name: &str) -> HttpResponse {
    member.see_other(&format!("{PATH}?done={name}"))
}
