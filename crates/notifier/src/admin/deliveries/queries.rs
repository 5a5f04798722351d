use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Timestamp};

use super::model::{Delivery, Medium};
use super::{Filter, Wanted};
use crate::schema::{deliveries, destinations, mails, webhook_calls as calls, webhooks};

/// What fits, newest first. Ids are in the order of time, so that their index serves.
pub(super) fn list(
    db: &mut Db,
    only: Option<Medium>,
    filter: &Filter,
) -> QueryResult<Vec<Delivery>> {
    let wanted = |medium| only.is_none_or(|only| only == medium);
    let mut found = Vec::new();
    if wanted(Medium::Chat) {
        found.extend(messages(db, filter)?);
    }
    if wanted(Medium::Mail) {
        found.extend(letters(db, filter)?);
    }
    if wanted(Medium::Webhook) {
        found.extend(webhook_calls(db, filter)?);
    }
    found.sort_by(|a, b| b.id.cmp(&a.id));
    found.truncate(usize::try_from(filter.limit).unwrap_or(usize::MAX));
    Ok(found)
}

/// The newest whose id ends so.
pub(super) fn find(db: &mut Db, end: &str) -> QueryResult<Option<Delivery>> {
    let pattern = format!("%{end}");
    let message = deliveries::table
        .filter(deliveries::event_id.like(&pattern))
        .select(MESSAGE)
        .first::<Message>(db)
        .optional()?;
    if let Some(row) = message {
        return Ok(Some(row.into()));
    }
    let letter = mails::table
        .filter(mails::event_id.like(&pattern))
        .select(LETTER)
        .first::<Letter>(db)
        .optional()?;
    if let Some(row) = letter {
        return Ok(Some(row.into()));
    }
    let call = calls::table
        .filter(calls::delivery_id.like(&pattern))
        .select(CALL)
        .first::<Call>(db)
        .optional()?;
    Ok(call.map(Delivery::from))
}

/// Makes one due now, and has whoever it goes to looked at as soon as that may be called; false when it is
/// under way or settled.
pub(super) fn make_due(
    db: &mut Db,
    medium: Medium,
    id: &str,
    receiver: Option<i64>,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    // Whoever holds a hook or a webhook looks again before letting go.
    let sooner = || {
        sql::<Nullable<Timestamp>>("CASE WHEN free_at > ")
            .bind::<Timestamp, _>(now)
            .sql(" THEN free_at ELSE ")
            .bind::<Timestamp, _>(now)
            .sql(" END")
    };
    let moved = match medium {
        Medium::Chat => {
            // The hook first, as everybody locks them.
            let hook = destinations::table.filter(destinations::project_id.nullable().eq(receiver));
            let idle = hook.filter(destinations::lease_owner.is_null());
            diesel::update(idle)
                .set(destinations::due_at.eq(sooner()))
                .execute(db)?;
            let sent_now = hook
                .filter(destinations::lease_owner.is_not_null())
                .filter(destinations::sending.like(format!("%{id}%")))
                .count()
                .get_result::<i64>(db)?;
            let one = deliveries::table
                .find(id)
                .filter(deliveries::settled_at.is_null());
            let moved = diesel::update(one).set(deliveries::next_attempt_at.eq(now));
            match sent_now {
                0 => moved.execute(db)?,
                _ => 0,
            }
        }
        Medium::Mail => {
            let one = mails::table
                .find(id)
                .filter(mails::settled_at.is_null())
                .filter(mails::lease_owner.is_null());
            let moved = diesel::update(one).set(mails::due_at.eq(now));
            moved.execute(db)?
        }
        Medium::Webhook => {
            let idle = webhooks::table
                .filter(webhooks::webhook_id.nullable().eq(receiver))
                .filter(webhooks::lease_owner.is_null());
            diesel::update(idle)
                .set(webhooks::due_at.eq(sooner()))
                .execute(db)?;
            let one = calls::table.find(id).filter(calls::state.eq("pending"));
            let moved = diesel::update(one).set(calls::next_attempt_at.eq(now));
            moved.execute(db)?
        }
    };
    Ok(moved == 1)
}

/// A condition on the columns `settled_at` and `state`, which all three tables have.
fn in_state(wanted: Wanted) -> diesel::expression::SqlLiteral<Bool> {
    sql(match wanted {
        Wanted::Waiting => "settled_at IS NULL",
        Wanted::Delivered => "state = 'delivered'",
        Wanted::Failed => "state = 'failed'",
        Wanted::Skipped => "state = 'skipped'",
        Wanted::All => "1 = 1",
    })
}

#[derive(Queryable)]
struct Message {
    id: String,
    kind: String,
    project_id: i64,
    request_id: Option<String>,
    state: String,
    attempts: i64,
    due_at: NaiveDateTime,
    give_up_at: NaiveDateTime,
    reason: Option<String>,
    settled_at: Option<NaiveDateTime>,
}

type MessageColumns = (
    deliveries::event_id,
    deliveries::kind,
    deliveries::project_id,
    deliveries::request_id,
    deliveries::state,
    deliveries::attempts,
    deliveries::next_attempt_at,
    deliveries::give_up_at,
    deliveries::reason,
    deliveries::settled_at,
);

