use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// Makes a [`diesel::sql_query`] that each connection prepares once, with rows of the SQL types `R`. The text is part of the
/// program, such as a `.sql` file: texts assembled at run time would fill the connection's statement cache.
///
/// On both databases, the placeholders `$1`, `$2`, … first appear in this order. A statement for SQLite only, with too many
/// values to number by hand, uses names instead: see [`bind_named`](crate::bind_named).
#[must_use]
pub fn cached<R, Q>(query: Q) -> Cached<R, Q> {
    Cached {
        query,
        rows: PhantomData,
    }
}

/// A query that each connection prepares once; see [`cached`].
#[derive(Debug, Clone, Copy)]
pub struct Cached<R, Q> {
    query: Q,
    rows: PhantomData<R>,
}

impl<DB: Backend, R, Q: QueryFragment<DB>> QueryFragment<DB> for Cached<R, Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.query.walk_ast(out)
    }

    /// Returns true, because the text is static. Diesel assumes that every SQL text is assembled at run time.
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

    /// The statement cache finds the query by its text.
    const HAS_STATIC_QUERY_ID: bool = false;
}
