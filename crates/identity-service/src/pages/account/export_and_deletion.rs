//! The data export, and the deletion of an account.

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use messages::t;
use web_kit::cookies::set_cookie;
use web_kit::form::check_site;

use crate::deletion;
use crate::deletion::wire::DeleteAccountRequest;
use crate::export;
use crate::pages::form::Form;
use crate::pages::form_messages::{FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::visitor::SignedInVisitor;
use crate::request_context::RequestContext;
use crate::teams;
use crate::teams::wire::Team;
use crate::totp;

#[derive(Template)]
#[template(path = "account/delete.html")]
struct DeleteAccountPage {
    frame: PageFrame,
    /// Teams of this owner with other members. They must be handed over or deleted first.
    kept: Vec<Team>,
    /// Teams of this owner without other members. They are deleted with the account.
    lost: Vec<Team>,
    asks_code: bool,
}

#[derive(Template)]
#[template(path = "account/deleted.html")]
struct DeletedPage {
    frame: PageFrame,
}

/// Returns the file of `GET /api/auth/export`. Each export is audited, so pages of other sites must not request it.
pub(super) async fn export(
    caller: SignedInVisitor,
    context: RequestContext,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    let headers: &HeaderMap = req.headers();
    check_site(headers)?;
    let document = export::service::export(&caller.visitor.app, &caller.user, &context).await?;
    Ok(export::routes::as_file(&caller.user, &document))
}

pub(super) async fn delete_page(caller: SignedInVisitor) -> actix_web::Result<HttpResponse> {
    show(&caller, FormMessages::default()).await
}

pub(super) async fn delete(
    form: Form<DeleteAccountRequest>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (mut caller, request) = form.by_caller()?;
    let app = caller.visitor.app.clone();
    match deletion::service::delete_account(&app, &caller.user, request, &context).await {
        Ok(()) => {
            caller.visitor.user = None;
            let page = DeletedPage {
                frame: caller.visitor.frame(t("account-deleted")),
            };
            let mut answer = caller.visitor.show(StatusCode::OK, &page);
            set_cookie(&mut answer, &app.cookies.sign_out());
            Ok(answer)
        }
        Err(error) => show(&caller, messages_for(error, &["password", "totp_code"])?).await,
    }
}

async fn show(caller: &SignedInVisitor, messages: FormMessages) -> actix_web::Result<HttpResponse> {
    let app = &caller.visitor.app;
    let id = caller.user.account.id;
    let mut own = teams::service::list_teams(app, &caller.user).await?;
    own.retain(|team| team.owner_id == id);
    let (kept, lost) = own.into_iter().partition(|team| team.member_count > 1);
    let page = DeleteAccountPage {
        frame: caller.visitor.frame(t("account-delete")).with(messages),
        kept,
        lost,
        asks_code: totp::service::status(app, &caller.user).await?.enabled,
    };
    Ok(caller.visitor.show(page.frame.status(), &page))
}
