//! Sign-in and sign-out with a browser.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::Problem;
use service_kit::http::Query;
use web_kit::ReturnTo;
use web_kit::cookies::set_cookie;

use super::form::{EmptyForm, Form};
use super::page_frame::{HOME, PageFrame, policy_before};
use super::visitor::{Visitor, sign_in_path};
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::sessions::login::{self, VerifiedPassword};
use crate::sessions::{NewSession, revocation, second_step};
use crate::token_access::Grant;

#[derive(Template)]
#[template(path = "entry/sign_in.html")]
struct SignInPage<'a> {
    frame: PageFrame,
    return_to: &'a str,
    username: &'a str,
    problem: Option<String>,
    /// Where a visitor without an account registers.
    register: String,
}

#[derive(Template)]
#[template(path = "entry/code.html")]
struct CodePage<'a> {
    frame: PageFrame,
    return_to: &'a str,
    /// The sealed result of the first step.
    step: &'a str,
    problem: Option<String>,
    /// Where the first step is repeated.
    again: String,
}

#[derive(Deserialize)]
pub(super) struct SignInQuery {
    return_to: Option<String>,
    /// Shows the form to a signed-in visitor too, for a client that requires a new sign-in.
    again: Option<String>,
    /// The username that a client suggests (OpenID Connect Core section 3.1.2.1).
    #[serde(default)]
    login_hint: String,
}

#[derive(Deserialize)]
pub(super) struct SignInForm {
    username: String,
    password: String,
    #[serde(default)]
    return_to: String,
}

#[derive(Deserialize)]
pub(super) struct CodeForm {
    step: String,
    code: String,
    #[serde(default)]
    return_to: String,
}

pub(super) async fn sign_in_page(
    visitor: Visitor,
    query: Query<SignInQuery>,
) -> actix_web::Result<HttpResponse> {
    let return_to = ReturnTo::parse(query.0.return_to.as_deref(), HOME);
    if visitor.user.is_some() && query.0.again.is_none() {
        return Ok(visitor.see_other(return_to.as_str()));
    }
    check_cookies(&visitor)?;
    let username = &query.0.login_hint;
    Ok(show_sign_in(&visitor, &return_to, username, None))
}

/// Handles the first step: the password, which is enough for an account without a second factor.
pub(super) async fn sign_in(
    form: Form<SignInForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let is_nobodys = form.is_nobodys();
    let (visitor, fields) = form.by_anybody();
    check_cookies(&visitor)?;
    let return_to = ReturnTo::parse(Some(&fields.return_to), HOME);
    if is_nobodys && is_signed_in_as(&visitor, &fields.username) {
        return Ok(visitor.see_other(return_to.as_str()));
    }
    let (username, password) = (fields.username.as_str(), fields.password.as_str());
    let known = match login::verify_password(&visitor.app, username, password, &context).await {
        Ok(known) => known,
        Err(Error::InvalidCredentials) => {
            let problem = Some(t("entry-wrong-credentials").into());
            return Ok(show_sign_in(&visitor, &return_to, username, problem));
        }
        Err(error) => return Err(error.into()),
    };
    match open(&visitor, &known, None, &context).await {
        Ok(session) => Ok(signed_in(&visitor, &session, &return_to)),
        Err(Error::TotpRequired) => {
            let step = second_step::carry(&visitor.app, &known, visitor.browser())?;
            Ok(show_code(&visitor, &return_to, &step, None))
        }
        Err(error) => Err(error.into()),
    }
}

/// Redirects to the first step. The form of the second step exists only in the response to the first.
pub(super) async fn first_step(visitor: Visitor) -> HttpResponse {
    visitor.see_other("/login")
}

/// Handles the second step: a code of the second factor.
pub(super) async fn sign_in_with_code(
    form: Form<CodeForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let is_nobodys = form.is_nobodys();
    let (visitor, fields) = form.by_anybody();
    check_cookies(&visitor)?;
    let return_to = ReturnTo::parse(Some(&fields.return_to), HOME);
    let step =
        second_step::open_first_step(&visitor.app, &fields.step, visitor.browser(), &context);
    let Some(known) = step.await? else {
        let problem = Some(t("entry-code-expired").into());
        return Ok(show_sign_in(&visitor, &return_to, "", problem));
    };
    let user = visitor.user.as_ref();
    if is_nobodys && user.is_some_and(|user| user.account.id == known.id) {
        return Ok(visitor.see_other(return_to.as_str()));
    }
    match open(&visitor, &known, Some(fields.code), &context).await {
        Ok(session) => Ok(signed_in(&visitor, &session, &return_to)),
        Err(Error::InvalidCredentials | Error::TotpRequired) => {
            let problem = Some(t("entry-code-wrong").into());
            Ok(show_code(&visitor, &return_to, &fields.step, problem))
        }
        Err(error) => Err(error.into()),
    }
}

/// Ends the session of this browser, even if the form was shown to another account.
pub(super) async fn sign_out(
    form: Form<EmptyForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (visitor, _) = form.by_anybody();
    if let Some(user) = &visitor.user {
        revocation::logout(&visitor.app, user, None, &context).await?;
    }
    let mut answer = visitor.see_other("/done/signed-out");
    set_cookie(&mut answer, &visitor.app.cookies.sign_out());
    Ok(answer)
}

/// Whether the account that a form names has since signed in, in another tab.
fn is_signed_in_as(visitor: &Visitor, username: &str) -> bool {
    let user = visitor.user.as_ref();
    user.is_some_and(|user| user.account.username.eq_ignore_ascii_case(username.trim()))
}

/// Refuses a sign-in over a connection on which its cookie could be read.
pub(super) fn check_cookies(visitor: &Visitor) -> Result<(), Problem> {
    if visitor.may_sign_in {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "forbidden",
        t("entry-https-required").to_string(),
    ))
}

/// Sets the cookie of the sign-in, and redirects the browser.
pub(super) fn signed_in(
    visitor: &Visitor,
    session: &NewSession,
    return_to: &ReturnTo,
) -> HttpResponse {
    let mut answer = visitor.see_other(return_to.as_str());
    let cookie = visitor.app.cookies.sign_in(&session.refresh_token);
    set_cookie(&mut answer, &cookie);
    answer
}

async fn open(
    visitor: &Visitor,
    known: &VerifiedPassword,
    code: Option<String>,
    context: &RequestContext,
) -> Result<NewSession, Error> {
    let context = context.clone().replacing(visitor.user.as_ref());
    let opened = known.open(&visitor.app, code, Grant::Browser, &context);
    opened.await.map(|(_, session)| session)
}

fn show_sign_in(
    visitor: &Visitor,
    return_to: &ReturnTo,
    username: &str,
    problem: Option<String>,
) -> HttpResponse {
    let page = SignInPage {
        frame: visitor.frame(t("entry-sign-in")),
        return_to: return_to.as_str(),
        username,
        problem,
        register: visitor.entry_path("/register", return_to.as_str()),
    };
    visitor.show_under(&policy_before(return_to), status_of(&page.problem), &page)
}

fn show_code(
    visitor: &Visitor,
    return_to: &ReturnTo,
    step: &str,
    problem: Option<String>,
) -> HttpResponse {
    let page = CodePage {
        frame: visitor.frame(t("entry-code-title")),
        return_to: return_to.as_str(),
        step,
        problem,
        again: sign_in_path(return_to.as_str()),
    };
    visitor.show_under(&policy_before(return_to), status_of(&page.problem), &page)
}

fn status_of(problem: &Option<String>) -> StatusCode {
    match problem {
        Some(_) => StatusCode::UNAUTHORIZED,
        None => StatusCode::OK,
    }
}
