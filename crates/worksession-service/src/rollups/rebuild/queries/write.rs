use auth_types::UserId;
use db_kit::{Db, on_backend, statement};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};

use crate::rollups::rebuild::rows::RollupRows;
use crate::schema::{
    board, user_badges, user_category, user_day, user_hour, user_month, user_totals,
};

/// Rows of one INSERT, well below the limit of a statement's parameters.
const BATCH: usize = 500;

/// Replaces the user's rows of a table.
macro_rules! refill {
    ($db:ident, $table:ident, $user:ident, $rows:expr) => {
        diesel::delete($table::table.filter($table::user_id.eq($user))).execute($db)?;
        let rows: Vec<_> = $rows.into_iter().collect();
        for rows in rows.chunks(BATCH) {
            on_backend!($db, conn => diesel::insert_into($table::table).values(rows).execute(conn))?;
        }
    };
}

/// Replaces the user's rollups with these rows. Badges are only added.
pub(in crate::rollups::rebuild) fn replace(
    db: &mut Db,
    user: UserId,
    version: i64,
    rows: RollupRows,
) -> QueryResult<()> {
    let totals = (
        user_totals::user_id.eq(user),
        user_totals::version.eq(version),
        rows.totals,
    );
    refill!(db, user_totals, user, [totals]);
    let days = rows.days.into_values();
    refill!(
        db,
        user_day,
        user,
        days.map(|row| (user_day::user_id.eq(user), row))
    );
    let months = rows.months.into_values();
    refill!(
        db,
        user_month,
        user,
        months.map(|row| (user_month::user_id.eq(user), row))
    );
    let hours = rows.hours.into_iter().map(|(hour, minutes)| {
        (
            user_hour::user_id.eq(user),
            user_hour::hour.eq(hour),
            user_hour::minutes.eq(minutes),
        )
    });
    refill!(db, user_hour, user, hours);
    let categories = rows.categories.into_iter().map(|(category, minutes)| {
        (
            user_category::user_id.eq(user),
            user_category::category.eq(category),
            user_category::minutes.eq(minutes),
        )
    });
    refill!(db, user_category, user, categories);
    let boards = rows.boards.into_values();
    refill!(
        db,
        board,
        user,
        boards.map(|row| (board::user_id.eq(user), row))
    );
    for (badge, earned_at) in rows.badges {
        on_backend!(db, conn => diesel::insert_into(user_badges::table)
            .values((
                user_badges::user_id.eq(user),
                user_badges::badge.eq(badge),
                user_badges::earned_at.eq(earned_at),
            ))
            .on_conflict_do_nothing()
            .execute(conn))?;
    }
    Ok(())
}

/// Records whether the session's credit counts on the boards.
pub(in crate::rollups::rebuild) fn set_on_boards(
    db: &mut Db,
    session_id: &str,
    on_boards: bool,
) -> QueryResult<usize> {
    statement::<()>("UPDATE sessions SET on_boards = $1 WHERE session_id = $2")
        .bind::<Bool, _>(on_boards)
        .bind::<Text, _>(session_id)
        .execute(db)
}
