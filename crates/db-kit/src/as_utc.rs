use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};

/// A timestamp column, which holds UTC, as a [`DateTime<Utc>`], or a nullable one as an [`Option`] of it:
/// `#[diesel(deserialize_as = AsUtc<NaiveDateTime>)]`. This way a row can be a response body as it is.
#[derive(Debug, FromSqlRow)]
pub struct AsUtc<T>(T);

impl<T: FromSql<ST, DB>, ST, DB: Backend> FromSql<ST, DB> for AsUtc<T> {
    fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
        T::from_sql(value).map(Self)
    }

    fn from_nullable_sql(value: Option<DB::RawValue<'_>>) -> deserialize::Result<Self> {
        T::from_nullable_sql(value).map(Self)
    }
}

impl From<AsUtc<NaiveDateTime>> for DateTime<Utc> {
    fn from(AsUtc(at): AsUtc<NaiveDateTime>) -> Self {
        at.and_utc()
    }
}

impl From<AsUtc<Option<NaiveDateTime>>> for Option<DateTime<Utc>> {
    fn from(AsUtc(at): AsUtc<Option<NaiveDateTime>>) -> Self {
        at.map(|at| at.and_utc())
    }
}
