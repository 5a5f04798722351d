use chrono::{DateTime, Utc};
use db_kit::{Db, Pool};

use super::model::{FlagEntry, FlagFilter, FlagState};
use super::queries;
use crate::error::Error;
use crate::rollups::rebuild;
use crate::sync;

/// Lists the flags that match the filter, newest first.
pub(crate) async fn list(pool: &Pool, filter: FlagFilter) -> Result<Vec<FlagEntry>, Error> {
    pool.read(move |db| Ok(queries::list(db, &filter)?)).await
}

/// Clears or upholds a flag, and updates the leaderboards; none if there is no such flag. A decision can be revised.
pub(crate) async fn decide(
    pool: &Pool,
    id: i64,
    state: FlagState,
    decision: String,
    now: DateTime<Utc>,
) -> Result<Option<FlagEntry>, Error> {
    let work = move |db: &mut Db| {
        let Some(flag) = queries::find(db, id)? else {
            return Ok(None);
        };
        // From here on no other transaction changes the user's data.
        let seq = sync::bump(db, flag.user_id)?;
        queries::decide(db, &flag, state, &decision, seq, now.naive_utc())?;
        rebuild::rebuild(db, flag.user_id, now.date_naive())?;
        Ok::<_, Error>(queries::find(db, id)?)
    };
    pool.write_tx(work).await
}
