//! Submitted forms, once it is certain that they come from a page of ours.

use actix_web::dev::Payload;
use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, HttpResponse};
use askama::Template;
use messages::t;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use service_kit::http::UnreadBody;
use url::form_urlencoded;
use web_kit::SavedForm;
use web_kit::cookies::set_cookie;
use web_kit::form;
use web_kit::html::html;
use web_kit::saved_form::{LIFE_SECONDS, SavedField};

use crate::page_frame::PageFrame;
use crate::paths::{HOME, RESUME, sign_in_path};
use crate::sign_in::NAME;
use crate::visitor::{Extraction, SignInState, SignedInVisitor, Visitor, see_other};

/// The cookie of a saved form, which waits until its sender has signed in again.
const SAVED_FORM: &str = "holdfast_ws_kept";
/// Fields with text that took somebody some thought, or that exists nowhere else.
const WRITTEN: [&str; 14] = [
    "note",
    "tags",
    "name",
    "description",
    "url",
    "category",
    "duration",
    "chat_channel",
    "daily_goal",
    "default_duration",
    "homeserver_url",
    "long_break_duration",
    "room_id",
    "short_break_duration",
];

/// A form of one of our pages, and the user who sent it.
pub(crate) struct Form<T> {
    pub(crate) user: SignedInVisitor,
    pub(crate) fields: T,
}

#[derive(Deserialize)]
pub(crate) struct EmptyForm {}

/// The input in the form of a request, in the extensions of the request: an error page shows it again.
#[derive(Clone, Default)]
pub(crate) struct SubmittedInput(Vec<String>);

impl SubmittedInput {
    fn in_body(body: &[u8]) -> Self {
        let input = form_urlencoded::parse(body)
            .filter(|(name, value)| WRITTEN.contains(&&**name) && !value.trim().is_empty())
            .map(|(_, value)| value.into_owned());
        Self(input.collect())
    }

    pub(crate) fn in_request(request: &HttpRequest) -> Vec<String> {
        let input = request.extensions().get::<Self>().cloned();
        input.unwrap_or_default().0
    }
}

/// The page with the input of a user who was signed out meanwhile, so that nothing of it is lost.
#[derive(Template)]
#[template(path = "signed_out.html")]
struct SignedOutPage {
    frame: PageFrame,
    input: Vec<String>,
    sign_in: String,
}

impl<T: DeserializeOwned + 'static> FromRequest for Form<T> {
    type Error = actix_web::Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let body = UnreadBody::from_request(&req, payload);
        Box::pin(async move {
            let mut visitor = Visitor::from_cookies(&req)?;
            form::check_site(req.headers())?;
            let Ok(body) = body.await;
            let bytes = form::read(body).await?;
            let token = visitor.open_token(form::token_in(&bytes).as_deref())?;
            visitor.page.clone_from(&token.page);
            let now = visitor.dashboard.clock.now().timestamp();
            let action = req.uri().to_string();
            let saved = SavedForm::new(token.clone(), &action, &bytes, now);
            req.extensions_mut().insert(SubmittedInput::in_body(&bytes));
            req.extensions_mut().insert(saved);
            let user = match visitor.check_sign_in().await? {
                SignInState::SignedIn(user) => user,
                SignInState::Nobody(visitor) => return Err(signed_out(&visitor)),
            };
            token.check_account(&user.sign_in.username)?;
            let fields = form::fields(&bytes)?;
            Ok(Self { user, fields })
        })
    }
}

/// Saves what was written while its sender signs in, and shows what no cookie can hold. A form of another site never gets this
/// far.
pub(crate) fn signed_out(visitor: &Visitor) -> actix_web::Error {
    let dashboard = &visitor.dashboard;
    let saved = visitor.request.extensions().get::<SavedForm>().cloned();
    let page = saved.as_ref().map_or(HOME, SavedForm::page);
    let written = saved.as_ref().filter(|saved| saved.is_written(&WRITTEN));
    let sealed = written.map(|saved| saved.seal(&dashboard.sealers.forms, &visitor.browser));
    let mut answer = match sealed {
        None => see_other(&sign_in_path(page)),
        Some(Some(sealed)) => {
            let mut answer = see_other(&sign_in_path(RESUME));
            let cookie = dashboard.cookies.lasting(SAVED_FORM, sealed, LIFE_SECONDS);
            set_cookie(&mut answer, &cookie);
            answer
        }
        Some(None) => {
            let page = SignedOutPage {
                frame: PageFrame::anonymous(dashboard, t("dashboard-signed-out")),
                input: SubmittedInput::in_request(&visitor.request),
                sign_in: sign_in_path(page),
            };
            html(StatusCode::UNAUTHORIZED, &page, &dashboard.policy)
        }
    };
    if visitor.sign_in.is_some() {
        set_cookie(&mut answer, &dashboard.cookies.expired(NAME));
    }
    InternalError::from_response("signed out", answer).into()
}

#[derive(Template)]
#[template(path = "resume.html")]
struct ResumePage {
    frame: PageFrame,
    saved: SavedForm,
    fields: Vec<SavedField>,
}

/// Shows the form that was saved for the signed-in account, and deletes it.
pub(crate) async fn resume(user: SignedInVisitor) -> actix_web::Result<HttpResponse> {
    let Visitor {
        dashboard,
        request,
        browser,
        ..
    } = &user.visitor;
    let now = dashboard.clock.now().timestamp();
    let account = &user.sign_in.username;
    let cookie = dashboard.cookies.read(request, SAVED_FORM);
    let saved = cookie.and_then(|cookie| {
        SavedForm::open(&dashboard.sealers.forms, browser, &cookie, account, now)
    });
    let mut answer = match saved {
        Some(saved) => {
            let data = user.on(user.call().user_data().await)?;
            let page = ResumePage {
                frame: user.frame(t("dashboard-unsent-form"), &data),
                fields: saved.fields(&WRITTEN),
                saved,
            };
            user.show(StatusCode::OK, &page)
        }
        None => user.see_other(HOME),
    };
    set_cookie(&mut answer, &dashboard.cookies.expired(SAVED_FORM));
    Ok(answer)
}

/// Answers a GET of a path that only takes forms. A browser that requests one, as the address of a page with errors, is sent one
/// level up (303).
pub(crate) async fn go_up(request: HttpRequest) -> HttpResponse {
    let path = request.path().trim_end_matches('/');
    let parent = path.rfind('/').map_or("", |at| &path[..at]);
    see_other(if parent.is_empty() { HOME } else { parent })
}

/// Returns text of a form as it is stored: browsers send line ends as CRLF.
pub(crate) fn normalize_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n")
}
