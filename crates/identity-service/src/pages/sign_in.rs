//! Signing in and out with a browser.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde::Deserialize;
use service_kit::Problem;
use service_kit::http::Query;

use super::form::Form;
use super::layout::{self, Frame};
use super::return_to::ReturnTo;
use super::visitor::{Member, Visitor, set_cookie};
use crate::access::Grant;
use crate::error::Error;
use crate::origin::Origin;
use crate::sessions::ending;
use crate::sessions::login;
use crate::sessions::wire::LoginRequest;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    frame: Frame,
    return_to: &'a str,
    username: &'a str,
    /// Whether a code of the second factor is wanted.
    wants_code: bool,
    problem: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct SignInQuery {
    return_to: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct SignInForm {
    username: String,
    password: String,
    totp_code: Option<String>,
    #[serde(default)]
    return_to: String,
}

pub(super) async fn sign_in_page(
    visitor: Visitor,
    query: Query<SignInQuery>,
) -> actix_web::Result<HttpResponse> {
    let return_to = ReturnTo::parse(query.0.return_to.as_deref());
    if visitor.user.is_some() {
        return Ok(visitor.see_other(return_to.as_str()));
    }
    if !visitor.app.cookies.allowed {
        return Err(insecure().into());
    }
    let page = SignInPage {
        frame: visitor.frame("Sign in"),
        return_to: return_to.as_str(),
        username: "",
        wants_code: false,
        problem: None,
    };
    Ok(visitor.show(StatusCode::OK, &page))
}

pub(super) async fn sign_in(
    form: Form<SignInForm>,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let Form { visitor, fields } = form;
    let return_to = ReturnTo::parse(Some(&fields.return_to));
    let request = LoginRequest {
        username: fields.username.clone(),
        password: fields.password,
        totp_code: fields.totp_code.filter(|code| !code.trim().is_empty()),
    };
    let (status, wants_code, problem) =
        match login::open(&visitor.app, request, Grant::Browser, &origin).await {
            Ok((_, session)) => {
                let mut answer = layout::onward_here(&visitor, &return_to);
                set_cookie(
                    &mut answer,
                    &visitor.app.cookies.sign_in(&session.refresh_token),
                );
                return Ok(answer);
            }
            Err(Error::TotpRequired) => (StatusCode::OK, true, None),
            Err(error @ Error::InvalidCredentials) => {
                (StatusCode::UNAUTHORIZED, false, Some(error.to_string()))
            }
            Err(error) => return Err(error.into()),
        };
    let page = SignInPage {
        frame: visitor.frame("Sign in"),
        return_to: return_to.as_str(),
        username: &fields.username,
        wants_code,
        problem,
    };
    Ok(visitor.show(status, &page))
}

pub(super) async fn sign_out(form: Form<Empty>, origin: Origin) -> actix_web::Result<HttpResponse> {
    let member = Member::new(form.visitor)?;
    ending::logout(&member.visitor.app, &member.user, None, &origin).await?;
    let mut answer = member.visitor.see_other("/login");
    set_cookie(&mut answer, &member.visitor.app.cookies.sign_out());
    Ok(answer)
}

/// A form without fields of its own.
#[derive(Deserialize)]
pub(super) struct Empty {}

fn insecure() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "forbidden",
        "Signing in with a browser takes https here. The operator can put a proxy with TLS before the service, or allow plain http with IDENTITY__ALLOW_INSECURE_COOKIES=true",
    )
}
