//! The photo of an account, uploaded with a form.

use actix_web::HttpResponse;
use askama::Template;
use service_kit::http::{Query, UnreadBody};
use web_kit::form::check_site;

use crate::accounts::model::AccountRow;
use crate::error::Error;
use crate::limits::AccountLimit;
use crate::origin::RequestContext;
use crate::pages::form::{Empty, Form};
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, DoneQuery, FormMessages};
use crate::pages::text;
use crate::pages::visitor::Member;
use crate::photos::{public_url, service, upload};

#[derive(Template)]
#[template(path = "account/photo.html")]
struct PhotoPage {
    frame: PageFrame,
    portrait: Avatar,
    most_mebibytes: usize,
}

/// A photo, or the initial in its place.
pub(crate) struct Avatar {
    /// A path on this host, whatever its public name is.
    pub(crate) path: Option<String>,
    pub(crate) initial: char,
}

impl Avatar {
    pub(crate) fn of(account: &AccountRow) -> Self {
        Self {
            path: public_url("", account.id, account.photo_version.as_deref()),
            initial: text::initial(&account.username),
        }
    }
}

pub(super) async fn page(member: Member, query: Query<DoneQuery>) -> HttpResponse {
    show(&member, query.0.notices())
}

/// Replaces the extractor of forms, which cannot read files: the token is in the same body as the photo.
pub(super) async fn upload(
    member: Member,
    origin: RequestContext,
    body: UnreadBody,
) -> actix_web::Result<HttpResponse> {
    check_site(body.headers())?;
    let app = &member.visitor.app;
    let user = &member.user;
    app.limits
        .check_account(AccountLimit::Photo, user.account.id)?;
    let body = body.of_account(user.account.id.get());
    let sent = match upload::read_form(body, app.photos.max_bytes).await {
        Ok(sent) => sent,
        Err(problem) if problem.status.is_client_error() => {
            return Ok(show(&member, notices::of_problem(&problem, "photo")));
        }
        Err(problem) => return Err(problem.into()),
    };
    let token = member.visitor.open_token(sent.csrf.as_deref())?;
    token.check_account(&member.visitor.account())?;
    let stored = match sent.photo {
        Some(file) if !file.is_empty() => {
            service::put(app, user.account.id, file, &origin.of(user)).await
        }
        _ => Err(Error::Validation("photo must be chosen".into())),
    };
    match stored {
        Ok(_) => Ok(member.visitor.see_other("/account/photo?done=photo")),
        Err(error) => Ok(show(&member, notices::of(error, &["photo"])?)),
    }
}

pub(super) async fn remove(
    form: Form<Empty>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (Member { visitor, user }, _) = form.by_member()?;
    service::remove(&visitor.app, user.account.id, &origin.of(&user)).await?;
    Ok(visitor.see_other("/account/photo?done=photo-removed"))
}

fn show(member: &Member, notices: FormMessages) -> HttpResponse {
    let page = PhotoPage {
        frame: member.visitor.frame("Photo").with(notices),
        portrait: Avatar::of(&member.user.account),
        most_mebibytes: member.visitor.app.photos.max_bytes / (1024 * 1024),
    };
    member.visitor.show(page.frame.status(), &page)
}
