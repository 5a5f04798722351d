//! SQLite knows no data-modifying CTE: a submit is a statement for each table, inside of a write transaction.

use db_kit::prepared;
use db_kit::statement::{Keep, Statement};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Settlement;
use crate::schema::{session_flags, user_badges};

/// An `UPDATE … FROM` has SQLite write what it found into a table of its own first.
const UPDATE_SESSION: &str = concat!(
    "UPDATE sessions SET ",
    settled_columns!(),
    " = (SELECT ",
    settled_values!("(SELECT u.seq FROM user_sync u WHERE u.user_id = p_user_id)"),
    " FROM a) WHERE session_id = (SELECT p_session_id FROM a)"
);

/// Runs statements that have what a submit writes for arguments.
macro_rules! run {
    ($conn:ident, $($text:expr),+ $(,)?) => {
        $(Statement::<_, ()>::new(|| $text, &Settlement::KEPT).execute($conn)?;)+
    };
}

pub(super) fn settle(conn: &mut SqliteConnection, settlement: &Settlement) -> QueryResult<bool> {
    prepared::<()>(|| Settlement::MAKE).execute(conn)?;
    Statement::<_, ()>::new(|| Settlement::FILL, settlement).execute(conn)?;
    run!(
        conn,
        bump!("true"),
        UPDATE_SESSION,
        upsert_totals!("FROM a WHERE true"),
        upsert_day!("FROM a WHERE true"),
        upsert_month!("FROM a WHERE true"),
        upsert_hour!("FROM a WHERE true"),
        upsert_category!("FROM a WHERE true"),
        upsert_boards!(
            "CASE WHEN of_team THEN p_team_id ELSE 0 END, period, CASE period WHEN 'day' THEN p_utc_day \
             WHEN 'week' THEN p_utc_week WHEN 'month' THEN p_utc_month ELSE p_board_epoch END",
            "FROM ",
            sqlite
        ),
        queue_event!("FROM a"),
    );
    insert_badges(conn, settlement)?;
    insert_flags(conn, settlement)?;
    Ok(true)
}

fn insert_badges(conn: &mut SqliteConnection, settlement: &Settlement) -> QueryResult<()> {
    for badge in settlement.badges.split(',').filter(|name| !name.is_empty()) {
        diesel::insert_into(user_badges::table)
            .values((
                user_badges::user_id.eq(settlement.user_id),
                user_badges::badge.eq(badge),
                user_badges::earned_at.eq(settlement.submitted_at),
            ))
            .on_conflict_do_nothing()
            .execute(conn)?;
    }
    Ok(())
}

fn insert_flags(conn: &mut SqliteConnection, settlement: &Settlement) -> QueryResult<()> {
    for flag in settlement.flags.split(',').filter(|flag| !flag.is_empty()) {
        let mut parts = flag.split(':');
        let mut part = || parts.next().unwrap_or_default();
        diesel::insert_into(session_flags::table)
            .values((
                session_flags::session_id.eq(&settlement.session_id),
                session_flags::user_id.eq(settlement.user_id),
                session_flags::kind.eq(part()),
                session_flags::severity.eq(part()),
                session_flags::amount.eq(part().parse::<i64>().unwrap_or_default()),
                session_flags::created_at.eq(settlement.submitted_at),
            ))
            .execute(conn)?;
    }
    Ok(())
}
