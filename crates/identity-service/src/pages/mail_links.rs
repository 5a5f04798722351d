//! The pages behind links in mails, and the request for such a link. Showing a page changes nothing, because mail
//! scanners open every link.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Path;

use super::form::{EmptyForm, Form};
use super::page_frame::PageFrame;
use super::result::{ResultMessage, show_result};
use super::visitor::Visitor;
use crate::accounts::model::AccountRow;
use crate::app::App;
use crate::credentials::wire::{ForgotRequest, ResetRequest, VerifyEmailRequest};
use crate::credentials::{email, password_reset};
use crate::error::{Error, sentence};
use crate::mail_links::{self, Purpose};
use crate::rate_limits::AddressLimit;
use crate::request_context::RequestContext;

#[derive(Template)]
#[template(path = "entry/forgot.html")]
struct ForgotPage {
    frame: PageFrame,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "entry/reset.html")]
struct ResetPage {
    frame: PageFrame,
    username: String,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "entry/verify.html")]
struct VerifyPage {
    frame: PageFrame,
    username: String,
    email: String,
}

#[derive(Deserialize)]
pub(super) struct ForgotForm {
    who: String,
}

#[derive(Deserialize)]
pub(super) struct ResetForm {
    password: String,
}

/// Asks for the account whose password was forgotten.
pub(super) async fn forgot_page(visitor: Visitor) -> HttpResponse {
    show_forgot(&visitor, None)
}

/// Mails a link if the account exists. The response does not reveal whether it does.
pub(super) async fn forgot(
    form: Form<ForgotForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (visitor, fields) = form.by_anybody();
    let who = fields.who.trim();
    if who.is_empty() {
        let problem = Some(t("entry-forgot-who-missing").into());
        return Ok(show_forgot(&visitor, problem));
    }
    // An address always contains `@`, a username never.
    let (username, email) = match who.contains('@') {
        true => (None, Some(who.to_owned())),
        false => (Some(who.to_owned()), None),
    };
    password_reset::forgot(&visitor.app, ForgotRequest { username, email }, &context).await?;
    Ok(visitor.see_other("/done/link-requested"))
}

pub(super) async fn reset_page(
    visitor: Visitor,
    token: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let holder = find_holder(&visitor.app, Purpose::ResetPassword, token.0.0, &context);
    Ok(match holder.await? {
        Some((account, _)) => show_reset(&visitor, account.username, None),
        None => show_result(&visitor, ResultMessage::DeadLink),
    })
}

pub(super) async fn reset_password(
    form: Form<ResetForm>,
    token: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (visitor, fields) = form.by_anybody();
    let token = token.0.0;
    let request = ResetRequest {
        token: token.clone(),
        new_password: fields.password,
    };
    let problem = match password_reset::reset(&visitor.app, request, &context).await {
        Ok(()) => return Ok(visitor.see_other("/done/password-changed")),
        Err(Error::InvalidLink) => return Ok(show_result(&visitor, ResultMessage::DeadLink)),
        Err(error @ (Error::Validation(_) | Error::PasswordTooLong | Error::WeakPassword)) => {
            sentence(&error.to_string())
        }
        Err(error) => return Err(error.into()),
    };
    let holder = find_holder(&visitor.app, Purpose::ResetPassword, token, &context);
    Ok(match holder.await? {
        Some((account, _)) => show_reset(&visitor, account.username, Some(problem)),
        None => show_result(&visitor, ResultMessage::DeadLink),
    })
}

/// Shows the address to verify and its account.
pub(super) async fn verify_page(
    visitor: Visitor,
    token: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let holder = find_holder(&visitor.app, Purpose::VerifyEmail, token.0.0, &context);
    Ok(match holder.await? {
        Some((account, email)) => {
            let page = VerifyPage {
                frame: visitor.frame(t("entry-verify-title")),
                username: account.username,
                email,
            };
            visitor.show(StatusCode::OK, &page)
        }
        None => show_result(&visitor, ResultMessage::DeadConfirmation),
    })
}

pub(super) async fn verify_email(
    form: Form<EmptyForm>,
    token: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (visitor, _) = form.by_anybody();
    let request = VerifyEmailRequest { token: token.0.0 };
    match email::verify(&visitor.app, request, &context).await {
        Ok(()) => Ok(visitor.see_other("/done/email-confirmed")),
        Err(Error::InvalidLink) => Ok(show_result(&visitor, ResultMessage::DeadConfirmation)),
        Err(error) => Err(error.into()),
    }
}

/// Finds the active account that a link is for, and the address that it was sent to.
async fn find_holder(
    app: &App,
    purpose: Purpose,
    token: String,
    context: &RequestContext,
) -> Result<Option<(AccountRow, String)>, Error> {
    app.rate_limits
        .check_address(AddressLimit::Link, context.address)?;
    let now = app.clock.now_naive();
    let holder = app
        .read(move |db| mail_links::find_holder(db, purpose, &token, now))
        .await?;
    Ok(holder.filter(|(account, _)| account.is_active))
}

fn show_forgot(visitor: &Visitor, problem: Option<String>) -> HttpResponse {
    let page = ForgotPage {
        frame: visitor.frame(t("entry-forgot-title")),
        problem,
    };
    visitor.show(status_of(&page.problem), &page)
}

fn show_reset(visitor: &Visitor, username: String, problem: Option<String>) -> HttpResponse {
    let page = ResetPage {
        frame: visitor.frame(t("entry-reset-title")),
        username,
        problem,
    };
    visitor.show(status_of(&page.problem), &page)
}

fn status_of(problem: &Option<String>) -> StatusCode {
    match problem {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    }
}
