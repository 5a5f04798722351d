//! Changing the password of an account.

use actix_web::HttpResponse;
use askama::Template;
use serde::Deserialize;
use service_kit::http::Query;

use crate::credentials::password;
use crate::credentials::wire::ChangePasswordRequest;
use crate::origin::RequestContext;
use crate::pages::form::Form;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, DoneQuery, FormMessages};
use crate::pages::text;
use crate::pages::visitor::Member;
use crate::totp;

#[derive(Template)]
#[template(path = "account/password.html")]
struct PasswordPage {
    frame: PageFrame,
    asks_code: bool,
}

#[derive(Deserialize)]
pub(super) struct PasswordForm {
    password: String,
    new_password: String,
    repeated: String,
    #[serde(default)]
    totp_code: String,
}

pub(super) async fn page(
    member: Member,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    show(&member, query.0.notices()).await
}

pub(super) async fn change(
    form: Form<PasswordForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (member, typed) = form.by_member()?;
    if typed.new_password != typed.repeated {
        let notices = FormMessages::wrong("repeated", "This is not the same as the new password");
        return show(&member, notices).await;
    }
    let request = ChangePasswordRequest {
        current_password: typed.password,
        new_password: typed.new_password,
        totp_code: text::given(typed.totp_code),
    };
    match password::change(&member.visitor.app, &member.user, request, &origin).await {
        Ok(()) => Ok(member.visitor.see_other("/account/password?done=password")),
        Err(error) => {
            let notices = notices::of(error, &["new_password", "password", "totp_code"])?;
            show(&member, notices).await
        }
    }
}

async fn show(member: &Member, notices: FormMessages) -> actix_web::Result<HttpResponse> {
    let page = PasswordPage {
        frame: member.visitor.frame("Password").with(notices),
        asks_code: totp::service::status(&member.visitor.app, &member.user)
            .await?
            .enabled,
    };
    Ok(member.visitor.show(page.frame.status(), &page))
}
