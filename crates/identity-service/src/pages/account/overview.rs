//! The account page, with links to all others.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use auth_types::wire::Premium;
use messages::t;
use service_kit::http::Query;

use super::photo::Avatar;
use crate::accounts::model::AccountRow;
use crate::pages::form_messages::DoneQuery;
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::pages::visitor::SignedInVisitor;
use crate::sessions::list;
use crate::sessions::wire::SessionsQuery;
use crate::totp;

#[derive(Template)]
#[template(path = "account/overview.html")]
struct OverviewPage<'a> {
    frame: PageFrame,
    portrait: Avatar,
    account: &'a AccountRow,
    since: String,
    has_email: bool,
    premium: Premium,
    second_factor: bool,
    sessions: i64,
}

pub(super) async fn page(
    caller: SignedInVisitor,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let SignedInVisitor { visitor, user } = caller;
    let app = &visitor.app;
    let one = SessionsQuery {
        limit: Some(1),
        offset: None,
    };
    let account = &user.account;
    let page = OverviewPage {
        frame: visitor
            .frame(t("identity-your-account"))
            .with(query.0.messages()),
        portrait: Avatar::from_account(account),
        since: text::day(&account.created_at.and_utc()),
        has_email: account.own_email().is_some(),
        premium: account.premium(|tier| app.premium.bandwidth_mb(tier), app.clock.now_naive())?,
        second_factor: totp::service::status(app, &user).await?.enabled,
        sessions: list::list_sessions(app, &user, one).await?.total,
        account,
    };
    Ok(visitor.show(StatusCode::OK, &page))
}
