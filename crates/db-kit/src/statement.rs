//! Statements kept as text, for what Diesel's builder cannot say: data-modifying CTEs, which do in one
//! round trip what would take a dozen, and the conflict clauses inside them.
//!
//! The arguments are the columns of a one-row table `a`, each named `p_` and the field, so that one text
//! serves both databases, no argument is written twice, and none is ambiguous beside a column. A text
//! is prepared once a connection, as Diesel's own queries are: one that is given as a closure is found by the closure's type,
//! which no other has, and any other by itself, once all of it was put together.
//!
//! On PostgreSQL `a` may have several rows, so that one statement does for many users what it does for one.

use std::any::Any;
use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// What a statement is called with; made by [`arguments!`](crate::arguments).
pub trait Arguments<DB: Backend> {
    /// Writes the rows of `a`: `SELECT ? AS p_field, …`.
    fn bind<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
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
        $crate::arguments!(@bind $name, $crate::DbBackend, $($field as $sql),+);
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

/// The text of a statement.
pub trait Text {
    /// What its prepared statement is found by, where there is one.
    type Key: Any;
    /// Whether there is.
    const HAS_KEY: bool;

    /// It. Of a [`Statement`] what follows `WITH a AS (SELECT …)`: `, more AS (…) SELECT …` or one statement.
    fn text(&self) -> &'static str;
}

/// `|| TEXT`: always the same text, with arguments of always the same type. One that reads what may change
/// would find a statement that is not its own.
impl<F: Fn() -> &'static str + 'static> Text for F {
    type Key = F;
    const HAS_KEY: bool = true;

    fn text(&self) -> &'static str {
        const { assert!(size_of::<F>() == 0, "a closure over a value has many texts") };
        self()
    }
}

/// One of several texts.
impl Text for &'static str {
    type Key = ();
    const HAS_KEY: bool = false;

    fn text(&self) -> &'static str {
        self
    }
}

/// A text with its arguments; `R` is the tuple of the SQL types of its rows.
pub struct Statement<'a, A, R, T = &'static str> {
    arguments: &'a A,
    text: T,
    rows: PhantomData<R>,
}

impl<'a, A, R> Statement<'a, A, R> {
    /// The statement; run it with `on_backend!`, or on the connection that its text is for.
    #[must_use]
    pub fn new<T: Text>(text: T, arguments: &'a A) -> Statement<'a, A, R, T> {
        Statement {
            arguments,
            text,
            rows: PhantomData,
        }
    }
}

impl<DB: Backend, A: Arguments<DB>, R, T: Text> QueryFragment<DB> for Statement<'_, A, R, T> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("WITH a AS (");
        self.arguments.bind(out.reborrow())?;
        out.push_sql(") ");
        out.push_sql(self.text.text());
        Ok(())
    }
}

impl<A, R, T> Query for Statement<'_, A, R, T> {
    type SqlType = R;
}

impl<A, R, T, Conn> RunQueryDsl<Conn> for Statement<'_, A, R, T> {}

impl<A, R, T: Text> QueryId for Statement<'_, A, R, T> {
    type QueryId = T::Key;

    const HAS_STATIC_QUERY_ID: bool = T::HAS_KEY;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use diesel::sql_types::BigInt;
    use diesel::sqlite::SqliteConnection;

    use super::*;

    arguments! {
        struct One {
            n: i64 as BigInt,
        }
    }

    fn id<Q: QueryId>(_: &Q) -> Option<std::any::TypeId> {
        Q::query_id()
    }

    #[test]
    fn a_text_that_is_prepared_is_found_by_its_closure() {
        let mut conn = SqliteConnection::establish(":memory:").unwrap();
        for n in 1..4 {
            let of = One { n };
            let same = Statement::<_, BigInt>::new(|| "SELECT p_n FROM a", &of);
            let next = Statement::<_, BigInt>::new(|| "SELECT p_n + 1 FROM a", &of);
            let negated = Statement::<_, BigInt>::new("SELECT -p_n FROM a", &of);
            assert!(id(&same).is_some() && id(&next).is_some() && id(&same) != id(&next));
            assert_eq!(id(&negated), None);
            assert_eq!(same.get_result::<i64>(&mut conn).unwrap(), n);
            assert_eq!(next.get_result::<i64>(&mut conn).unwrap(), n + 1);
            assert_eq!(negated.get_result::<i64>(&mut conn).unwrap(), -n);
        }
    }
}
