//! The e-mail address of an account: changing it, or sending the verification link again.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use service_kit::http::Query;

use crate::credentials::email;
use crate::credentials::wire::ChangeEmailRequest;
use crate::pages::form::Form;
use crate::pages::form_messages::{DoneQuery, FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::visitor::SignedInVisitor;
use crate::request_context::RequestContext;
use crate::totp;

#[derive(Template)]
#[template(path = "account/email.html")]
struct EmailPage<'a> {
    frame: PageFrame,
    /// The address of the account, if it has one.
    current: Option<&'a str>,
    is_verified: bool,
    email: &'a str,
    asks_code: bool,
}

pub(super) async fn page(
    caller: SignedInVisitor,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let account = &caller.user.account;
    // An unverified address is filled in already, so that its link can be sent again.
    let again = !account.email_verified && account.own_email().is_some();
    let email = if again { account.email.as_str() } else { "" };
    show(&caller, query.0.messages(), email).await
}

pub(super) async fn change(
    form: Form<ChangeEmailRequest>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, mut request) = form.by_caller()?;
    let input = request.email;
    request.email = input.trim().to_owned();
    let changed = email::change(&caller.visitor.app, &caller.user, request, &context).await;
    match changed {
        Ok(()) => Ok(caller.visitor.see_other("/account/email?done=email")),
        Err(error) => {
            let messages = messages_for(error, &["email", "password", "totp_code"])?;
            show(&caller, messages, &input).await
        }
    }
}

async fn show(
    caller: &SignedInVisitor,
    messages: FormMessages,
    email: &str,
) -> actix_web::Result<HttpResponse> {
    let account = &caller.user.account;
    let factor = totp::service::status(&caller.visitor.app, &caller.user).await?;
    let page = EmailPage {
        frame: caller.visitor.frame(t("account-email")).with(messages),
        current: account.own_email(),
        is_verified: account.email_verified,
        email,
        asks_code: factor.enabled,
    };
    Ok(caller.visitor.show(page.frame.status(), &page))
}
