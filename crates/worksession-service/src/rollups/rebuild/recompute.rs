use auth_types::UserId;
use chrono::NaiveDate;
use db_kit::Db;

use super::queries;
use super::rows::RollupRows;
use super::tally::tally;
use crate::error::Error;
use crate::sync;

/// How often a comparison is repeated because the user submits meanwhile.
const LOOKS: usize = 8;

/// Compares a user's rollups with their sessions, and describes each difference in a sentence. `today` is the UTC date.
///
/// # Errors
/// When the database fails, or the user keeps submitting during the comparison.
pub(crate) fn look(db: &mut Db, user: UserId, today: NaiveDate) -> Result<Vec<String>, Error> {
    for _ in 0..LOOKS {
        let version = queries::version(db, user)?;
        let sessions = queries::worked(db, user)?;
        let stored = queries::stored(db, user, today)?;
        if queries::version(db, user)? == version {
            let mut found = differences(&stored, &tally(&sessions, today).try_into()?);
            let wrong = sessions
                .iter()
                .filter(|session| session.on_boards != session.belongs_on_boards);
            found.extend(wrong.map(|session| {
                let not = if session.belongs_on_boards {
                    "not "
                } else {
                    ""
                };
                format!("session {} is {not}on the leaderboards", session.session_id)
            }));
            return Ok(found);
        }
    }
    Err(Error::internal(format!("user {user} submits continuously")))
}

/// Rebuilds the user's rollups in a write transaction, and describes what was different. Existing badges stay.
///
/// # Errors
/// When the database fails.
pub(crate) fn rebuild(db: &mut Db, user: UserId, today: NaiveDate) -> Result<Vec<String>, Error> {
    // This takes the user's lock: no submit commits from here on.
    sync::bump(db, user)?;
    let found = look(db, user, today)?;
    if found.is_empty() {
        return Ok(found);
    }
    let sessions = queries::worked(db, user)?;
    let rows = tally(&sessions, today).try_into()?;
    let version = queries::version(db, user)?.unwrap_or(0) + 1;
    queries::replace(db, user, version, rows)?;
    for session in &sessions {
        if session.on_boards != session.belongs_on_boards {
            queries::set_on_boards(db, &session.session_id, session.belongs_on_boards)?;
        }
    }
    Ok(found)
}

fn differences(stored: &RollupRows, told: &RollupRows) -> Vec<String> {
    let mut found = Vec::new();
    if stored.totals != told.totals {
        found.push(format!(
            "totals: {:?}, not {:?}",
            stored.totals, told.totals
        ));
    }
    parts(&mut found, "day", &stored.days, &told.days);
    parts(&mut found, "month", &stored.months, &told.months);
    parts(&mut found, "hour", &stored.hours, &told.hours);
    parts(&mut found, "category", &stored.categories, &told.categories);
    parts(&mut found, "board", &stored.boards, &told.boards);
    let missing = told
        .badges
        .keys()
        .filter(|badge| !stored.badges.contains_key(*badge));
    found.extend(missing.map(|badge| format!("badge {badge} is missing")));
    found
}

fn parts<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    found: &mut Vec<String>,
    name: &str,
    stored: &std::collections::BTreeMap<K, V>,
    told: &std::collections::BTreeMap<K, V>,
) {
    let keys: std::collections::BTreeSet<_> = stored.keys().chain(told.keys()).collect();
    for key in keys {
        match (stored.get(key), told.get(key)) {
            (Some(has), Some(should)) if has == should => {}
            (Some(has), Some(should)) => {
                found.push(format!("{name} {key:?}: {has:?}, not {should:?}"))
            }
            (Some(has), None) => {
                found.push(format!("{name} {key:?}: {has:?}, but should not exist"))
            }
            (None, should) => found.push(format!("{name} {key:?} is missing: {should:?}")),
        }
    }
}
