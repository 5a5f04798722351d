//! Retention of the leaderboards' rows.

use chrono::{Days, NaiveDate};
use db_kit::Db;

use super::queries;
use crate::app_state::AppState;
use crate::error::Error;

/// The most boards that are deleted in one transaction.
const BATCH: i64 = 100;

/// Returns the first day of the oldest `period` that is retained on `today`. The API serves current periods only, so older
/// boards are pruned. Boards of `all` are never pruned.
pub(super) fn oldest_retained(period: &str, today: NaiveDate) -> NaiveDate {
    let days = match period {
        "day" => 7,
        "week" => 28,
        "month" => 93,
        _ => return NaiveDate::default(),
    };
    today.checked_sub_days(Days::new(days)).unwrap_or(today)
}

/// Deletes the boards of periods that the API no longer serves.
///
/// # Errors
/// When the database fails.
pub(super) async fn prune(state: &AppState) -> Result<(), Error> {
    let today = state.clock.now().date_naive();
    let oldest = ["day", "week", "month"].map(|period| oldest_retained(period, today));
    loop {
        // A reader searches for them: that takes a while, and SQLite has only one writer.
        let list = move |db: &mut Db| Ok::<_, Error>(queries::list_old_boards(db, oldest, BATCH)?);
        let old = state.pool.read(list).await?;
        if old.is_empty() {
            return Ok(());
        }
        let delete = move |db: &mut Db| {
            for (scope, period, start) in &old {
                queries::delete_board(db, *scope, period, *start)?;
            }
            Ok::<_, Error>(())
        };
        state.pool.write_tx(delete).await?;
    }
}
