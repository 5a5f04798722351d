use chrono::NaiveDateTime;
use db_kit::{Db, count_some, on_backend};
use diesel::dsl::min;
use diesel::prelude::*;

use super::model::{Ending, LOCKED, MailRow, NewMail, PENDING, SENDING};
use crate::schema::mails;

pub(super) fn insert_mail(db: &mut Db, row: &NewMail) -> QueryResult<()> {
    diesel::insert_into(mails::table)
        .values(row)
        .execute(db)
        .map(drop)
}

/// When the next mail is to be looked at.
pub(super) fn next_due(db: &mut Db) -> QueryResult<Option<NaiveDateTime>> {
    mails::table
        .filter(mails::settled_at.is_null())
        .select(min(mails::due_at))
        .first(db)
}

/// Open mails whose time has come and that nobody holds, or whose holder is gone. Locked until the
/// transaction ends; those that another process is taking now are left to it.
pub(super) fn list_due(db: &mut Db, now: NaiveDateTime, limit: i64) -> QueryResult<Vec<MailRow>> {
    let due = mails::table
        .filter(mails::settled_at.is_null())
        .filter(mails::due_at.le(now))
        .order((mails::due_at, mails::event_id))
        .limit(limit);
    match db {
        Db::Pg(conn) => due
            .select(MailRow::as_select())
            .for_update()
            .skip_locked()
            .load(conn),
        Db::Sqlite(conn) => due.select(MailRow::as_select()).load(conn),
    }
}

/// Holds a mail until `until`.
pub(super) fn hold(
    db: &mut Db,
    event_id: &str,
    owner: &str,
    until: NaiveDateTime,
) -> QueryResult<()> {
    diesel::update(mails::table.find(event_id))
        .set((
            mails::state.eq(SENDING),
            mails::lease_owner.eq(Some(owner)),
            mails::due_at.eq(until),
            mails::attempts.eq(mails::attempts + 1),
        ))
        .execute(db)
        .map(drop)
}

/// How a mail goes back among those that wait.
pub(super) struct Return<'a> {
    pub(super) state: &'static str,
    pub(super) attempts: i64,
    pub(super) due_at: NaiveDateTime,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) reason: Option<&'a str>,
}

/// Puts a mail back; false when its lease is over, though the same process may hold it again, or it was settled meanwhile.
pub(super) fn put_back(
    db: &mut Db,
    job: &MailRow,
    owner: &str,
    back: &Return<'_>,
) -> QueryResult<bool> {
    let held = mails::table
        .find(&job.event_id)
        .filter(mails::settled_at.is_null())
        .filter(mails::lease_owner.eq(owner))
        .filter(mails::attempts.eq(job.attempts));
    let changed = diesel::update(held)
        .set((
            mails::state.eq(back.state),
            mails::lease_owner.eq(None::<String>),
            mails::attempts.eq(back.attempts),
            mails::due_at.eq(back.due_at),
            mails::give_up_at.eq(back.give_up_at),
            mails::reason.eq(back.reason),
        ))
        .execute(db)?;
    Ok(changed == 1)
}

/// Ends a mail; false when it had ended before. Whom it went to and what it said is forgotten.
pub(super) fn settle(
    db: &mut Db,
    event_id: &str,
    ending: Ending,
    reason: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let open = mails::table
        .find(event_id)
        .filter(mails::settled_at.is_null());
    let settled = diesel::update(open)
        .set((
            mails::state.eq(ending.name()),
            mails::sealed.eq(None::<String>),
            mails::lease_owner.eq(None::<String>),
            mails::reason.eq(reason),
            mails::settled_at.eq(Some(now)),
        ))
        .execute(db)?;
    Ok(settled == 1)
}

/// Has those that wait for a key tried now, and says how many those are.
pub(super) fn try_locked(
    db: &mut Db,
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<usize> {
    let locked = mails::table
        .filter(mails::settled_at.is_null())
        .filter(mails::state.eq(LOCKED));
    diesel::update(locked)
        .set((
            mails::state.eq(PENDING),
            mails::due_at.eq(now),
            mails::give_up_at.eq(give_up_at),
        ))
        .execute(db)
}

/// How many mails are open, counted up to 10,000.
pub(super) fn count_open(db: &mut Db) -> QueryResult<i64> {
    count_some(db, "mails WHERE settled_at IS NULL")
}

/// Forgets mails that were settled before `until`, at most `most`, and says how many.
pub(super) fn forget_settled_before(
    db: &mut Db,
    until: NaiveDateTime,
    most: i64,
) -> QueryResult<usize> {
    let old = mails::settled_at
        .is_not_null()
        .and(mails::settled_at.lt(until));
    let oldest = mails::table
        .filter(old)
        .order(mails::settled_at)
        .limit(most)
        .select(mails::event_id)
        .load::<String>(db)?;
    on_backend!(db, conn => diesel::delete(mails::table.filter(mails::event_id.eq_any(&oldest))).execute(conn))
}
