//! Changing the password of an account.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use crate::credentials::password_change;
use crate::credentials::wire::ChangePasswordRequest;
use crate::pages::form::Form;
use crate::pages::form_messages::{DoneQuery, FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::pages::visitor::SignedInVisitor;
use crate::request_context::RequestContext;
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
    show(&caller, query.0.messages()).await
}

pub(super) async fn change(
    form: Form<PasswordForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, input) = form.by_caller()?;
    if input.new_password != input.repeated {
        let messages = FormMessages::for_field("repeated", t("account-password-mismatch"));
        return show(&caller, messages).await;
    }
    let request = ChangePasswordRequest {
        current_password: input.password,
        new_password: input.new_password,
        totp_code: text::given(input.totp_code),
    };
    match password_change::change(&caller.visitor.app, &caller.user, request, &context).await {
        Ok(()) => Ok(caller.visitor.see_other("/account/password?done=password")),
        Err(error) => {
            let messages = messages_for(error, &["new_password", "password", "totp_code"])?;
            show(&caller, messages).await
        }
    }
}

async fn show(caller: &SignedInVisitor, messages: FormMessages) -> actix_web::Result<HttpResponse> {
    let factor = totp::service::status(&caller.visitor.app, &caller.user).await?;
    let page = ChangePasswordPage {
        frame: caller.visitor.frame(t("account-password")).with(messages),
        asks_code: factor.enabled,
    };
    Ok(caller.visitor.show(page.frame.status(), &page))
}
