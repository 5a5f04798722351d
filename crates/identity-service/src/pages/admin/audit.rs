//! The audit log.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::UserId;
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use crate::admin;
use crate::admin::wire::SearchQuery;
use crate::app::App;
use crate::audit::service;
use crate::audit::wire::{self, AuditEntry, Person};
use crate::error::Error;
use crate::pages::form_messages::{FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text::{self, Pager};
use crate::pages::visitor::Administrator;
use crate::pagination::MAX_PAGE;

const PATH: &str = "/admin/audit";

#[derive(Template)]
#[template(path = "admin/audit.html")]
struct AuditPage<'a> {
    frame: PageFrame,
    query: &'a AuditFilterForm,
    entries: Vec<AuditEntry>,
    pager: Pager,
}

/// The filter, as the page's form sends it: an empty field is no condition.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AuditFilterForm {
    /// A username or an id, like `actor`.
    user: String,
    actor: String,
    action: String,
    /// The first and the last day, in UTC.
    since: String,
    until: String,
    before: Option<i64>,
}

pub(super) async fn page(
    admin: Administrator,
    query: Query<AuditFilterForm>,
) -> Result<HttpResponse, Error> {
    let (app, query) = (&admin.visitor.app, query.0);
    let (messages, entries, next) = match query.filter(app).await? {
        Ok(filter) => match service::list(app, filter).await {
            Ok(found) => (FormMessages::default(), found.entries, found.next_cursor),
            Err(error) => (messages_for(error, &["action"])?, Vec::new(), None),
        },
        Err(wrong) => (wrong, Vec::new(), None),
    };
    let page = AuditPage {
        frame: admin.visitor.frame(t("admin-audit")).with(messages),
        entries,
        pager: Pager {
            previous: query.before.map(|_| query.link(None)),
            next: next.map(|next| query.link(Some(next))),
        },
        query: &query,
    };
    Ok(admin.visitor.show(page.frame.status(), &page))
}

impl AuditFilterForm {
    /// Returns the conditions, or the message about one that cannot be parsed.
    async fn filter(&self, app: &App) -> Result<Result<wire::AuditQuery, FormMessages>, Error> {
        let mut found = [None, None];
        let asked = [("user", &self.user), ("actor", &self.actor)];
        for (id, (field, input)) in found.iter_mut().zip(asked) {
            if !input.trim().is_empty() {
                *id = find_account(app, input.trim()).await?;
                if id.is_none() {
                    let wrong = FormMessages::for_field(field, t("admin-audit-account-unknown"));
                    return Ok(Err(wrong));
                }
            }
        }
        let [user, actor] = found;
        let (Ok(since), Ok(until)) = (midnight(&self.since), midnight(&self.until)) else {
            let wrong = FormMessages::for_field("since", t("admin-audit-days-malformed"));
            return Ok(Err(wrong));
        };
        Ok(Ok(wire::AuditQuery {
            user,
            actor,
            action: text::given(self.action.clone()),
            since,
            // The last day is included.
            until: until.and_then(|day| day.checked_add_signed(TimeDelta::days(1))),
            cursor: self.before,
            limit: None,
        }))
    }

    /// Returns the address of another page of the same entries: the first one without `before`.
    fn link(&self, before: Option<i64>) -> String {
        let before = before.map(|id| id.to_string()).unwrap_or_default();
        let pairs = [
            ("user", self.user.as_str()),
            ("actor", &self.actor),
            ("action", &self.action),
            ("since", &self.since),
            ("until", &self.until),
            ("before", &before),
        ];
        text::with_query(PATH, &pairs)
    }
}

/// Finds an account by its username or id. The log may still contain the id of a deleted account.
async fn find_account(app: &App, input: &str) -> Result<Option<UserId>, Error> {
    if let Ok(id) = input.parse() {
        return Ok(Some(id));
    }
    let search = SearchQuery {
        q: Some(input.to_owned()),
        limit: Some(MAX_PAGE),
        ..SearchQuery::default()
    };
    let found = admin::service::search(app, search).await?.users;
    let mut users = found.into_iter().map(|found| found.user);
    let user = users.find(|user| user.username.eq_ignore_ascii_case(input));
    Ok(user.map(|user| user.id))
}

/// Returns the start of a day, or `None` for empty text.
fn midnight(day: &str) -> Result<Option<DateTime<Utc>>, chrono::ParseError> {
    match day.trim() {
        "" => Ok(None),
        day => Ok(Some(
            day.parse::<NaiveDate>()?.and_time(NaiveTime::MIN).and_utc(),
        )),
    }
}

/// Returns the name of an account in the log. Only the id is left of a deleted one.
pub(super) fn person(person: &Person) -> String {
    match &person.username {
        Some(username) => username.clone(),
        None => format!("#{}", person.id),
    }
}
