use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Timestamp};

use db_kit::statement::{Statement, arguments};

arguments! {
    struct HeedArguments {
        team_id: i64 as BigInt,
        told_at: NaiveDateTime as Timestamp,
        deleted: bool as Bool,
    }
}

/// Records the word about a team; false when it is older than the last one, or the team is gone: that is
/// the last word, whatever its time says. Who comes at the same time with another word waits for this
/// transaction.
pub(super) fn heed(
    db: &mut Db,
    team: TeamId,
    told_at: NaiveDateTime,
    deleted: bool,
) -> QueryResult<bool> {
    const TEXT: &str = "INSERT INTO teams AS t (team_id, told_at, deleted) \
        SELECT p_team_id, p_told_at, p_deleted FROM a WHERE true \
        ON CONFLICT (team_id) DO UPDATE SET told_at = excluded.told_at, deleted = excluded.deleted \
        WHERE NOT t.deleted AND (excluded.deleted OR t.told_at <= excluded.told_at)";
    let arguments = HeedArguments {
        team_id: team.get(),
        told_at,
        deleted,
    };
    let heeded = Statement::<_, ()>::new(|| TEXT, &arguments).execute(db)?;
    Ok(heeded == 1)
}
