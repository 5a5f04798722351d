use std::collections::HashMap;

use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime};
use db_kit::{Batcher, Db, DbError};

use crate::preferences::{self, PreferencesRow};
use crate::rollups::{self, UserTotals};
use crate::rules::time::{Periods, local_moment};

/// Coalesces the reads of concurrent callers: a user, and the time of the request (UTC).
pub(crate) type UserDataBatcher = Batcher<(UserId, NaiveDateTime), LoadedUserData>;

/// What is loaded for a user.
pub(crate) struct LoadedUserData {
    pub(super) settings: PreferencesRow,
    pub(super) totals: UserTotals,
    /// The local date of the request.
    pub(super) today: NaiveDate,
    /// The time of the request (UTC).
    pub(super) now: NaiveDateTime,
}

/// Reads the data of several users at once, in their order.
pub(crate) fn load(
    db: &mut Db,
    requests: &[(UserId, NaiveDateTime)],
) -> Result<Vec<LoadedUserData>, DbError> {
    let users: Vec<UserId> = requests.iter().map(|(user, _)| *user).collect();
    let stored: HashMap<UserId, PreferencesRow> =
        preferences::list(db, &users)?.into_iter().collect();
    let settings = users
        .iter()
        .map(|user| stored.get(user).cloned().unwrap_or_default());
    let settings: Vec<PreferencesRow> = settings.collect();
    let periods: Vec<(UserId, Periods)> = requests
        .iter()
        .zip(&settings)
        .map(|((user, now), settings)| (*user, Periods::new(local_moment(*now, settings.tz()).day)))
        .collect();
    let totals = rollups::list_totals(db, &periods)?;
    let times = requests.iter().zip(periods);
    let loaded = settings.into_iter().zip(totals).zip(times);
    let loaded = loaded.map(
        |((settings, totals), ((_, now), (_, periods)))| LoadedUserData {
            settings,
            totals,
            today: periods.today,
            now: *now,
        },
    );
    Ok(loaded.collect())
}
