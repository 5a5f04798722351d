//! Sessions that handed-over ones opened, and that end with them.

use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use db_kit::statement::{Statement, arguments};
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::{Text, Timestamp};

use crate::schema::{oauth_clients, sessions};

arguments! {
    many Endings,
    struct Ending {
        sid: String as Text,
        now: NaiveDateTime as Timestamp,
    }
}

/// 20 is `MAX_DEPTH`. On PostgreSQL `a` has one row for each ended session, all with the same time.
const END: &str = "UPDATE sessions SET revoked_at = (SELECT max(p_now) FROM a) WHERE revoked_at IS NULL AND id IN ( \
     WITH RECURSIVE below (sid, depth) AS (SELECT p_sid, 0 FROM a \
     UNION SELECT id, depth + 1 FROM below JOIN sessions ON parent_sid = sid WHERE depth < 20) \
     SELECT sid FROM below) RETURNING id";

/// Ends what descends from sessions that have ended, and returns which. Call it with the account's row locked if they
/// were handed over: then nothing opens another descendant meanwhile.
pub(crate) fn end_descendants(
    db: &mut Db,
    ended: &[String],
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let ending = |sid: &String| Ending {
        sid: sid.clone(),
        now,
    };
    let endings: Vec<Ending> = ended.iter().map(ending).collect();
    match db {
        Db::Pg(conn) => Statement::<_, Text>::new(|| END, &Endings::of(&endings)).load(conn),
        Db::Sqlite(conn) => {
            let mut below = Vec::new();
            for ending in &endings {
                below.extend(Statement::<_, Text>::new(|| END, ending).load::<String>(conn)?);
            }
            Ok(below)
        }
    }
}

arguments! {
    struct Opener {
        sid: String as Text,
    }
}

/// 20 is `MAX_DEPTH`.
const ANCESTORS: &str = "SELECT sid, ends FROM ( \
     WITH RECURSIVE ancestors (sid, ends, parent, kind, depth) AS ( \
     SELECT id, expires_at, parent_sid, kind, 0 FROM sessions JOIN a ON id = p_sid \
     UNION SELECT id, expires_at, parent_sid, sessions.kind, depth + 1 FROM sessions JOIN ancestors ON id = parent WHERE depth < 20) \
     SELECT * FROM ancestors) AS ancestors WHERE kind = 'sso' OR parent IS NOT NULL ORDER BY depth";

/// The handed-over sessions that a session is one of, or descends from, with their ends; nearest first. None for
/// a sign-in at the product itself.
pub(crate) fn list_ancestors(db: &mut Db, sid: &str) -> QueryResult<Vec<(String, NaiveDateTime)>> {
    let of = Opener {
        sid: sid.to_owned(),
    };
    Statement::<_, (Text, Timestamp)>::new(|| ANCESTORS, &of).load(db)
}

/// The OAuth clients, first-party ones apart, that had one of these ended sessions and have none of the account any
/// more that may make hooks.
pub(crate) fn list_shut_out(
    db: &mut Db,
    user_id: UserId,
    ended: &[String],
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let others = diesel::alias!(sessions as others);
    let another = others
        .filter(others.field(sessions::user_id).eq(user_id))
        .filter(others.field(sessions::client_id).eq(sessions::client_id))
        // What every hook takes. No other scope has one of these names in it.
        .filter(others.field(sessions::scope).like("%sessions:read%"))
        .filter(others.field(sessions::scope).like("%integrations:write%"))
        .filter(others.field(sessions::revoked_at).is_null())
        .filter(others.field(sessions::expires_at).gt(now))
        .filter(others.field(sessions::refresh_expires_at).gt(now));
    let own = oauth_clients::table
        .filter(oauth_clients::id.nullable().eq(sessions::client_id))
        .filter(oauth_clients::is_first_party.eq(true));
    sessions::table
        .filter(sessions::id.eq_any(ended))
        .filter(not(exists(another)))
        .filter(not(exists(own)))
        .filter(sessions::client_id.is_not_null())
        .select(sessions::client_id.assume_not_null())
        .distinct()
        .order(sessions::client_id)
        .load(db)
}
