use chrono::NaiveDateTime;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamp};

use super::wire::Flag;
use crate::rules::integrity;
use crate::sessions::model::SessionStatus;

/// A session as its user reads it. Each `.sql` file that reads such sessions, for example `history/find.sql`, lists
/// its columns in this order.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct RecordRow {
    pub(crate) session_id: String,
    pub(crate) status: SessionStatus,
    pub(crate) category: String,
    /// Minutes.
    pub(crate) planned_duration: i32,
    pub(crate) planning_note: String,
    /// `team_N`, `personal_N` or `none`.
    pub(crate) project_id: String,
    pub(crate) project_name: String,
    pub(crate) started_at: NaiveDateTime,
    pub(crate) expected_end_at: NaiveDateTime,
    /// None only while the session runs.
    pub(crate) ended_at: Option<NaiveDateTime>,
    /// As the client reported it.
    pub(crate) start_time: Option<NaiveDateTime>,
    /// As the client reported it.
    pub(crate) end_time: Option<NaiveDateTime>,
    pub(crate) submitted_at: Option<NaiveDateTime>,
    pub(crate) credited_minutes: i32,
    /// Hundredths.
    pub(crate) points_centi: i64,
    pub(crate) note: String,
    pub(crate) quality_rating: Option<i32>,
    pub(crate) tags: Tags,
    pub(crate) client: String,
    pub(crate) flags: Flags,
}

pub(crate) type RecordSql = (
    Text,
    Text,
    Text,
    Integer,
    Text,
    Text,
    Text,
    Timestamp,
    Timestamp,
    Nullable<Timestamp>,
    Nullable<Timestamp>,
    Nullable<Timestamp>,
    Nullable<Timestamp>,
    Integer,
    BigInt,
    Text,
    Nullable<Integer>,
    Text,
    Text,
    Text,
);

/// The tags of a session, stored as a JSON array.
#[derive(Debug, Clone, Default, PartialEq, Eq, FromSqlRow)]
pub(crate) struct Tags(pub(crate) Vec<String>);

/// The flags of a session in the order in which they were raised, parsed from `kind:severity:amount:state,…`.
#[derive(Debug, Clone, Default, FromSqlRow)]
pub(crate) struct Flags(pub(crate) Vec<Flag>);

impl<DB: Backend> FromSql<Text, DB> for Tags
where
    String: FromSql<Text, DB>,
{
    fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
        let text = <String as FromSql<Text, DB>>::from_sql(value)?;
        Ok(Self(serde_json::from_str(&text)?))
    }
}

impl<DB: Backend> FromSql<Text, DB> for Flags
where
    String: FromSql<Text, DB>,
{
    fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
        let text = <String as FromSql<Text, DB>>::from_sql(value)?;
        let names = text.split(',').filter(|flag| !flag.is_empty());
        let flags = names.map(|flag| {
            let [kind, severity, amount, state] = flag.split(':').collect::<Vec<_>>()[..] else {
                return Err("a flag does not have four parts".into());
            };
            Ok(Flag {
                kind: kind.to_owned(),
                severity: severity.to_owned(),
                reason: integrity::describe(kind, amount.parse()?),
                state: state.to_owned(),
            })
        });
        flags.collect::<deserialize::Result<_>>().map(Self)
    }
}
