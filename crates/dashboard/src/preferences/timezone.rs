use actix_web::HttpResponse;
use messages::t;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use service_kit::time_zone::Zone;
use web_kit::text::wait;

use super::routes::again;
use crate::api::ApiRejection;
use crate::form::Form;
use crate::form_messages::FormMessages;

#[derive(Deserialize)]
pub(super) struct TimezoneForm {
    timezone: String,
}

pub(super) fn all(but: &str) -> Vec<&'static str> {
    let names = Zone::all().map(Zone::name);
    names.filter(|name| *name != but).collect()
}

pub(super) async fn save(form: Form<TimezoneForm>) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let body = json!({ "timezone": fields.timezone });
    let path = "/api/user/preferences";
    match user.submit::<Value>(Method::PUT, path, body).await? {
        Ok(_) => Ok(user.see_other("/settings?done=timezone")),
        Err(refused) => again(&user, messages_for(&refused)).await,
    }
}

fn messages_for(refused: &ApiRejection) -> FormMessages {
    match refused.retry_after {
        Some(seconds) => {
            let message = t("preferences-timezone-wait")
                .with("reason", &refused.message)
                .with("wait", wait(seconds));
            FormMessages::for_error(Some("timezone"), refused.status, message)
        }
        None => refused.messages(&["timezone"]),
    }
}
