//! The data export, and the deletion of an account.

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use web_kit::cookies::set_cookie;
use web_kit::form::check_site;

use crate::deletion;
use crate::deletion::wire::DeleteAccountRequest;
use crate::export;
use crate::origin::RequestContext;
use crate::pages::form::Form;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, FormMessages};
use crate::pages::visitor::Member;
use crate::teams;
use crate::teams::wire::Team;
use crate::totp;

#[derive(Template)]
#[template(path = "account/delete.html")]
struct DeletePage {
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
    member: Member,
    origin: RequestContext,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    let headers: &HeaderMap = req.headers();
    check_site(headers)?;
    let document = export::service::export(&member.visitor.app, &member.user, &origin).await?;
    Ok(export::routes::as_file(&member.user, &document))
}

pub(super) async fn delete_page(member: Member) -> actix_web::Result<HttpResponse> {
    show(&member, FormMessages::default()).await
}

pub(super) async fn delete(
    form: Form<DeleteAccountRequest>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (mut member, request) = form.by_member()?;
    let app = member.visitor.app.clone();
    match deletion::service::delete_account(&app, &member.user, request, &origin).await {
        Ok(()) => {
            member.visitor.user = None;
            let page = DeletedPage {
                frame: member.visitor.frame("Your account is deleted"),
            };
            let mut answer = member.visitor.show(StatusCode::OK, &page);
            set_cookie(&mut answer, &app.cookies.sign_out());
            Ok(answer)
        }
        Err(error) => show(&member, notices::of(error, &["password", "totp_code"])?).await,
    }
}

async fn show(member: &Member, notices: FormMessages) -> actix_web::Result<HttpResponse> {
    let app = &member.visitor.app;
    let id = member.user.account.id;
    let mut own = teams::service::list_teams(app, &member.user).await?;
    own.retain(|team| team.owner_id == id);
    let (kept, lost) = own.into_iter().partition(|team| team.member_count > 1);
    let page = DeletePage {
        frame: member.visitor.frame("Delete your account").with(notices),
        kept,
        lost,
        asks_code: totp::service::status(app, &member.user).await?.enabled,
    };
    Ok(member.visitor.show(page.frame.status(), &page))
}
