use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use auth_types::UserId;
use chrono::NaiveDate;
use db_kit::Db;
use serde::Serialize;
use serde_json::{Value, json};

use super::compute::compute;
use super::queries;
use super::rows::RollupRows;
use crate::error::Error;
use crate::sync;

/// How often a comparison is repeated because the user submits meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// Compares a user's rollups with their sessions, and describes each difference in a sentence. `today` is the UTC date.
///
/// # Errors
/// When the database fails, or the user keeps submitting during the comparison.
pub(crate) fn compare(db: &mut Db, user: UserId, today: NaiveDate) -> Result<Vec<String>, Error> {
    for _ in 0..MAX_ATTEMPTS {
        let version = queries::find_version(db, user)?;
        let sessions = queries::list_submitted(db, user)?;
        let stored = queries::load_stored(db, user, today)?;
        if queries::find_version(db, user)? == version {
            let mut differences = list_differences(&stored, &compute(&sessions, today).try_into()?);
            let wrong = sessions
                .iter()
                .filter(|session| session.on_boards != session.belongs_on_boards);
            differences.extend(wrong.map(|session| {
                let not = match session.belongs_on_boards {
                    true => "not ",
                    false => "",
                };
                format!("session {} is {not}on the leaderboards", session.session_id)
            }));
            return Ok(differences);
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
    let differences = compare(db, user, today)?;
    if differences.is_empty() {
        return Ok(differences);
    }
    let sessions = queries::list_submitted(db, user)?;
    let rows = compute(&sessions, today).try_into()?;
    let version = queries::find_version(db, user)?.unwrap_or(0) + 1;
    queries::replace(db, user, version, rows)?;
    for session in &sessions {
        if session.on_boards != session.belongs_on_boards {
            queries::set_on_boards(db, &session.session_id, session.belongs_on_boards)?;
        }
    }
    Ok(differences)
}

fn list_differences(stored: &RollupRows, computed: &RollupRows) -> Vec<String> {
    let mut found = Vec::new();
    if stored.totals != computed.totals {
        let columns = describe(Some(&stored.totals), Some(&computed.totals));
        found.push(format!("totals{columns}"));
    }
    compare_rows(&mut found, "day", &stored.days, &computed.days);
    compare_rows(&mut found, "month", &stored.months, &computed.months);
    compare_rows(&mut found, "hour", &stored.hours, &computed.hours);
    compare_rows(
        &mut found,
        "category",
        &stored.categories,
        &computed.categories,
    );
    compare_rows(&mut found, "board", &stored.boards, &computed.boards);
    let missing = computed
        .badges
        .keys()
        .filter(|badge| !stored.badges.contains_key(*badge));
    found.extend(missing.map(|badge| format!("badge {badge} is missing")));
    found
}

fn compare_rows<K: Ord + Debug, V: PartialEq + Serialize>(
    found: &mut Vec<String>,
    name: &str,
    stored: &BTreeMap<K, V>,
    computed: &BTreeMap<K, V>,
) {
    let keys: BTreeSet<_> = stored.keys().chain(computed.keys()).collect();
    for key in keys {
        let (actual, expected) = (stored.get(key), computed.get(key));
        if actual != expected {
            found.push(format!("{name} {key:?}{}", describe(actual, expected)));
        }
    }
}

/// Describes how a row differs, column by column.
fn describe(actual: Option<&impl Serialize>, expected: Option<&impl Serialize>) -> String {
    match (json!(actual), json!(expected)) {
        (Value::Null, _) => " is missing".to_owned(),
        (_, Value::Null) => " should not exist".to_owned(),
        (Value::Object(actual), Value::Object(expected)) => {
            let columns = actual.iter().zip(expected.values());
            let differing = columns.filter(|((_, actual), expected)| actual != expected);
            differing
                .map(|((column, actual), expected)| format!(", {column}: {actual}, not {expected}"))
                .collect()
        }
        (actual, expected) => format!(": {actual}, not {expected}"),
    }
}
