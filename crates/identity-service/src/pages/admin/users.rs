//! The search for accounts, and the page of one.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use auth_types::{AccountRole, PremiumTier, UserId};
use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use crate::admin::routes::{UserPath, existing_id};
use crate::admin::service;
use crate::admin::wire::{AdminUser, SearchQuery, UpdateUserRequest};
use crate::error::Error;
use crate::pages::form::Form;
use crate::pages::form_messages::{DoneQuery, FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text::{self, Pager};
use crate::pages::visitor::Administrator;
use crate::request_context::RequestContext;

const PATH: &str = "/admin/users";

#[derive(Template)]
#[template(path = "admin/users.html")]
struct UsersPage<'a> {
    frame: PageFrame,
    query: &'a UsersQuery,
    users: Vec<AdminUser>,
    pager: Pager,
}

#[derive(Template)]
#[template(path = "admin/user.html")]
struct UserPage {
    frame: PageFrame,
    shown: AdminUser,
    /// The end of the plan as its field shows it: a day, or empty.
    until: String,
    /// Administrators cannot change their own role, status or password here.
    is_self: bool,
}

/// The search, as the page's form sends it: an empty field is no condition.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct UsersQuery {
    q: String,
    role: String,
    plan: String,
    standing: String,
    after: Option<UserId>,
}

#[derive(Deserialize)]
pub(super) struct PlanForm {
    tier: String,
    #[serde(default)]
    until: String,
}

pub(super) async fn list(
    admin: Administrator,
    query: Query<UsersQuery>,
) -> Result<HttpResponse, Error> {
    let (app, query) = (&admin.visitor.app, query.0);
    let found = service::search(app, query.search()).await?;
    let page = UsersPage {
        frame: admin.visitor.frame(t("admin-users")),
        users: found.users,
        pager: Pager {
            previous: query.after.map(|_| query.link(None)),
            next: found.next_cursor.map(|next| query.link(Some(next))),
        },
        query: &query,
    };
    Ok(admin.visitor.show(StatusCode::OK, &page))
}

impl UsersQuery {
    fn search(&self) -> SearchQuery {
        SearchQuery {
            q: text::given(self.q.clone()),
            role: self.role.parse().ok(),
            premium_tier: self.plan.parse().ok(),
            is_active: match self.standing.as_str() {
                "active" => Some(true),
                "inactive" => Some(false),
                _ => None,
            },
            cursor: self.after,
            limit: None,
        }
    }

    /// Returns the address of another page of the same search: the first one without `after`.
    fn link(&self, after: Option<UserId>) -> String {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let pairs = [
            ("q", self.q.as_str()),
            ("role", &self.role),
            ("plan", &self.plan),
            ("standing", &self.standing),
            ("after", &after),
        ];
        text::with_query(PATH, &pairs)
    }
}

pub(super) async fn page(
    admin: Administrator,
    id: UserPath,
    query: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let messages = query.0.messages();
    show(&admin, existing_id(id)?, messages, None).await
}

pub(super) async fn change_plan(
    form: Form<PlanForm>,
    id: UserPath,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (admin, input) = form.by_administrator().await?;
    let id = existing_id(id)?;
    let changes = match input.changes() {
        Ok(changes) => changes,
        Err(wrong) => return show(&admin, id, wrong, Some(input.until)).await,
    };
    let context = context.for_admin(&admin.admin);
    match service::update(&admin.visitor.app, id, changes, &context).await {
        Ok(_) => Ok(admin.visitor.see_other(&format!("{PATH}/{id}?done=plan"))),
        Err(error) => {
            let messages = messages_for(error, &["until"])?;
            show(&admin, id, messages, Some(input.until)).await
        }
    }
}

impl PlanForm {
    fn changes(&self) -> Result<UpdateUserRequest, FormMessages> {
        let tier: PremiumTier = self
            .tier
            .parse()
            .map_err(|_| FormMessages::for_field("tier", t("admin-plan-unknown")))?;
        let until = match (tier, self.until.trim()) {
            (PremiumTier::Free, _) => None,
            (PremiumTier::Premium, "") => Some(None),
            (PremiumTier::Premium, day) => Some(Some(end_of(day)?)),
        };
        Ok(UpdateUserRequest {
            premium_tier: Some(tier),
            premium_expires_at: until,
            ..UpdateUserRequest::default()
        })
    }
}

/// Returns the last second of a day: a plan that ends on a day includes it.
fn end_of(day: &str) -> Result<DateTime<Utc>, FormMessages> {
    let wrong = || FormMessages::for_field("until", t("admin-plan-end-malformed"));
    let day: NaiveDate = day.parse().map_err(|_| wrong())?;
    let end = NaiveTime::from_hms_opt(23, 59, 59).ok_or_else(wrong)?;
    Ok(day.and_time(end).and_utc())
}

async fn show(
    admin: &Administrator,
    id: UserId,
    messages: FormMessages,
    until_input: Option<String>,
) -> actix_web::Result<HttpResponse> {
    let shown = service::get(&admin.visitor.app, id).await?;
    let until = || {
        let end = shown.premium.expires_at.filter(|_| shown.premium.is_active);
        end.map(|end| end.format("%Y-%m-%d").to_string())
            .unwrap_or_default()
    };
    let page = UserPage {
        frame: admin.visitor.frame(&shown.user.username).with(messages),
        until: until_input.unwrap_or_else(until),
        is_self: admin.admin.0.account.id == id,
        shown,
    };
    Ok(admin.visitor.show(page.frame.status(), &page))
}
