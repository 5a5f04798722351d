use std::collections::HashMap;

use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Batcher, Db, DbError};

use crate::preferences::{self, PreferencesRow};
use crate::rollups::{self, UserTotals};
use crate::rules::time::{Periods, local_moment};

/// Coalesces the reads of concurrent callers: a user, and the time of the request (UTC).
pub(crate) type UserDataBatcher = Batcher<(UserId, NaiveDateTime), LoadedUserData>;

/// What is loaded for a user, with their current periods.
pub(crate) struct LoadedUserData {
    pub(super) settings: PreferencesRow,
    pub(super) totals: UserTotals,
    pub(super) periods: Periods,
}

/// Reads the data of several users at once, in their order.
pub(crate) fn read(
    db: &mut Db,
    asked: &[(UserId, NaiveDateTime)],
) -> Result<Vec<LoadedUserData>, DbError> {
    let users: Vec<UserId> = asked.iter().map(|(user, _)| *user).collect();
    let known: HashMap<UserId, PreferencesRow> =
        preferences::list(db, &users)?.into_iter().collect();
    let settings = users
        .iter()
        .map(|user| known.get(user).cloned().unwrap_or_default());
    let settings: Vec<PreferencesRow> = settings.collect();
    let of: Vec<(UserId, Periods)> = asked
        .iter()
        .zip(&settings)
        .map(|((user, now), settings)| (*user, Periods::of(local_moment(*now, settings.tz()).day)))
        .collect();
    let totals = rollups::user_totals(db, &of)?;
    let found = settings.into_iter().zip(totals).zip(of);
    let found = found.map(|((settings, totals), (_, periods))| LoadedUserData {
        settings,
        totals,
        periods,
    });
    Ok(found.collect())
}
