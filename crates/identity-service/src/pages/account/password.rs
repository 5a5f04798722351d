//! Changing the password of an account.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use crate::credentials::password;
use crate::credentials::wire::ChangePasswordRequest;
use crate::origin::RequestContext;
use crate::pages::form::Form;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, DoneQuery, FormMessages};
use crate::pages::text;
use crate::pages::visitor::SignedInVisitor;
use crate::totp;

#[derive(Template)]
#[template(path = "account/password.html")]
struct ChangePasswordPage {
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
    caller: SignedInVisitor,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    show(&caller, query.0.notices()).await
}

pub(super) async fn change(
    form: Form<PasswordForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, typed) = form.by_caller()?;
    if typed.new_password != typed.repeated {
        let notices = FormMessages::wrong("repeated", t("account-password-mismatch"));
        return show(&caller, notices).await;
    }
    let request = ChangePasswordRequest {
        current_password: typed.password,
        new_password: typed.new_password,
        totp_code: text::given(typed.totp_code),
    };
    match password::change(&caller.visitor.app, &caller.user, request, &origin).await {
        Ok(()) => Ok(caller.visitor.see_other("/account/password?done=password")),
        Err(error) => {
            let notices = notices::of(error, &["new_password", "password", "totp_code"])?;
            show(&caller, notices).await
        }
    }
}

async fn show(caller: &SignedInVisitor, notices: FormMessages) -> actix_web::Result<HttpResponse> {
    let factor = totp::service::status(&caller.visitor.app, &caller.user).await?;
    let page = ChangePasswordPage {
        frame: caller.visitor.frame(t("account-password")).with(notices),
        asks_code: factor.enabled,
    };
    Ok(caller.visitor.show(page.frame.status(), &page))
}
