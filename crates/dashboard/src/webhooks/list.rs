use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use reqwest::Method;
use service_kit::http::Query;

use super::bodies::{EVENTS, Typed, Webhook, WebhookWithSecret, Webhooks, said};
use crate::api::{Teams, UserData};
use crate::form::Form;
use crate::frame::PageFrame;
use crate::notices::{DoneQuery, FormMessages};
use crate::visitor::Member;

const API: &str = "/api/webhooks";

#[derive(Template)]
#[template(path = "webhooks/list.html")]
struct ListPage {
    frame: PageFrame,
    webhooks: Vec<(Webhook, String)>,
    teams: Teams,
    typed: Typed,
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
    member: Member,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let notices = done.0.notices();
    show(&member, notices, Typed::new()).await
}

pub(super) async fn create(form: Form<Typed>) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    // Loaded before the secret is created: nothing must fail between its creation and the only page with it.
    let data = member.on(member.call().user_data().await)?;
    let made = member.submit::<WebhookWithSecret>(Method::POST, API, fields.body());
    match made.await? {
        Ok(made) => Ok(show_secret(&member, &data, &made, true)),
        Err(refused) => show(&member, said(&refused), fields).await,
    }
}

/// Shows a new secret, for the only time.
pub(super) fn show_secret(
    member: &Member,
    data: &UserData,
    made: &WebhookWithSecret,
    is_new: bool,
) -> HttpResponse {
    let page = SecretPage {
        frame: member.frame("The webhook's secret", data),
        webhook: &made.webhook,
        secret: &made.secret,
        is_new,
    };
    member.show(StatusCode::OK, &page)
}

async fn show(
    member: &Member,
    notices: FormMessages,
    typed: Typed,
) -> actix_web::Result<HttpResponse> {
    let call = member.call();
    let (data, found, teams) = member.on(tokio::try_join!(
        call.user_data(),
        call.get::<Webhooks>(API),
        call.identity::<Teams>("/api/teams"),
    ))?;
    let whose = |webhook: &Webhook| match webhook.team_id {
        None => "Your own sessions".to_owned(),
        Some(id) => teams.name(id),
    };
    let webhooks = found.webhooks.into_iter();
    let webhooks = webhooks.map(|webhook| {
        let whose = whose(&webhook);
        (webhook, whose)
    });
    let page = ListPage {
        frame: member.frame("Webhooks", &data).with(notices),
        webhooks: webhooks.collect(),
        teams,
        typed,
    };
    Ok(member.show(page.frame.status(), &page))
}
