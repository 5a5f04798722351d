//! Taking one's data along, and leaving.

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use serde::Deserialize;
use web_kit::cookies::set_cookie;
use web_kit::form::check_site;

use crate::deletion;
use crate::deletion::wire::DeleteAccountRequest;
use crate::error::Error;
use crate::export;
use crate::origin::Origin;
use crate::pages::form::Form;
use crate::pages::layout::Frame;
use crate::pages::notices::Notices;
use crate::pages::text;
use crate::pages::visitor::Member;
use crate::teams;
use crate::teams::wire::Team;
use crate::totp;

#[derive(Template)]
#[template(path = "account/delete.html")]
struct DeletePage {
    frame: Frame,
    notices: Notices,
    /// His with other members in them: they have to be handed over or deleted first.
    kept: Vec<Team>,
    /// His alone, which go with him.
    lost: Vec<Team>,
    asks_code: bool,
}

#[derive(Template)]
#[template(path = "account/deleted.html")]
struct DeletedPage {
    frame: Frame,
}

#[derive(Deserialize)]
pub(super) struct DeleteForm {
    password: String,
    #[serde(default)]
    totp_code: String,
}

/// The file of `GET /api/auth/export`. It is written down that it was read, so other sites' pages may not
/// ask for it.
pub(super) async fn export(
    member: Member,
    origin: Origin,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    let headers: &HeaderMap = req.headers();
    check_site(headers)?;
    let document = export::service::export(&member.visitor.app, &member.user, &origin).await?;
    Ok(export::routes::as_file(&member.user, &document))
}

pub(super) async fn delete_page(member: Member) -> Result<HttpResponse, Error> {
    show(&member, Notices::none()).await
}

pub(super) async fn delete(
    form: Form<DeleteForm>,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (mut member, typed) = form.by_member()?;
    let request = DeleteAccountRequest {
        password: typed.password,
        totp_code: text::given(typed.totp_code),
    };
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
        Err(error) => {
            let notices = Notices::of(error, &["password", "totp_code"])?;
            Ok(show(&member, notices).await?)
        }
    }
}

async fn show(member: &Member, notices: Notices) -> Result<HttpResponse, Error> {
    let status = notices.status();
    let app = &member.visitor.app;
    let id = member.user.account.id;
    let mut own = teams::service::list_teams(app, &member.user).await?;
    own.retain(|team| team.owner_id == id);
    let (kept, lost) = own.into_iter().partition(|team| team.member_count > 1);
    let page = DeletePage {
        frame: member.visitor.frame("Delete your account"),
        notices,
        kept,
        lost,
        asks_code: totp::service::status(app, &member.user).await?.enabled,
    };
    Ok(member.visitor.show(status, &page))
}
