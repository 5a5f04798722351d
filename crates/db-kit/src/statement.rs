//! Statements kept as text, for what Diesel's builder cannot say: data-modifying CTEs, which do in one
//! round trip what would take a dozen, and the conflict clauses inside them.
//!
//! The arguments are the columns of a one-row table `a`, each named `p_` and the field, so that one text
//! serves both databases, no argument is written twice, and none is ambiguous beside a column. A text
//! is prepared once a connection, as Diesel's own queries are.
//!
//! On PostgreSQL `a` may have several rows, so that one statement does for many users what it does for one.

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sqlite::Sqlite;

/// What a statement is called with; made by [`arguments!`](crate::arguments).
pub trait Arguments<DB: Backend> {
    /// Writes the rows of `a`: `SELECT ? AS p_field, …`.
    fn bind<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// Arguments for many statements of SQLite's: to be given once, as the row of a table that only one connection sees. Giving
/// each statement the same half hundred costs more than what most of them do.
pub trait Keep: Arguments<Sqlite> {
    /// Makes the table, if it is not there.
    const MAKE: &'static str;
    /// Puts the row into it, in place of the one before.
    const FILL: &'static str;
    /// The row, as arguments.
    const KEPT: Kept;
}

/// The row of a [`Keep`].
#[derive(Debug, Clone, Copy)]
pub struct Kept(pub &'static str);

impl Arguments<Sqlite> for Kept {
    fn bind<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

/// Declares a struct of arguments: `field: RustType as SqlType`. With `many Rows` before it also `Rows`, of which each is
/// a row of `a`, with `nth` counted from 1.
#[macro_export]
macro_rules! arguments {
    (many $rows:ident, $(#[$meta:meta])* $visibility:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty as $sql:ty,)+
    }) => {
        $crate::arguments! {
            $(#[$meta])* $visibility struct $name {
                $($(#[$field_meta])* $field: $type as $sql,)+
            }
        }

        impl $crate::statement::Keep for $name {
            const MAKE: &'static str = concat!(
                "CREATE TEMP TABLE IF NOT EXISTS ", stringify!($rows), " (",
                $("p_", stringify!($field), ", ",)+ "kept INTEGER PRIMARY KEY)"
            );
            const FILL: &'static str = concat!("REPLACE INTO ", stringify!($rows), " SELECT *, 1 FROM a");
            const KEPT: $crate::statement::Kept =
                $crate::statement::Kept(concat!("SELECT * FROM ", stringify!($rows)));
        }

        struct $rows<'a> {
            $($field: Vec<&'a $type>,)+
        }

        impl<'a> $rows<'a> {
            fn of(rows: &'a [$name]) -> Self {
                Self { $($field: rows.iter().map(|row| &row.$field).collect(),)+ }
            }
        }

        impl $crate::statement::Arguments<::diesel::pg::Pg> for $rows<'_> {
            /// The arrays come as columns of a table: how many rows there are is nothing then that a plan is made for, and
            /// one plan serves all.
            fn bind<'b>(
                &'b self,
                mut out: ::diesel::query_builder::AstPass<'_, 'b, ::diesel::pg::Pg>,
            ) -> ::diesel::QueryResult<()> {
                let mut separator = "SELECT a.* FROM (SELECT ";
                $(
                    out.push_sql(separator);
                    out.push_bind_param::<::diesel::sql_types::Array<$sql>, _>(&self.$field)?;
                    out.push_sql(concat!(" AS ", stringify!($field)));
                    separator = ", ";
                )+
                separator = " OFFSET 0) AS arrays CROSS JOIN LATERAL unnest(";
                $(
                    out.push_sql(separator);
                    out.push_sql(concat!("arrays.", stringify!($field)));
                    separator = ", ";
                )+
                separator = ") WITH ORDINALITY AS a (";
                $(
                    out.push_sql(separator);
                    out.push_sql(concat!("p_", stringify!($field)));
                    separator = ", ";
                )+
                out.push_sql(separator);
                out.push_sql("nth)");
                Ok(())
            }
        }
    };
    ($(#[$meta:meta])* $visibility:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty as $sql:ty,)+
    }) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $visibility $field: $type,)+
        }

        $crate::arguments!(@bind $name, ::diesel::pg::Pg, $($field as $sql),+);
        $crate::arguments!(@bind $name, ::diesel::sqlite::Sqlite, $($field as $sql),+);
    };
    (@bind $name:ident, $backend:ty, $($field:ident as $sql:ty),+) => {
        impl $crate::statement::Arguments<$backend> for $name {
            fn bind<'b>(
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
        }
    };
}
pub use crate::arguments;

/// A text with its arguments; `R` is the tuple of the SQL types of its rows.
pub struct Statement<'a, A, R> {
    arguments: &'a A,
    /// What follows `WITH a AS (SELECT …)`: `, more AS (…) SELECT …` or one statement.
    text: &'static str,
    rows: PhantomData<R>,
}

impl<'a, A, R> Statement<'a, A, R> {
    /// The statement; run it with `on_backend!`, or on the connection that its text is for.
    #[must_use]
    pub fn new(text: &'static str, arguments: &'a A) -> Self {
        Self {
            arguments,
            text,
            rows: PhantomData,
        }
    }
}

impl<DB: Backend, A: Arguments<DB>, R> QueryFragment<DB> for Statement<'_, A, R> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("WITH a AS (");
        self.arguments.bind(out.reborrow())?;
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
