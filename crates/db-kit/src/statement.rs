use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::HasSqlType;

/// Makes a SQL statement that each connection prepares once, with rows of the SQL types `R`. The text is part of the program,
/// such as a `.sql` file: texts assembled at run time would fill the connection's statement cache. Diesel assumes that the text of
/// a [`diesel::sql_query`] is assembled at run time, and prepares it at each call.
///
/// On both databases, the placeholders `$1`, `$2`, … first appear in this order. A statement for SQLite only, with too many
/// values to number by hand, uses names instead: see [`bind_named`](crate::bind_named).
#[must_use]
pub fn statement<R>(text: &'static str) -> Statement<R, ()> {
    Statement::new(text, ())
}

/// A statement that each connection prepares once; see [`statement`].
#[derive(Debug, Clone, Copy)]
pub struct Statement<R, V> {
    text: &'static str,
    values: V,
    rows: PhantomData<R>,
}

impl<R, V> Statement<R, V> {
    pub(crate) fn new(text: &'static str, values: V) -> Self {
        Self {
            text,
            values,
            rows: PhantomData,
        }
    }

    /// Binds a value of the SQL type `T` to the next placeholder.
    #[must_use]
    pub fn bind<T, U>(self, value: U) -> Statement<R, Bound<V, T, U>> {
        let values = Bound {
            before: self.values,
            value,
            sql_type: PhantomData,
        };
        Statement::new(self.text, values)
    }
}

impl<DB: Backend, R, V: QueryFragment<DB>> QueryFragment<DB> for Statement<R, V> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(self.text);
        self.values.walk_ast(out)
    }
}

impl<R, V> Query for Statement<R, V> {
    type SqlType = R;
}

impl<R, V, Conn> RunQueryDsl<Conn> for Statement<R, V> {}

impl<R, V> QueryId for Statement<R, V> {
    type QueryId = ();

    /// The statement cache finds the statement by its text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// A bound value and those before it.
#[derive(Debug, Clone, Copy)]
pub struct Bound<V, T, U> {
    before: V,
    value: U,
    sql_type: PhantomData<T>,
}

impl<DB, V, T, U> QueryFragment<DB> for Bound<V, T, U>
where
    DB: Backend + HasSqlType<T>,
    V: QueryFragment<DB>,
    U: ToSql<T, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.before.walk_ast(out.reborrow())?;
        out.push_bind_param_value_only::<T, U>(&self.value)
    }
}
