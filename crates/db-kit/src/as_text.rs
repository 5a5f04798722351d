//! Dates and moments as arguments of statements.

use chrono::{NaiveDate, NaiveDateTime};
use diesel::pg::Pg;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{Date, Timestamp};
use diesel::sqlite::Sqlite;

/// A date or a moment (UTC) where a statement is called often. SQLite keeps them as text, for which Diesel reads chrono's
/// format (`%F %T%.f`) anew each time; chrono itself knows the same text by heart. On PostgreSQL it makes no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsText<T>(pub T);

impl ToSql<Date, Sqlite> for AsText<NaiveDate> {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.to_string());
        Ok(IsNull::No)
    }
}

impl ToSql<Timestamp, Sqlite> for AsText<NaiveDateTime> {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.to_string());
        Ok(IsNull::No)
    }
}

impl ToSql<Date, Pg> for AsText<NaiveDate> {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<Date, Pg>::to_sql(&self.0, out)
    }
}

impl ToSql<Timestamp, Pg> for AsText<NaiveDateTime> {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<Timestamp, Pg>::to_sql(&self.0, out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use chrono::DateTime;
    use diesel::prelude::*;
    use diesel::sql_types::Text;
    use diesel::sqlite::SqliteConnection;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is compared in SQLite's tables was written in both ways.
        #[test]
        fn a_moment_and_its_day_have_the_text_that_diesel_gives_them(
            seconds in -200_000_000_000_i64..400_000_000_000,
            nanos in prop_oneof![Just(0), (0_u32..1_000).prop_map(|n| n * 1_000_000), (0_u32..1_000_000).prop_map(|n| n * 1_000), 0_u32..1_000_000_000, 1_000_000_000_u32..2_000_000_000],
        ) {
            use crate::prepared;
            let mut conn = SqliteConnection::establish(":memory:").unwrap();
            // A leap second is the sixtieth of its minute.
            let seconds = if nanos < 1_000_000_000 { seconds } else { seconds - seconds.rem_euclid(60) + 59 };
            let at = DateTime::from_timestamp(seconds, nanos).unwrap().naive_utc();
            let texts: (String, String, String, String) = prepared::<(Text, Text, Text, Text)>("SELECT ")
                .bind::<Timestamp, _>(AsText(at))
                .sql(", ")
                .bind::<Timestamp, _>(at)
                .sql(", ")
                .bind::<Date, _>(AsText(at.date()))
                .sql(", ")
                .bind::<Date, _>(at.date())
                .sql(" AS day")
                .get_result(&mut conn)
                .unwrap();
            prop_assert_eq!(texts.0, texts.1);
            prop_assert_eq!(texts.2, texts.3);
        }
    }
}
