use diesel::prelude::*;
use diesel::sql_types::BigInt;

use crate::{Db, prepared};

/// The most rows that are counted for a figure: a backlog of any length costs the same to look at.
pub const COUNTED: i64 = 10_000;

/// Counts rows, [`COUNTED`] at most; `of` is the table and its condition, as they stand in a statement.
///
/// # Errors
/// Any database error.
pub fn count_some(db: &mut Db, of: &'static str) -> QueryResult<i64> {
    let counted = prepared::<BigInt>("SELECT count(*) FROM (SELECT 1 AS one FROM ")
        .sql(of)
        .sql(" LIMIT ")
        .bind::<BigInt, _>(COUNTED)
        .sql(") AS counted");
    counted.get_result(db)
}
