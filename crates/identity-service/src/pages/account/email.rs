//! The e-mail address of an account: changing it, or sending the verification link again.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use service_kit::http::Query;

use crate::credentials::email;
use crate::credentials::wire::ChangeEmailRequest;
use crate::origin::RequestContext;
use crate::pages::form::Form;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, DoneQuery, FormMessages};
use crate::pages::visitor::SignedInVisitor;
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
    show(&caller, query.0.notices(), email).await
}

pub(super) async fn change(
    form: Form<ChangeEmailRequest>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, mut request) = form.by_caller()?;
    let typed = request.email;
    request.email = typed.trim().to_owned();
    let changed = email::change(&caller.visitor.app, &caller.user, request, &origin).await;
    match changed {
        Ok(()) => Ok(caller.visitor.see_other("/account/email?done=email")),
        Err(error) => {
            let notices = notices::of(error, &["email", "password", "totp_code"])?;
            show(&caller, notices, &typed).await
        }
    }
}

async fn show(
    caller: &SignedInVisitor,
    notices: FormMessages,
    email: &str,
) -> actix_web::Result<HttpResponse> {
    let account = &caller.user.account;
    let factor = totp::service::status(&caller.visitor.app, &caller.user).await?;
    let page = EmailPage {
        frame: caller.visitor.frame(t("account-email")).with(notices),
        current: account.own_email(),
        is_verified: account.email_verified,
        email,
        asks_code: factor.enabled,
    };
    Ok(caller.visitor.show(page.frame.status(), &page))
}
