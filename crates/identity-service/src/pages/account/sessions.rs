//! The sessions of an account.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use askama::Template;
use messages::t;
use service_kit::http::{Query, endpoint};
use web_kit::cookies::set_cookie;

use crate::pages::form::{EmptyForm, Form, IdForm};
use crate::pages::form_messages::{ListQuery, done_message};
use crate::pages::page_frame::PageFrame;
use crate::pages::text::{self, Pager};
use crate::pages::visitor::SignedInVisitor;
use crate::request_context::RequestContext;
use crate::sessions::wire::{SessionEntry, SessionsQuery};
use crate::sessions::{list, revocation};

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

async fn page(caller: SignedInVisitor, query: Query<ListQuery>) -> actix_web::Result<HttpResponse> {
    let ListQuery { done, offset } = query.0;
    let wanted = SessionsQuery {
        limit: Some(PAGE),
        offset: Some(offset),
    };
    let found = list::list_sessions(&caller.visitor.app, &caller.user, wanted).await?;
    let messages = done_message(done.as_deref());
    let page = SessionsPage {
        frame: caller.visitor.frame(t("account-sessions")).with(messages),
        pager: Pager::by_offset(PATH, offset, PAGE, found.total),
        sessions: found.sessions,
        total: found.total,
    };
    Ok(caller.visitor.show(StatusCode::OK, &page))
}

/// Returns what a session belongs to: an application, a site or a device.
fn session_name(session: &SessionEntry) -> String {
    match (&session.client, session.kind.as_str()) {
        (Some(client), _) => client.name.clone(),
        (None, "sso") => session
            .service
            .clone()
            .unwrap_or_else(|| t("account-session-other-site").into()),
        _ => text::device(session.user_agent.as_deref()),
    }
}

async fn end(form: Form<IdForm>, context: RequestContext) -> actix_web::Result<HttpResponse> {
    let (caller, IdForm { id }) = form.by_caller()?;
    let is_this = id == caller.user.token.session_id;
    let app = &caller.visitor.app;
    revocation::end_session(app, &caller.user, id, &context).await?;
    if is_this {
        let mut answer = caller.visitor.see_other("/login");
        set_cookie(&mut answer, &app.cookies.sign_out());
        return Ok(answer);
    }
    Ok(caller.visitor.see_other("/account/sessions?done=session"))
}

async fn end_others(
    form: Form<EmptyForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, _) = form.by_caller()?;
    revocation::end_many(&caller.visitor.app, &caller.user, true, &context).await?;
    Ok(caller.visitor.see_other("/account/sessions?done=sessions"))
}
