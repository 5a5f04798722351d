//! Statements kept as text, with their values in between, that are prepared once a connection. What `diesel::sql_query`
//! or `diesel::dsl::sql` is part of is prepared anew each time, at the price of parsing it and of a round trip.

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::HasSqlType;

use crate::statement::Text;

/// The beginning of a statement whose rows have the SQL types `R`; of one that gives none, any. One that is `|| TEXT` and
/// nothing else is found by the closure's type, once it is prepared.
#[must_use]
pub fn prepared<R>(text: impl Text) -> Prepared<R, Nothing, impl Text> {
    Prepared {
        before: Nothing,
        text,
        rows: PhantomData,
    }
}

/// Nothing stands before the first text.
#[derive(Debug, Clone, Copy)]
pub struct Nothing;

/// A statement that ends with text.
#[derive(Debug, Clone, Copy)]
pub struct Prepared<R, Before, T = &'static str> {
    before: Before,
    text: T,
    rows: PhantomData<R>,
}

/// A statement that ends with a value of the SQL type `T`.
#[derive(Debug, Clone, Copy)]
pub struct Bound<R, Before, T, V> {
    before: Before,
    value: V,
    types: PhantomData<(R, T)>,
}

impl<R, Before, X> Prepared<R, Before, X> {
    /// A value behind it.
    pub fn bind<T, V>(self, value: V) -> Bound<R, Self, T, V> {
        Bound {
            before: self,
            value,
            types: PhantomData,
        }
    }

    /// More text behind it.
    pub fn sql(self, text: &'static str) -> Prepared<R, Self> {
        Prepared {
            before: self,
            text,
            rows: PhantomData,
        }
    }
}

impl<R, Before, T, V> Bound<R, Before, T, V> {
    /// Text behind it.
    pub fn sql(self, text: &'static str) -> Prepared<R, Self> {
        Prepared {
            before: self,
            text,
            rows: PhantomData,
        }
    }
}

impl<DB: Backend> QueryFragment<DB> for Nothing {
    fn walk_ast<'b>(&'b self, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB, R, Before, T> QueryFragment<DB> for Prepared<R, Before, T>
where
    DB: Backend,
    Before: QueryFragment<DB>,
    T: Text,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.before.walk_ast(out.reborrow())?;
        out.push_sql(self.text.text());
        Ok(())
    }
}

impl<DB, R, Before, T, V> QueryFragment<DB> for Bound<R, Before, T, V>
where
    DB: Backend + HasSqlType<T>,
    Before: QueryFragment<DB>,
    V: ToSql<T, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.before.walk_ast(out.reborrow())?;
        out.push_bind_param(&self.value)
    }
}

impl<R, Before, T> Query for Prepared<R, Before, T> {
    type SqlType = R;
}

impl<R, Before, T, Conn> RunQueryDsl<Conn> for Prepared<R, Before, T> {}

impl<R, Before, T: Text> QueryId for Prepared<R, Before, T> {
    type QueryId = T::Key;

    /// Never of one with a value in it: behind that stands text that says nothing of what stands before it.
    const HAS_STATIC_QUERY_ID: bool = T::HAS_KEY;
}
