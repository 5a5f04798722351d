//! Statements kept as text, for what Diesel's builder cannot say: data-modifying CTEs, which do in one
//! round trip what would take a dozen, and the conflict clauses inside them.
//!
//! The arguments are the columns of a one-row table `a`, each named `p_` and the field, so that one text
//! serves both databases, no argument is written twice, and none is ambiguous beside a column. A text
//! is prepared once a connection, as Diesel's own queries are.

use std::marker::PhantomData;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sqlite::Sqlite;

/// What a statement is called with; made by [`arguments!`].
pub(crate) trait Arguments {
    /// Writes `SELECT ? AS p_field, …` for PostgreSQL.
    fn bind_pg<'b>(&'b self, out: AstPass<'_, 'b, Pg>) -> QueryResult<()>;
    /// Writes `SELECT ? AS p_field, …` for SQLite.
    fn bind_sqlite<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()>;
}

/// Declares a struct of arguments: `field: RustType as SqlType`.
macro_rules! arguments {
    ($(#[$meta:meta])* $visibility:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty as $sql:ty,)+
    }) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $visibility $field: $type,)+
        }

        impl $crate::statement::Arguments for $name {
            $crate::statement::arguments!(@bind bind_pg, ::diesel::pg::Pg, $($field as $sql),+);
            $crate::statement::arguments!(@bind bind_sqlite, ::diesel::sqlite::Sqlite, $($field as $sql),+);
        }
    };
    (@bind $method:ident, $backend:ty, $($field:ident as $sql:ty),+) => {
        fn $method<'b>(
            &'b self,
            mut out: ::diesel::query_builder::AstPass<'_, 'b, $backend>,
        ) -> ::diesel::QueryResult<()> {
            let mut separator = "SELECT ";
            $(
                out.push_sql(separator);
                out.push_bind_param::<$sql, _>(&self.$field)?;
                out.push_sql(concat!(" AS p_", stringify!($field)));
                separator = ", ";
            )+
            let _ = separator;
            Ok(())
        }
    };
}
pub(crate) use arguments;

/// A text with its arguments; `R` is the tuple of the SQL types of its rows.
pub(crate) struct Statement<'a, A, R> {
    arguments: &'a A,
    /// What follows `WITH a AS (SELECT …)`: `, more AS (…) SELECT …` or one statement.
    text: &'static str,
    rows: PhantomData<R>,
}

impl<'a, A, R> Statement<'a, A, R> {
    /// The statement; run it with `on_backend!`, or on the connection that its text is for.
    pub(crate) fn new(text: &'static str, arguments: &'a A) -> Self {
        Self {
            arguments,
            text,
            rows: PhantomData,
        }
    }
}

impl<A: Arguments, R> QueryFragment<Pg> for Statement<'_, A, R> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH a AS (");
        self.arguments.bind_pg(out.reborrow())?;
        out.push_sql(") ");
        out.push_sql(self.text);
        Ok(())
    }
}

impl<A: Arguments, R> QueryFragment<Sqlite> for Statement<'_, A, R> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("WITH a AS (");
        self.arguments.bind_sqlite(out.reborrow())?;
        out.push_sql(") ");
        out.push_sql(self.text);
        Ok(())
    }
}

impl<A, R> Query for Statement<'_, A, R> {
    type SqlType = R;
}

impl<A, R, Conn> RunQueryDsl<Conn> for Statement<'_, A, R> {}

impl<A, R> QueryId for Statement<'_, A, R> {
    type QueryId = ();

    // One type has many texts: the text itself is the key of the prepared statement.
    const HAS_STATIC_QUERY_ID: bool = false;
}
