use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::t;
use reqwest::Method;
use service_kit::http::Query;

use super::bodies::{EVENTS, Webhook, WebhookForm, WebhookWithSecret, Webhooks, messages_for};
use crate::api::{Teams, UserData};
use crate::form::Form;
use crate::form_messages::{DoneQuery, FormMessages};
use crate::page_frame::PageFrame;
use crate::visitor::SignedInVisitor;

const API: &str = "/api/webhooks";

#[derive(Template)]
#[template(path = "webhooks/list.html")]
struct WebhookListPage {
    frame: PageFrame,
    webhooks: Vec<(Webhook, String)>,
    teams: Teams,
    input: WebhookForm,
}

/// The page with a secret, which is shown only once.
#[derive(Template)]
#[template(path = "webhooks/secret.html")]
pub(super) struct SecretPage<'a> {
    pub(super) frame: PageFrame,
    pub(super) webhook: &'a Webhook,
    pub(super) secret: &'a str,
    pub(super) is_new: bool,
}

pub(super) async fn page(
    user: SignedInVisitor,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let messages = done.0.messages();
    show(&user, messages, WebhookForm::new()).await
}

pub(super) async fn create(form: Form<WebhookForm>) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    // Loaded before the secret is created: nothing must fail between its creation and the only page with it.
    let data = user.on(user.call().user_data().await)?;
    let made = user.submit::<WebhookWithSecret>(Method::POST, API, fields.body());
    match made.await? {
        Ok(made) => Ok(show_secret(&user, &data, &made, true)),
        Err(refused) => show(&user, messages_for(&refused), fields).await,
    }
}

/// Shows a new secret, for the only time.
pub(super) fn show_secret(
    user: &SignedInVisitor,
    data: &UserData,
    made: &WebhookWithSecret,
    is_new: bool,
) -> HttpResponse {
    let page = SecretPage {
        frame: user.frame(t("webhooks-secret-title"), data),
        webhook: &made.webhook,
        secret: &made.secret,
        is_new,
    };
    user.show(StatusCode::OK, &page)
}

async fn show(
    user: &SignedInVisitor,
    messages: FormMessages,
    input: WebhookForm,
) -> actix_web::Result<HttpResponse> {
    let call = user.call();
    let (data, found, teams) = user.on(tokio::try_join!(
        call.user_data(),
        call.get::<Webhooks>(API),
        call.identity::<Teams>("/api/teams"),
    ))?;
    let whose = |webhook: &Webhook| match webhook.team_id {
        None => t("webhooks-own").to_string(),
        Some(id) => teams.name(id),
    };
    let webhooks = found.webhooks.into_iter();
    let webhooks = webhooks.map(|webhook| {
        let whose = whose(&webhook);
        (webhook, whose)
    });
    let page = WebhookListPage {
        frame: user.frame(t("webhooks-title"), &data).with(messages),
        webhooks: webhooks.collect(),
        teams,
        input,
    };
    Ok(user.show(page.frame.status(), &page))
}
