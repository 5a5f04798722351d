//! What a form of our pages sends, once it is sure that it came from one.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use askama::Template;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use service_kit::http::Unread;
use web_kit::KeptForm;
use web_kit::cookies::set_cookie;
use web_kit::form::{self, FormToken};
use web_kit::kept::KeptField;

use super::layout::{Frame, HOME};
use super::visitor::{Administrator, Member, Visitor, sign_in_path};
use crate::cookies::Name;

/// Where somebody comes back to who had been signed out when a form of theirs arrived.
pub(super) const RESUME: &str = "/resume";
/// Fields that people write.
const WRITTEN: [&str; 10] = [
    "bio",
    "description",
    "email",
    "name",
    "redirect_uris",
    "slug",
    "until",
    "user_code",
    "username",
    "website_url",
];

/// A form of one of our pages, and who sent it. Absent text fields read as empty ones only where the shape
/// says so with `#[serde(default)]`.
pub(crate) struct Form<T> {
    visitor: Visitor,
    fields: T,
    token: FormToken,
    /// Where it was sent, with the query.
    action: String,
    body: Bytes,
}

/// A form without fields of its own.
#[derive(Deserialize)]
pub(crate) struct Empty {}

impl<T: DeserializeOwned + 'static> FromRequest for Form<T> {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Self::Error>>>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let body = Unread::from_request(&req, payload);
        Box::pin(async move {
            let mut visitor = Visitor::of(&req).await?;
            form::check_site(req.headers())?;
            let Ok(body) = body.await;
            let body = form::read(body).await?;
            let token = visitor.open_token(form::token_in(&body).as_deref())?;
            visitor.page.clone_from(&token.page);
            Ok(Self {
                fields: form::fields(&body)?,
                action: req.uri().to_string(),
                visitor,
                token,
                body,
            })
        })
    }
}

impl<T> Form<T> {
    /// Whether it was shown to somebody who was not signed in.
    pub(crate) fn is_nobodys(&self) -> bool {
        self.token.account.is_empty()
    }

    /// Whether it was shown to who sends it, or to nobody who was signed in.
    pub(crate) fn is_own(&self) -> bool {
        self.token.account == self.visitor.account()
    }

    /// The form where it does not matter who is signed in.
    pub(crate) fn by_anybody(self) -> (Visitor, T) {
        (self.visitor, self.fields)
    }

    /// The form as one of the account that it was shown to.
    ///
    /// # Errors
    /// The way to the sign-in page and back, with what was written; 403 when another account is signed in.
    pub(crate) fn by_member(self) -> Result<(Member, T), actix_web::Error> {
        if self.visitor.user.is_none() {
            return Err(self.sign_in_first());
        }
        self.token.check_account(&self.visitor.account())?;
        Ok((Member::new(self.visitor)?, self.fields))
    }

    /// The form as an administrator's.
    ///
    /// # Errors
    /// As for a page of administration.
    pub(crate) async fn by_administrator(self) -> Result<(Administrator, T), actix_web::Error> {
        let (member, fields) = self.by_member()?;
        Ok((Administrator::new(member).await?, fields))
    }

    /// Keeps what was written while its sender signs in. What no cookie can hold is given back.
    fn sign_in_first(self) -> actix_web::Error {
        let app = &self.visitor.app;
        let now = app.clock.now().timestamp();
        let kept = KeptForm::new(self.token, &self.action, &self.body, now);
        let answer = match kept.seal(&app.sealers.forms, self.visitor.browser()) {
            _ if !kept.is_written(&WRITTEN) => self.visitor.see_other(&sign_in_path(kept.page())),
            Some(sealed) => {
                let mut answer = self.visitor.see_other(&sign_in_path(RESUME));
                set_cookie(&mut answer, &app.cookies.kept_form(sealed));
                answer
            }
            None => {
                let page = SignedOutPage {
                    frame: self.visitor.frame("You are signed out"),
                    sign_in: sign_in_path(kept.page()),
                    fields: kept.fields(&WRITTEN),
                };
                self.visitor.show(StatusCode::UNAUTHORIZED, &page)
            }
        };
        InternalError::from_response("not signed in", answer).into()
    }
}

#[derive(Template)]
#[template(path = "entry/signed_out.html")]
struct SignedOutPage {
    frame: Frame,
    sign_in: String,
    fields: Vec<KeptField>,
}

#[derive(Template)]
#[template(path = "entry/resume.html")]
struct ResumePage {
    frame: Frame,
    kept: KeptForm,
    fields: Vec<KeptField>,
}

/// Shows the form that was kept for who is signed in now, and keeps it no longer.
pub(super) async fn resume(member: Member, req: HttpRequest) -> HttpResponse {
    let visitor = &member.visitor;
    let (app, browser, account) = (&visitor.app, visitor.browser(), visitor.account());
    let now = app.clock.now().timestamp();
    let cookie = app.cookies.read(&req, Name::KeptForm);
    let kept =
        cookie.and_then(|it| KeptForm::open(&app.sealers.forms, browser, &it, &account, now));
    let mut answer = match kept {
        Some(kept) => {
            let page = ResumePage {
                frame: visitor.frame("What you had written"),
                fields: kept.fields(&WRITTEN),
                kept,
            };
            visitor.show(StatusCode::OK, &page)
        }
        None => visitor.see_other(HOME),
    };
    set_cookie(&mut answer, &app.cookies.no_kept_form());
    answer
}
