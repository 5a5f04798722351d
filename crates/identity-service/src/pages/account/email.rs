//! The e-mail address of an account: another one, or the link to prove it once more.

use actix_web::HttpResponse;
use askama::Template;
use serde::Deserialize;
use service_kit::http::Query;

use crate::credentials::email;
use crate::credentials::wire::ChangeEmailRequest;
use crate::error::Error;
use crate::origin::Origin;
use crate::pages::form::Form;
use crate::pages::layout::Frame;
use crate::pages::notices::{DoneQuery, Notices};
use crate::pages::text;
use crate::pages::visitor::Member;
use crate::totp;

#[derive(Template)]
#[template(path = "account/email.html")]
struct EmailPage<'a> {
    frame: Frame,
    notices: Notices,
    /// The one that the account has, if it has one.
    current: Option<&'a str>,
    is_verified: bool,
    email: &'a str,
    asks_code: bool,
}

#[derive(Deserialize)]
pub(super) struct EmailForm {
    email: String,
    password: String,
    #[serde(default)]
    totp_code: String,
}

pub(super) async fn page(member: Member, query: Query<DoneQuery>) -> Result<HttpResponse, Error> {
    let account = &member.user.account;
    // An address that is not proved can be sent the link again: it stands in the field already.
    let again = !account.email_verified && account.own_email().is_some();
    let email = if again { account.email.as_str() } else { "" };
    show(&member, query.0.notices(), email).await
}

pub(super) async fn change(
    form: Form<EmailForm>,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (member, typed) = form.by_member()?;
    let request = ChangeEmailRequest {
        email: typed.email.trim().to_owned(),
        password: typed.password,
        totp_code: text::given(typed.totp_code),
    };
    let changed = email::change(&member.visitor.app, &member.user, request, &origin).await;
    match changed {
        Ok(()) => Ok(member.visitor.see_other("/account/email?done=email")),
        Err(error) => {
            let notices = Notices::of(error, &["email", "password", "totp_code"])?;
            Ok(show(&member, notices, &typed.email).await?)
        }
    }
}

async fn show(member: &Member, notices: Notices, email: &str) -> Result<HttpResponse, Error> {
    let status = notices.status();
    let account = &member.user.account;
    let factor = totp::service::status(&member.visitor.app, &member.user).await?;
    let page = EmailPage {
        frame: member.visitor.frame("E-mail address"),
        notices,
        current: account.own_email(),
        is_verified: account.email_verified,
        email,
        asks_code: factor.enabled,
    };
    Ok(member.visitor.show(status, &page))
}
