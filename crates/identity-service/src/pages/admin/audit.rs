//! The record of what happened to accounts.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use serde::Deserialize;
use service_kit::http::Query;

use crate::admin;
use crate::admin::model::Search;
use crate::app::App;
use crate::audit::model::Filter;
use crate::audit::service;
use crate::audit::wire::{AuditEntry, Person};
use crate::error::Error;
use crate::page::{MAX_PAGE, PAGE};
use crate::pages::layout::Frame;
use crate::pages::notices::Notices;
use crate::pages::text::{self, Pager};
use crate::pages::visitor::Administrator;

const PATH: &str = "/admin/audit";

#[derive(Template)]
#[template(path = "admin/audit.html")]
struct AuditPage<'a> {
    frame: Frame,
    notices: Notices,
    query: &'a AuditQuery,
    entries: Vec<AuditEntry>,
    pager: Pager,
}

/// What is looked for, as the form of the page sends it: empty text is no condition.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AuditQuery {
    /// A username or an id, as the next one.
    user: String,
    actor: String,
    action: String,
    /// Days, the first and the last.
    since: String,
    until: String,
    before: Option<i64>,
}

pub(super) async fn page(
    admin: Administrator,
    query: Query<AuditQuery>,
) -> Result<HttpResponse, Error> {
    let (app, query) = (&admin.visitor.app, query.0);
    let (notices, entries, next) = match query.filter(app).await? {
        Ok(filter) => match service::list(app, filter).await {
            Ok(found) => (Notices::none(), found.entries, found.next_cursor),
            Err(error) => (Notices::of(error, &["action"])?, Vec::new(), None),
        },
        Err(wrong) => (wrong, Vec::new(), None),
    };
    let status = notices.status();
    let page = AuditPage {
        frame: admin.visitor.frame("Audit log"),
        notices,
        entries,
        pager: Pager {
            previous: query.before.map(|_| query.link(None)),
            next: next.map(|next| query.link(Some(next))),
        },
        query: &query,
    };
    Ok(admin.visitor.show(status, &page))
}

impl AuditQuery {
    /// The conditions, or what of them cannot be read.
    async fn filter(&self, app: &App) -> Result<Result<Filter, Notices>, Error> {
        let nobody = |field| Notices::wrong(field, "There is no such account");
        let user = match account(app, &self.user).await? {
            Found::Nobody => return Ok(Err(nobody("user"))),
            Found::One(id) => Some(id),
            Found::NotAsked => None,
        };
        let actor = match account(app, &self.actor).await? {
            Found::Nobody => return Ok(Err(nobody("actor"))),
            Found::One(id) => Some(id),
            Found::NotAsked => None,
        };
        let (Ok(since), Ok(until)) = (midnight(&self.since), midnight(&self.until)) else {
            return Ok(Err(Notices::wrong(
                "since",
                "Must be days such as 2027-12-31",
            )));
        };
        Ok(Ok(Filter {
            user,
            actor,
            action: text::given(self.action.clone()),
            since,
            // The last day counts to its end.
            until: until.and_then(|day| day.checked_add_signed(TimeDelta::days(1))),
            before: self.before,
            limit: PAGE,
        }))
    }

    /// The address of another page of the same entries; the first one when there is nothing to be before.
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

enum Found {
    NotAsked,
    Nobody,
    One(UserId),
}

/// An account by its id, which one that is gone still has in the log, or by its name.
async fn account(app: &App, typed: &str) -> Result<Found, Error> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Ok(Found::NotAsked);
    }
    if let Ok(id) = typed.parse() {
        return Ok(Found::One(id));
    }
    let search = Search {
        text: Some(typed.to_owned()),
        limit: MAX_PAGE,
        ..Search::default()
    };
    let (profiles, _) = admin::service::search(app, search).await?;
    let mut accounts = profiles.into_iter().map(|profile| profile.account);
    let found = accounts.find(|account| account.username.eq_ignore_ascii_case(typed));
    Ok(found.map_or(Found::Nobody, |account| Found::One(account.id)))
}

/// The beginning of a day; nothing for no day.
fn midnight(day: &str) -> Result<Option<NaiveDateTime>, chrono::ParseError> {
    match day.trim() {
        "" => Ok(None),
        day => Ok(Some(day.parse::<NaiveDate>()?.and_time(NaiveTime::MIN))),
    }
}

/// Somebody as the log names him: who is gone has only his id left.
pub(super) fn person(person: &Person) -> String {
    match &person.username {
        Some(username) => username.clone(),
        None => format!("#{}", person.id),
    }
}
