use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use askama::Template;
use chrono::{DateTime, TimeDelta};
use messages::t;
use serde::Deserialize;
use serde_json::json;
use service_kit::http::{Query, endpoint};
use web_kit::html::html;
use web_kit::text::with_query;

use super::page::{StartForm, TodayData};
use super::timer::Timer;
use crate::api::{ApiRejection, StartResponse};
use crate::app_state::Dashboard;
use crate::assets::TIMER;
use crate::form::{Form, go_up, normalize_line_ends};
use crate::form_messages::{DoneQuery, FormMessages};
use crate::page_frame::PageFrame;
use crate::paths::HOME;
use crate::text::{self, TimeFormatter};
use crate::visitor::{SignInState, SignedInVisitor, Visitor};

/// The maximum length of a break.
const LONGEST_BREAK: TimeDelta = TimeDelta::minutes(60);

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint(HOME).get(today))
        .service(endpoint("/start").get(go_up).post(start))
        .service(endpoint("/break").get(take_break));
}

#[derive(Template)]
#[template(path = "today/landing.html")]
struct LandingPage {
    frame: PageFrame,
    register: String,
}

#[derive(Template)]
#[template(path = "today/setup.html")]
struct SetupPage<'a> {
    frame: PageFrame,
    redirect_uri: String,
    base_url: &'a str,
    /// Whether sign-in cookies are allowed at this address.
    allowed: bool,
}

async fn today(visitor: Visitor, done: Query<DoneQuery>) -> actix_web::Result<HttpResponse> {
    if visitor.dashboard.oauth.is_none() {
        return Ok(set_up(&visitor));
    }
    let messages = done.0.messages();
    let user = match visitor.check_sign_in().await? {
        SignInState::SignedIn(user) => user,
        SignInState::Nobody(visitor) if visitor.sign_in.is_some() => {
            return Ok(visitor.to_sign_in());
        }
        SignInState::Nobody(visitor) => return Ok(land(&visitor.dashboard, messages)),
    };
    let day = user.on(TodayData::load(&user).await)?;
    Ok(day.show(&user, messages, day.likely_start()))
}

async fn start(form: Form<StartForm>) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let Ok(duration) = fields.duration.trim().parse::<i64>() else {
        let messages = FormMessages::for_field("duration", t("today-duration-malformed"));
        return again(&user, messages, fields).await;
    };
    let body = json!({
        "category": fields.category,
        "duration": duration,
        "project_id": fields.project_id,
        "note": normalize_line_ends(&fields.note),
    });
    let sent =
        user.call()
            .send_once::<StartResponse>("/api/session/start", &fields.idempotency_key, body);
    match user.split_rejection(sent.await)? {
        Ok(_) => Ok(user.see_other("/?done=started")),
        Err(refused) => again(&user, messages_for(&refused), fields).await,
    }
}

/// Shows the page again, with the input and what is wrong with it.
async fn again(
    user: &SignedInVisitor,
    messages: FormMessages,
    input: StartForm,
) -> actix_web::Result<HttpResponse> {
    let day = user.on(TodayData::load(user).await)?;
    let start = StartForm {
        idempotency_key: day.likely_start().idempotency_key,
        ..input
    };
    Ok(day.show(user, messages, start))
}

fn messages_for(refused: &ApiRejection) -> FormMessages {
    if refused.status == StatusCode::UNPROCESSABLE_ENTITY {
        return FormMessages::for_error(None, refused.status, t("today-other-plan"));
    }
    refused.messages(&["category", "duration", "project_id", "note"])
}

#[derive(Deserialize)]
struct BreakQuery {
    kind: Option<String>,
    /// The end, in seconds since the epoch.
    until: Option<i64>,
}

#[derive(Template)]
#[template(path = "today/break.html")]
struct BreakPage<'a> {
    frame: PageFrame,
    running: Timer,
    now: String,
    sound: &'a str,
    timer: &'static str,
}

/// Shows a break. Its end is in the address, so that it survives a reload; the services know no breaks.
async fn take_break(
    user: SignedInVisitor,
    query: Query<BreakQuery>,
) -> actix_web::Result<HttpResponse> {
    let data = user.on(user.call().user_data().await)?;
    let preferences = &data.preferences;
    let now = user.visitor.dashboard.clock.now();
    let BreakQuery { kind, until } = query.0;
    let kind = kind.unwrap_or_default();
    let (title, minutes) = match kind.as_str() {
        "long" => (t("today-long-break"), preferences.long_break_duration),
        _ => (t("today-short-break"), preferences.short_break_duration),
    };
    let length = TimeDelta::try_minutes(minutes).unwrap_or(LONGEST_BREAK);
    let until = until.and_then(|until| DateTime::from_timestamp(until, 0));
    let Some(until) = until.filter(|until| (*until - now).abs() <= LONGEST_BREAK) else {
        let until = (now + length).timestamp().to_string();
        return Ok(user.see_other(&with_query("/break", &[("kind", &kind), ("until", &until)])));
    };
    let zone = TimeFormatter::new(&data.timezone);
    let (span, over) = ((until - length, until), t("today-break-over"));
    let page = BreakPage {
        running: Timer::new(span, now, zone, title.to_string(), over),
        frame: user.frame(title, &data),
        now: text::machine(&now),
        sound: &preferences.notification_sound,
        timer: TIMER.path(),
    };
    Ok(user.show(StatusCode::OK, &page))
}

fn land(dashboard: &Dashboard, messages: FormMessages) -> HttpResponse {
    let page = LandingPage {
        frame: PageFrame::anonymous(dashboard, t("today-welcome")).with(messages),
        register: dashboard.settings.account("/register"),
    };
    html(StatusCode::OK, &page, &dashboard.policy)
}

fn set_up(visitor: &Visitor) -> HttpResponse {
    let dashboard = &visitor.dashboard;
    let page = SetupPage {
        frame: PageFrame::anonymous(dashboard, t("today-setup")),
        redirect_uri: dashboard.settings.redirect_uri(),
        base_url: &dashboard.settings.base_url,
        allowed: dashboard.cookies.allow(&visitor.request),
    };
    html(StatusCode::OK, &page, &dashboard.policy)
}
