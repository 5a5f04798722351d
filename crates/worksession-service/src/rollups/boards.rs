//! How long the rows of the boards are kept.

use chrono::{Days, NaiveDate};
use db_kit::Db;

use super::queries;
use crate::error::Error;
use crate::state::AppState;

/// Boards that are dropped in one transaction.
const PRUNED: i64 = 100;

/// The first days of the oldest periods whose boards are kept on `today`; older ones are pruned, since nobody can ask
/// for them.
pub(super) fn oldest_kept(period: &str, today: NaiveDate) -> NaiveDate {
    let days = match period {
        "day" => 7,
        "week" => 28,
        "month" => 93,
        _ => return NaiveDate::default(),
    };
    today.checked_sub_days(Days::new(days)).unwrap_or(today)
}

/// Drops the boards of periods that nobody can ask for any more.
///
/// # Errors
/// When the database does not do it.
pub(super) async fn prune(state: &AppState) -> Result<(), Error> {
    let today = state.clock.now().date_naive();
    let oldest = ["day", "week", "month"].map(|period| oldest_kept(period, today));
    loop {
        // Looked for by a reader: it takes a while, and SQLite has one writer.
        let look = move |db: &mut Db| Ok::<_, Error>(queries::old_boards(db, oldest, PRUNED)?);
        let old = state.pool.read(look).await?;
        if old.is_empty() {
            return Ok(());
        }
        let drop_them = move |db: &mut Db| {
            for (scope, period, start) in &old {
                queries::drop_board(db, *scope, period, *start)?;
            }
            Ok::<_, Error>(())
        };
        state.pool.write_tx(drop_them).await?;
    }
}
