//! The sessions of an account.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use askama::Template;
use service_kit::http::{Query, endpoint};
use web_kit::cookies::set_cookie;

use crate::origin::RequestContext;
use crate::pages::form::{Empty, Form, IdForm};
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, ListQuery};
use crate::pages::text::{self, Pager};
use crate::pages::visitor::Member;
use crate::sessions::wire::{SessionEntry, SessionsQuery};
use crate::sessions::{ending, list};

const PATH: &str = "/account/sessions";
const PAGE: i64 = 50;

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint(PATH).get(page))
        .service(endpoint("/account/sessions/end").post(end))
        .service(endpoint("/account/sessions/end-others").post(end_others));
}

#[derive(Template)]
#[template(path = "account/sessions.html")]
struct SessionsPage {
    frame: PageFrame,
    sessions: Vec<SessionEntry>,
    total: i64,
    pager: Pager,
}

async fn page(member: Member, query: Query<ListQuery>) -> actix_web::Result<HttpResponse> {
    let ListQuery { done, offset } = query.0;
    let wanted = SessionsQuery {
        limit: Some(PAGE),
        offset: Some(offset),
    };
    let found = list::list_sessions(&member.visitor.app, &member.user, wanted).await?;
    let notices = notices::done(done.as_deref());
    let page = SessionsPage {
        frame: member.visitor.frame("Sessions").with(notices),
        pager: Pager::by_offset(PATH, offset, PAGE, found.total),
        sessions: found.sessions,
        total: found.total,
    };
    Ok(member.visitor.show(StatusCode::OK, &page))
}

async fn end(form: Form<IdForm>, origin: RequestContext) -> actix_web::Result<HttpResponse> {
    let (member, IdForm { id }) = form.by_member()?;
    let is_this = id == member.user.token.session_id;
    let app = &member.visitor.app;
    ending::end_session(app, &member.user, id, &origin).await?;
    if is_this {
        let mut answer = member.visitor.see_other("/login");
        set_cookie(&mut answer, &app.cookies.sign_out());
        return Ok(answer);
    }
    Ok(member.visitor.see_other("/account/sessions?done=session"))
}

async fn end_others(form: Form<Empty>, origin: RequestContext) -> actix_web::Result<HttpResponse> {
    let (member, _) = form.by_member()?;
    ending::end_many(&member.visitor.app, &member.user, true, &origin).await?;
    Ok(member.visitor.see_other("/account/sessions?done=sessions"))
}