const MESSAGE: MessageColumns = (
    deliveries::event_id,
    deliveries::kind,
    deliveries::project_id,
    deliveries::request_id,
    deliveries::state,
    deliveries::attempts,
    deliveries::next_attempt_at,
    deliveries::give_up_at,
    deliveries::reason,
    deliveries::settled_at,
);

fn messages(db: &mut Db, filter: &Filter) -> QueryResult<Vec<Delivery>> {
    let mut query = deliveries::table
        .filter(in_state(filter.state))
        .order(deliveries::event_id.desc())
        .limit(filter.limit)
        .select(MESSAGE)
        .into_boxed();
    if let Some(project) = filter.project {
        query = query.filter(deliveries::project_id.eq(project));
    }
    if let Some(before) = &filter.before {
        query = query.filter(deliveries::event_id.lt(before));
    }
    let rows = query.load::<Message>(db)?;
    Ok(rows.into_iter().map(Delivery::from).collect())
}

impl From<Message> for Delivery {
    fn from(row: Message) -> Self {
        Self {
            medium: Medium::Chat,
            id: row.id,
            kind: row.kind,
            receiver: Some(row.project_id),
            request_id: row.request_id,
            state: row.state,
            attempts: row.attempts,
            due_at: row.due_at,
            give_up_at: row.give_up_at,
            reason: row.reason,
            settled_at: row.settled_at,
        }
    }
}

#[derive(Queryable)]
struct Letter {
    id: String,
    template: String,
    request_id: Option<String>,
    state: String,
    attempts: i64,
    due_at: NaiveDateTime,
    give_up_at: NaiveDateTime,
    reason: Option<String>,
    settled_at: Option<NaiveDateTime>,
}

type LetterColumns = (
    mails::event_id,
    mails::template,
    mails::request_id,
    mails::state,
    mails::attempts,
    mails::due_at,
    mails::give_up_at,
    mails::reason,
    mails::settled_at,
);

const LETTER: LetterColumns = (
    mails::event_id,
    mails::template,
    mails::request_id,
    mails::state,
    mails::attempts,
    mails::due_at,
    mails::give_up_at,
    mails::reason,
    mails::settled_at,
);

fn letters(db: &mut Db, filter: &Filter) -> QueryResult<Vec<Delivery>> {
    let mut query = mails::table
        .filter(in_state(filter.state))
        .order(mails::event_id.desc())
        .limit(filter.limit)
        .select(LETTER)
        .into_boxed();
    if let Some(before) = &filter.before {
        query = query.filter(mails::event_id.lt(before));
    }
    let rows = query.load::<Letter>(db)?;
    Ok(rows.into_iter().map(Delivery::from).collect())
}

impl From<Letter> for Delivery {
    fn from(row: Letter) -> Self {
        Self {
            medium: Medium::Mail,
            id: row.id,
            kind: row.template,
            receiver: None,
            request_id: row.request_id,
            state: row.state,
            attempts: row.attempts,
            due_at: row.due_at,
            give_up_at: row.give_up_at,
            reason: row.reason,
            settled_at: row.settled_at,
        }
    }
}

#[derive(Queryable)]
struct Call {
    id: String,
    webhook_id: i64,
    request_id: Option<String>,
    state: String,
    attempts: i64,
    due_at: NaiveDateTime,
    give_up_at: NaiveDateTime,
    reason: Option<String>,
    settled_at: Option<NaiveDateTime>,
}

type CallColumns = (
    calls::delivery_id,
    calls::webhook_id,
    calls::request_id,
    calls::state,
    calls::attempts,
    calls::next_attempt_at,
    calls::give_up_at,
    calls::reason,
    calls::settled_at,
);

const CALL: CallColumns = (
    calls::delivery_id,
    calls::webhook_id,
    calls::request_id,
    calls::state,
    calls::attempts,
    calls::next_attempt_at,
    calls::give_up_at,
    calls::reason,
    calls::settled_at,
);

fn webhook_calls(db: &mut Db, filter: &Filter) -> QueryResult<Vec<Delivery>> {
    let mut query = calls::table
        .filter(in_state(filter.state))
        .order(calls::delivery_id.desc())
        .limit(filter.limit)
        .select(CALL)
        .into_boxed();
    if let Some(before) = &filter.before {
        query = query.filter(calls::delivery_id.lt(before));
    }
    let rows = query.load::<Call>(db)?;
    Ok(rows.into_iter().map(Delivery::from).collect())
}

impl From<Call> for Delivery {
    fn from(row: Call) -> Self {
        Self {
            medium: Medium::Webhook,
            id: row.id,
            kind: "call".to_owned(),
            receiver: Some(row.webhook_id),
            request_id: row.request_id,
            state: row.state,
            attempts: row.attempts,
            due_at: row.due_at,
            give_up_at: row.give_up_at,
            reason: row.reason,
            settled_at: row.settled_at,
        }
    }
}
