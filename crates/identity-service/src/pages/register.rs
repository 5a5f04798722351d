//! Registration with a browser.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;
use web_kit::ReturnTo;

use super::form::Form;
use super::page_frame::{HOME, PageFrame, policy_before};
use super::sign_in::{check_cookies, signed_in};
use super::visitor::Visitor;
use crate::accounts::wire::RegisterRequest;
use crate::accounts::{self, Email, Username};
use crate::error::{Error, sentence};
use crate::passwords::Password;
use crate::rate_limits::AddressLimit;
use crate::request_context::RequestContext;
use crate::token_access::Grant;

#[derive(Template)]
#[template(path = "entry/register.html")]
struct RegisterPage<'a> {
    frame: PageFrame,
    return_to: &'a str,
    fields: &'a RegisterForm,
    problems: FieldErrors,
    sign_in: String,
}

/// The messages beside the fields.
#[derive(Default)]
struct FieldErrors {
    username: Option<String>,
    email: Option<String>,
    password: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct RegisterForm {
    username: String,
    #[serde(default)]
    email: String,
    password: String,
    #[serde(default)]
    return_to: String,
}

#[derive(Deserialize)]
pub(super) struct RegisterQuery {
    return_to: Option<String>,
    /// Shows the form to a signed-in visitor too, for a client that requires a new account.
    again: Option<String>,
}

/// Asks for a username, an optional address, and a password.
pub(super) async fn register_page(
    visitor: Visitor,
    query: Query<RegisterQuery>,
) -> actix_web::Result<HttpResponse> {
    let return_to = ReturnTo::parse(query.0.return_to.as_deref(), HOME);
    if visitor.user.is_some() && query.0.again.is_none() {
        return Ok(visitor.see_other(return_to.as_str()));
    }
    check_cookies(&visitor)?;
    let (fields, problems) = (RegisterForm::default(), FieldErrors::default());
    Ok(show(&visitor, &return_to, &fields, problems))
}

/// Creates the account, signs it in, and redirects the browser.
pub(super) async fn register(
    form: Form<RegisterForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (visitor, fields) = form.by_anybody();
    check_cookies(&visitor)?;
    visitor
        .app
        .rate_limits
        .check_address(AddressLimit::Register, context.address)?;
    let return_to = ReturnTo::parse(Some(&fields.return_to), HOME);
    let mut problems = fields.problems();
    if problems.is_empty() {
        let request = fields.request();
        let context = context.replacing(visitor.user.as_ref());
        let opened = accounts::service::open(&visitor.app, request, Grant::Browser, &context);
        match opened.await {
            Ok((_, session)) => return Ok(signed_in(&visitor, &session, &return_to)),
            Err(error) => problems.add(error)?,
        }
    }
    Ok(show(&visitor, &return_to, &fields, problems))
}

fn show(
    visitor: &Visitor,
    return_to: &ReturnTo,
    fields: &RegisterForm,
    problems: FieldErrors,
) -> HttpResponse {
    let status = if problems.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::BAD_REQUEST
    };
    let page = RegisterPage {
        frame: visitor.frame(t("entry-register")),
        return_to: return_to.as_str(),
        fields,
        problems,
        sign_in: visitor.entry_path("/login", return_to.as_str()),
    };
    visitor.show_under(&policy_before(return_to), status, &page)
}

impl RegisterForm {
    fn problems(&self) -> FieldErrors {
        let told = |error: Error| sentence(&error.to_string());
        let email = self.email().map(|email| Email::parse(&email));
        FieldErrors {
            username: Username::parse(&self.username).err().map(told),
            email: email.and_then(Result::err).map(told),
            password: Password::parse_new(&self.password).err().map(told),
        }
    }

    fn email(&self) -> Option<String> {
        let email = self.email.trim();
        (!email.is_empty()).then(|| email.to_owned())
    }

    fn request(&self) -> RegisterRequest {
        RegisterRequest {
            username: self.username.clone(),
            email: self.email(),
            password: self.password.clone(),
        }
    }
}

impl FieldErrors {
    fn is_empty(&self) -> bool {
        self.username.is_none() && self.email.is_none() && self.password.is_none()
    }

    /// Adds an error of the service to its field. An error without a field is returned.
    fn add(&mut self, error: Error) -> Result<(), Error> {
        let field = match error {
            Error::UsernameTaken => &mut self.username,
            Error::EmailTaken => &mut self.email,
            Error::WeakPassword => &mut self.password,
            other => return Err(other),
        };
        *field = Some(sentence(&error.to_string()));
        Ok(())
    }
}
