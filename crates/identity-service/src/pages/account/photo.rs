//! The photo of an account, uploaded with a form.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use service_kit::http::{Query, UnreadBody};
use web_kit::form::check_site;

use crate::accounts::model::AccountRow;
use crate::pages::form::{EmptyForm, Form};
use crate::pages::form_messages::{DoneQuery, FormMessages, message_for_problem, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::pages::visitor::SignedInVisitor;
use crate::photos::{public_url, service, upload};
use crate::rate_limits::AccountLimit;
use crate::request_context::RequestContext;

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
    pub(crate) fn from_account(account: &AccountRow) -> Self {
        Self {
            path: public_url("", account.id, account.photo_version.as_deref()),
            initial: text::initial(&account.username),
        }
    }
}

pub(super) async fn page(caller: SignedInVisitor, query: Query<DoneQuery>) -> HttpResponse {
    show(&caller, query.0.messages())
}

/// Replaces the extractor of forms, which cannot read files: the token is in the same body as the photo.
pub(super) async fn upload(
    caller: SignedInVisitor,
    context: RequestContext,
    body: UnreadBody,
) -> actix_web::Result<HttpResponse> {
    check_site(body.headers())?;
    let app = &caller.visitor.app;
    let user = &caller.user;
    app.rate_limits
        .check_account(AccountLimit::Photo, user.account.id)?;
    let body = body.of_account(user.account.id.get());
    let sent = match upload::read_form(body, app.photos.max_bytes).await {
        Ok(sent) => sent,
        Err(problem) if problem.status.is_client_error() => {
            return Ok(show(&caller, message_for_problem(&problem, "photo")));
        }
        Err(problem) => return Err(problem.into()),
    };
    let token = caller.visitor.open_token(sent.csrf.as_deref())?;
    token.check_account(&caller.visitor.account())?;
    let Some(file) = sent.photo.filter(|file| !file.is_empty()) else {
        let messages = FormMessages::for_field("photo", t("account-photo-missing"));
        return Ok(show(&caller, messages));
    };
    match service::put(app, user.account.id, file, &context.for_caller(user)).await {
        Ok(_) => Ok(caller.visitor.see_other("/account/photo?done=photo")),
        Err(error) => Ok(show(&caller, messages_for(error, &["photo"])?)),
    }
}

pub(super) async fn remove(
    form: Form<EmptyForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (SignedInVisitor { visitor, user }, _) = form.by_caller()?;
    service::remove(&visitor.app, user.account.id, &context.for_caller(&user)).await?;
    Ok(visitor.see_other("/account/photo?done=photo-removed"))
}

fn show(caller: &SignedInVisitor, messages: FormMessages) -> HttpResponse {
    let page = PhotoPage {
        frame: caller.visitor.frame(t("account-photo")).with(messages),
        portrait: Avatar::from_account(&caller.user.account),
        most_mebibytes: caller.visitor.app.photos.max_bytes / (1024 * 1024),
    };
    caller.visitor.show(page.frame.status(), &page)
}
