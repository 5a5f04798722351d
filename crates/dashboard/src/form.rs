//! What a form of our pages sends, once it is sure that it came from one.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, HttpResponse};
use askama::Template;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use service_kit::http::Unread;
use url::form_urlencoded;
use web_kit::cookies::set_cookie;
use web_kit::form;
use web_kit::html::{WITH_MODULES, html};

use crate::frame::Frame;
use crate::sign_in::{HOME, NAME, sign_in_path};
use crate::visitor::{Known, Member, Visitor};

/// Fields that somebody may have thought about, or has at no other place.
const WRITTEN: [&str; 7] = [
    "note",
    "tags",
    "name",
    "description",
    "url",
    "category",
    "duration",
];

/// A form of one of our pages, and who sent it.
pub(crate) struct Form<T> {
    pub(crate) member: Member,
    pub(crate) fields: T,
}

/// A form without fields of its own.
#[derive(Deserialize)]
pub(crate) struct Empty {}

/// What was typed into the form of a request, in its extensions: an error's page gives it back.
#[derive(Clone, Default)]
pub(crate) struct Typed(Vec<String>);

impl Typed {
    fn in_body(body: &[u8]) -> Self {
        let typed = form_urlencoded::parse(body)
            .filter(|(name, value)| WRITTEN.contains(&&**name) && !value.trim().is_empty())
            .map(|(_, value)| value.into_owned());
        Self(typed.collect())
    }

    /// Of this request.
    pub(crate) fn of(request: &HttpRequest) -> Vec<String> {
        let typed = request.extensions().get::<Self>().cloned();
        typed.unwrap_or_default().0
    }
}

/// What was typed by somebody who had been signed out meanwhile: nothing of it is lost.
#[derive(Template)]
#[template(path = "signed_out.html")]
struct SignedOutPage {
    frame: Frame,
    typed: Vec<String>,
    sign_in: String,
}

impl<T: DeserializeOwned + 'static> FromRequest for Form<T> {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Self::Error>>>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let body = Unread::from_request(&req, payload);
        Box::pin(async move {
            let visitor = Visitor::of(&req)?;
            form::check_site(req.headers())?;
            let Ok(body) = body.await;
            let bytes = form::read(body).await?;
            req.extensions_mut().insert(Typed::in_body(&bytes));
            if let Some(sign_in) = &visitor.sign_in {
                // Before anything is taken from the browser. It stays the same when the sign-in is renewed.
                let token = form::token_in(&bytes);
                form::check_token(&sign_in.form_token, token.as_deref())?;
            }
            let member = match visitor.known().await? {
                Known::Member(member) => member,
                Known::Nobody(visitor) => return Err(signed_out(&visitor)),
            };
            let fields = form::fields(&bytes)?;
            Ok(Self { member, fields })
        })
    }
}

/// Gives back what was typed. Another site's form never comes so far.
pub(crate) fn signed_out(visitor: &Visitor) -> actix_web::Error {
    let page = SignedOutPage {
        frame: Frame::of_nobody(&visitor.dashboard, "You are signed out"),
        typed: Typed::of(&visitor.request),
        sign_in: sign_in_path(HOME),
    };
    let mut answer = html(StatusCode::UNAUTHORIZED, &page, WITH_MODULES);
    if visitor.sign_in.is_some() {
        set_cookie(&mut answer, &visitor.dashboard.cookies.forgotten(NAME));
    }
    InternalError::from_response("signed out", answer).into()
}

/// Where only a form leads: who comes without one, by the address of a page that said what was wrong with it, is sent a
/// step up (303).
pub(crate) async fn step_up(request: HttpRequest) -> HttpResponse {
    let path = request.path().trim_end_matches('/');
    let parent = path.rfind('/').map_or("", |at| &path[..at]);
    HttpResponse::SeeOther()
        .insert_header((LOCATION, if parent.is_empty() { HOME } else { parent }))
        .finish()
}

/// Text of a form as it is stored: browsers end lines as networks do.
pub(crate) fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}
