//! The sessions of an account.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use askama::Template;
use messages::t;
use service_kit::http::{Query, endpoint};
use web_kit::cookies::set_cookie;

use crate::origin::RequestContext;
use crate::pages::form::{EmptyForm, Form, IdForm};
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, ListQuery};
use crate::pages::text::{self, Pager};
use crate::pages::visitor::SignedInVisitor;
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

async fn page(caller: SignedInVisitor, query: Query<ListQuery>) -> actix_web::Result<HttpResponse> {
    let ListQuery { done, offset } = query.0;
    let wanted = SessionsQuery {
        limit: Some(PAGE),
        offset: Some(offset),
    };
    let found = list::list_sessions(&caller.visitor.app, &caller.user, wanted).await?;
    let notices = notices::done(done.as_deref());
    let page = SessionsPage {
        frame: caller.visitor.frame(t("account-sessions")).with(notices),
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

async fn end(form: Form<IdForm>, origin: RequestContext) -> actix_web::Result<HttpResponse> {
    let (caller, IdForm { id }) = form.by_caller()?;
    let is_this = id == caller.user.token.session_id;
    let app = &caller.visitor.app;
    ending::end_session(app, &caller.user, id, &origin).await?;
    if is_this {
        let mut answer = caller.visitor.see_other("/login");
        set_cookie(&mut answer, &app.cookies.sign_out());
        return Ok(answer);
    }
    Ok(caller.visitor.see_other("/account/sessions?done=session"))
}

async fn end_others(
    form: Form<EmptyForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, _) = form.by_caller()?;
    ending::end_many(&caller.visitor.app, &caller.user, true, &origin).await?;
    Ok(caller.visitor.see_other("/account/sessions?done=sessions"))
}
