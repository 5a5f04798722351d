use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use askama::Template;
use messages::t;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use service_kit::http::{Query, endpoint};

use super::{export, timezone};
use crate::api::Preferences;
use crate::form::{Form, go_up};
use crate::form_messages::{DoneQuery, FormMessages};
use crate::page_frame::PageFrame;
use crate::visitor::SignedInVisitor;

const PATH: &str = "/settings";
/// The number fields, for the messages beside them.
const NUMBERS: [&str; 4] = [
    "daily_goal",
    "default_duration",
    "short_break_duration",
    "long_break_duration",
];

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint(PATH).get(page))
        .service(endpoint("/settings/preferences").get(go_up).post(save))
        .service(
            endpoint("/settings/timezone")
                .get(go_up)
                .post(timezone::save),
        )
        .service(endpoint("/settings/export").get(export::download));
}

/// The form as it is sent: numbers are text, and a box that is not ticked is absent.
#[derive(Debug, Clone, Deserialize)]
struct PreferencesForm {
    daily_goal: String,
    default_duration: String,
    short_break_duration: String,
    long_break_duration: String,
    notification_sound: String,
    theme_preference: String,
    leaderboard_opt_in: Option<String>,
}

#[derive(Template)]
#[template(path = "preferences/page.html")]
struct PreferencesPage<'a> {
    frame: PageFrame,
    input: PreferencesForm,
    timezone: &'a str,
    /// The choices besides the current one.
    timezones: Vec<&'static str>,
}

impl PreferencesPage<'_> {
    const SOUNDS: [(&'static str, &'static str); 4] = [
        ("bell", "preferences-sound-bell"),
        ("chime", "preferences-sound-chime"),
        ("digital", "preferences-sound-digital"),
        ("none", "preferences-sound-none"),
    ];
    const THEMES: [(&'static str, &'static str); 3] = [
        ("system", "preferences-theme-system"),
        ("light", "preferences-theme-light"),
        ("dark", "preferences-theme-dark"),
    ];

    /// Whether another client has set a sound that this page does not offer.
    fn has_own_sound(&self) -> bool {
        let mut sounds = Self::SOUNDS.iter();
        !sounds.any(|(name, _)| *name == self.input.notification_sound)
    }

    /// Whether another client has set a theme that this page does not offer.
    fn has_own_theme(&self) -> bool {
        let mut themes = Self::THEMES.iter();
        !themes.any(|(name, _)| *name == self.input.theme_preference)
    }
}

async fn page(user: SignedInVisitor, done: Query<DoneQuery>) -> actix_web::Result<HttpResponse> {
    show(&user, done.0.messages(), None).await
}

async fn save(form: Form<PreferencesForm>) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let body = match fields.body() {
        Ok(body) => body,
        Err(messages) => return show(&user, messages, Some(fields)).await,
    };
    let path = "/api/user/preferences";
    match user.submit::<Value>(Method::PUT, path, body).await? {
        Ok(_) => Ok(user.see_other("/settings?done=preferences")),
        Err(refused) => show(&user, refused.messages(&NUMBERS), Some(fields)).await,
    }
}

pub(super) async fn again(
    user: &SignedInVisitor,
    messages: FormMessages,
) -> actix_web::Result<HttpResponse> {
    show(user, messages, None).await
}

async fn show(
    user: &SignedInVisitor,
    messages: FormMessages,
    input: Option<PreferencesForm>,
) -> actix_web::Result<HttpResponse> {
    let data = user.on(user.call().user_data().await)?;
    let page = PreferencesPage {
        frame: user.frame(t("preferences-title"), &data).with(messages),
        input: input.unwrap_or_else(|| PreferencesForm::from_preferences(&data.preferences)),
        timezones: timezone::all(&data.timezone),
        timezone: &data.timezone,
    };
    Ok(user.show(page.frame.status(), &page))
}

impl PreferencesForm {
    fn from_preferences(preferences: &Preferences) -> Self {
        Self {
            daily_goal: preferences.daily_goal.to_string(),
            default_duration: preferences.default_duration.to_string(),
            short_break_duration: preferences.short_break_duration.to_string(),
            long_break_duration: preferences.long_break_duration.to_string(),
            notification_sound: preferences.notification_sound.clone(),
            theme_preference: preferences.theme_preference.clone(),
            leaderboard_opt_in: preferences.leaderboard_opt_in.then(|| "yes".to_owned()),
        }
    }

    fn body(&self) -> Result<Value, FormMessages> {
        let number = |name, text: &str, most: i64| {
            let wrong =
                |_| FormMessages::for_field(name, t("preferences-number").with("most", most));
            text.trim().parse::<i64>().map_err(wrong)
        };
        let [goal, duration, short, long] = NUMBERS;
        Ok(json!({
            goal: number(goal, &self.daily_goal, 24)?,
            duration: number(duration, &self.default_duration, 480)?,
            short: number(short, &self.short_break_duration, 60)?,
            long: number(long, &self.long_break_duration, 60)?,
            "notification_sound": self.notification_sound,
            "theme_preference": self.theme_preference,
            "leaderboard_opt_in": self.leaderboard_opt_in.is_some(),
        }))
    }
}
