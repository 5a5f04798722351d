//! The chat of a project's team, in which its sessions are announced.

use actix_web::HttpResponse;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service_kit::http::Path;

use super::bodies::Chat;
use super::project_settings::{ProjectPath, show};
use crate::form::{EmptyForm, Form};
use crate::visitor::SignedInVisitor;

/// The fields, for the messages beside them.
const FIELDS: [&str; 6] = [
    "provider",
    "webhook_url",
    "homeserver_url",
    "room_id",
    "access_token",
    "announce",
];

/// The form of a chat. No response contains its address or token again.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatForm {
    pub(super) provider: String,
    pub(super) webhook_url: String,
    pub(super) homeserver_url: String,
    pub(super) room_id: String,
    /// Not shown again, whatever is wrong with the form.
    access_token: String,
    planned: Option<String>,
    finished: Option<String>,
    abandoned: Option<String>,
}

impl ChatForm {
    /// The boxes, as the API names what is announced.
    pub(super) const ANNOUNCED: [&'static str; 3] = ["planned", "finished", "abandoned"];

    /// Fills the form from the chat's settings, or with the usual ones if there is no chat.
    pub(super) fn from_chat(chat: &Chat) -> Self {
        let is_new = chat.provider.is_none();
        let is_announced = |what: &str| chat.announce.iter().any(|it| it == what);
        let yes = |is: bool| is.then(|| "yes".to_owned());
        Self {
            provider: chat.provider.clone().unwrap_or_default(),
            planned: yes(is_new || is_announced("planned")),
            finished: yes(is_new || is_announced("finished")),
            abandoned: yes(is_announced("abandoned")),
            ..Self::default()
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        match name {
            "planned" => self.planned.is_some(),
            "finished" => self.finished.is_some(),
            _ => self.abandoned.is_some(),
        }
    }

    fn body(&self) -> Value {
        let announced = Self::ANNOUNCED.into_iter();
        let announced: Vec<&str> = announced.filter(|name| self.has(name)).collect();
        let mut body = Map::new();
        body.insert("provider".to_owned(), self.provider.as_str().into());
        body.insert("announce".to_owned(), announced.into());
        for (name, text) in [
            ("webhook_url", &self.webhook_url),
            ("homeserver_url", &self.homeserver_url),
            ("room_id", &self.room_id),
            ("access_token", &self.access_token),
        ] {
            if !text.trim().is_empty() {
                body.insert(name.to_owned(), text.trim().into());
            }
        }
        body.into()
    }
}

pub(super) async fn save(
    form: Form<ChatForm>,
    Path(path): Path<ProjectPath>,
) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let api = format!("/api/team-projects/{}/chat", path.1);
    match user
        .submit::<Value>(Method::PUT, &api, fields.body())
        .await?
    {
        Ok(_) => Ok(done(&user, &path, "chat")),
        Err(refused) => {
            let messages = refused.messages(&FIELDS);
            show(&user, &path, messages, None, Some(fields)).await
        }
    }
}

pub(super) async fn test(
    form: Form<EmptyForm>,
    Path(path): Path<ProjectPath>,
) -> actix_web::Result<HttpResponse> {
    let (user, api) = (
        form.user,
        format!("/api/team-projects/{}/chat/test", path.1),
    );
    match user.submit::<Value>(Method::POST, &api, json!({})).await? {
        Ok(_) => Ok(done(&user, &path, "chat-test")),
        Err(refused) => show(&user, &path, refused.messages(&[]), None, None).await,
    }
}

pub(super) async fn adopt(
    form: Form<EmptyForm>,
    Path(path): Path<ProjectPath>,
) -> actix_web::Result<HttpResponse> {
    let user = form.user;
    let api = format!("/api/team-projects/{}/chat/adopt", path.1);
    user.request::<Value>(Method::POST, &api).await?;
    Ok(done(&user, &path, "kept"))
}

pub(super) async fn switch_off(
    form: Form<EmptyForm>,
    Path(path): Path<ProjectPath>,
) -> actix_web::Result<HttpResponse> {
    let (user, api) = (form.user, format!("/api/team-projects/{}/chat", path.1));
    user.request::<Value>(Method::DELETE, &api).await?;
    Ok(done(&user, &path, "chat-off"))
}

fn done(user: &SignedInVisitor, (slug, id): &ProjectPath, name: &str) -> HttpResponse {
    user.see_other(&format!("/team/{slug}/projects/{id}/settings?done={name}"))
}
