use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Timestamp};

/// Records the state of a team. Returns false if a newer state is recorded, or the team is deleted, which is final whatever
/// the time of the event. A concurrent transaction about the same team waits for this one.
pub(super) fn record_team(
    db: &mut Db,
    team: TeamId,
    changed_at: NaiveDateTime,
    deleted: bool,
) -> QueryResult<bool> {
    let upsert = statement::<()>(
        "INSERT INTO teams AS t (team_id, told_at, deleted) VALUES ($1, $2, $3) \
         ON CONFLICT (team_id) DO UPDATE SET told_at = excluded.told_at, deleted = excluded.deleted \
         WHERE NOT t.deleted AND (excluded.deleted OR t.told_at <= excluded.told_at)",
    )
    .bind::<BigInt, _>(team)
    .bind::<Timestamp, _>(changed_at)
    .bind::<Bool, _>(deleted);
    let stored = upsert.execute(db)?;
    Ok(stored == 1)
}
