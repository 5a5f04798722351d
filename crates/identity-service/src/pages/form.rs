//! Submitted forms of the hosted pages, protected against cross-site requests.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use askama::Template;
use messages::t;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use service_kit::http::UnreadBody;
use web_kit::SavedForm;
use web_kit::cookies::set_cookie;
use web_kit::form::{self, CsrfToken};
use web_kit::saved_form::SavedField;

use super::page_frame::{HOME, PageFrame};
use super::visitor::{Administrator, SignedInVisitor, Visitor, sign_in_path};
use crate::cookies::Name;

/// Where a visitor sees a saved form again after signing in.
pub(super) const RESUME: &str = "/resume";
/// Fields with text that users write.
const WRITTEN: [&str; 13] = [
    "bio",
    "description",
    "display_name",
    "email",
    "locale",
    "name",
    "redirect_uris",
    "slug",
    "until",
    "user_code",
    "username",
    "website_url",
    "zoneinfo",
];

/// A form of the hosted pages, and its sender. An absent text field parses as empty only if the type says so with
/// `#[serde(default)]`.
pub(crate) struct Form<T> {
    visitor: Visitor,
    fields: T,
    token: CsrfToken,
    /// The path that it was sent to, with the query.
    action: String,
    body: Bytes,
}

/// A form without fields of its own.
#[derive(Deserialize)]
pub(crate) struct EmptyForm {}

/// A form that names a row by its id.
#[derive(Deserialize)]
pub(super) struct IdForm {
    pub(super) id: String,
}

impl<T: DeserializeOwned + 'static> FromRequest for Form<T> {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Self::Error>>>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let body = UnreadBody::from_request(&req, payload);
        Box::pin(async move {
            let mut visitor = Visitor::load(&req).await?;
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
    /// Whether it was shown to a visitor who was not signed in.
    pub(crate) fn is_nobodys(&self) -> bool {
        self.token.account.is_empty()
    }

    /// Whether its sender is the account that it was shown to, if any.
    pub(crate) fn is_own(&self) -> bool {
        self.token.account == self.visitor.account()
    }

    /// Returns the form without checking who is signed in.
    pub(crate) fn by_anybody(self) -> (Visitor, T) {
        (self.visitor, self.fields)
    }

    /// Returns the form as that of the account that it was shown to.
    ///
    /// # Errors
    /// A redirect to the sign-in page, with the form saved; 403 when another account is signed in.
    pub(crate) fn by_caller(self) -> Result<(SignedInVisitor, T), actix_web::Error> {
        if self.visitor.user.is_none() {
            return Err(self.sign_in_first());
        }
        self.token.check_account(&self.visitor.account())?;
        Ok((SignedInVisitor::new(self.visitor)?, self.fields))
    }

    /// Returns the form as an administrator's.
    ///
    /// # Errors
    /// As for a page of administration.
    pub(crate) async fn by_administrator(self) -> Result<(Administrator, T), actix_web::Error> {
        let (caller, fields) = self.by_caller()?;
        Ok((Administrator::new(caller).await?, fields))
    }

    /// Saves the sender's input in a cookie while they sign in. Input too large for a cookie is shown to them instead.
    fn sign_in_first(self) -> actix_web::Error {
        let app = &self.visitor.app;
        let now = app.clock.now().timestamp();
        let saved = SavedForm::new(self.token, &self.action, &self.body, now);
        let answer = match saved.seal(&app.sealers.forms, self.visitor.browser()) {
            _ if !saved.is_written(&WRITTEN) => self.visitor.see_other(&sign_in_path(saved.page())),
            Some(sealed) => {
                let mut answer = self.visitor.see_other(&sign_in_path(RESUME));
                set_cookie(&mut answer, &app.cookies.saved_form(sealed));
                answer
            }
            None => {
                let page = SignedOutPage {
                    frame: self.visitor.frame(t("entry-signed-out")),
                    sign_in: sign_in_path(saved.page()),
                    fields: saved.fields(&WRITTEN),
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
    frame: PageFrame,
    sign_in: String,
    fields: Vec<SavedField>,
}

#[derive(Template)]
#[template(path = "entry/resume.html")]
struct ResumePage {
    frame: PageFrame,
    saved: SavedForm,
    fields: Vec<SavedField>,
}

/// Shows the saved form to the account that is now signed in, and deletes its cookie.
pub(super) async fn resume(caller: SignedInVisitor, req: HttpRequest) -> HttpResponse {
    let visitor = &caller.visitor;
    let (app, browser, account) = (&visitor.app, visitor.browser(), visitor.account());
    let now = app.clock.now().timestamp();
    let cookie = app.cookies.read(&req, Name::SavedForm);
    let saved =
        cookie.and_then(|it| SavedForm::open(&app.sealers.forms, browser, &it, &account, now));
    let mut answer = match saved {
        Some(saved) => {
            let page = ResumePage {
                frame: visitor.frame(t("entry-unsent-form")),
                fields: saved.fields(&WRITTEN),
                saved,
            };
            visitor.show(StatusCode::OK, &page)
        }
        None => visitor.see_other(HOME),
    };
    set_cookie(&mut answer, &app.cookies.no_saved_form());
    answer
}
