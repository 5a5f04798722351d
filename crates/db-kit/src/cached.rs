use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// A [`diesel::sql_query`] that is prepared once a connection, and whose rows have the SQL types `R`. Its text is one of the
/// program's, such as a `.sql` file: a text that is put together at run time would fill the connection's memory.
///
/// On both databases `$1`, `$2`, … stand for the values, which first appear in this order. A statement that only SQLite runs, with
/// too many values to number by hand, has names instead: see [`bind_named`](crate::bind_named).
#[must_use]
pub fn cached<R, Q>(query: Q) -> Cached<R, Q> {
    Cached {
        query,
        rows: PhantomData,
    }
}

/// See [`cached`].
#[derive(Debug, Clone, Copy)]
pub struct Cached<R, Q> {
    query: Q,
    rows: PhantomData<R>,
}

impl<DB: Backend, R, Q: QueryFragment<DB>> QueryFragment<DB> for Cached<R, Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.query.walk_ast(out)
    }

    /// Diesel takes any text for one that was put together.
    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<R, Q> Query for Cached<R, Q> {
    type SqlType = R;
}

impl<R, Q, Conn> RunQueryDsl<Conn> for Cached<R, Q> {}

impl<R, Q> QueryId for Cached<R, Q> {
    type QueryId = ();

    /// Found by its text.
    const HAS_STATIC_QUERY_ID: bool = false;
}
