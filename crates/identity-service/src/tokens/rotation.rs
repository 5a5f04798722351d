//! New signing keys for old: by command, by age, and the end of those that nothing alive was signed with.

use chrono::{NaiveDateTime, TimeDelta};
use serde_json::json;

use super::algorithm::SigningAlgorithm;
use super::queries::{self, SigningKeyRow};
use crate::app::App;
use crate::audit::{Action, Entry};
use crate::error::Error;
use crate::origin::Origin;

/// A retired key is kept for this much longer than the last token that it can have signed lives: a
/// replica that hears late of a rotation signs with it a moment longer.
const MARGIN: TimeDelta = TimeDelta::days(1);

/// What a rotation came to, for each algorithm.
pub(crate) struct Rotation {
    pub(crate) es256: Rotated,
    /// None while there is no such key.
    pub(crate) rs256: Option<Rotated>,
}

/// What the rotation of one key came to.
pub(crate) struct Rotated {
    /// The key that signs now.
    pub(crate) kid: String,
    /// The one that did before, if there was one.
    pub(crate) retired: Option<String>,
    /// Whether somebody else rotated at the same moment, so that nothing was left to do.
    pub(crate) by_another: bool,
}

/// All keys, those of access tokens first, newest first.
pub(crate) async fn list(app: &App) -> Result<Vec<SigningKeyRow>, Error> {
    let mut keys = list_of(app, SigningAlgorithm::Es256).await?;
    keys.extend(list_of(app, SigningAlgorithm::Rs256).await?);
    Ok(keys)
}

/// Retires the signing keys and makes the next ones, each in one transaction. The current keys must open
/// here, unless `lost_key` says that they never will again: a process with another encryption key than the
/// service's would make keys that the service cannot use.
pub(crate) async fn rotate(app: &App, origin: &Origin, lost_key: bool) -> Result<Rotation, Error> {
    let es256 = rotate_one(app, SigningAlgorithm::Es256, origin, lost_key).await?;
    let rs256 = match list_of(app, SigningAlgorithm::Rs256).await?.is_empty() {
        true => None,
        false => Some(rotate_one(app, SigningAlgorithm::Rs256, origin, lost_key).await?),
    };
    Ok(Rotation { es256, rs256 })
}

/// Rotates the signing keys that are older than `age`.
pub(crate) async fn rotate_when_older(
    app: &App,
    origin: &Origin,
    age: TimeDelta,
) -> Result<Vec<Rotated>, Error> {
    let now = app.clock.now_naive();
    let old = |row: &SigningKeyRow| row.retired_at.is_none() && row.created_at + age <= now;
    let mut rotated = Vec::new();
    for algorithm in SigningAlgorithm::ALL {
        if list_of(app, algorithm).await?.iter().any(old) {
            rotated.push(rotate_one(app, algorithm, origin, false).await?);
        }
    }
    Ok(rotated)
}

async fn list_of(app: &App, algorithm: SigningAlgorithm) -> Result<Vec<SigningKeyRow>, Error> {
    app.pool
        .read(move |db| Ok::<_, Error>(queries::list_keys(db, algorithm)?))
        .await
}

async fn rotate_one(
    app: &App,
    algorithm: SigningAlgorithm,
    origin: &Origin,
    lost_key: bool,
) -> Result<Rotated, Error> {
    let rows = list_of(app, algorithm).await?;
    let current = rows.iter().find(|row| row.retired_at.is_none());
    if let Some(current) = current
        && !lost_key
        && !app.keys(algorithm).opens(current)
    {
        return Err(Error::Internal(
            "the signing key does not open with this IDENTITY__KEYS__ENCRYPTION_KEY, so the service has another one: \
             run the command with the service's configuration, or with --lost-key if that key is lost for good"
                .into(),
        ));
    }
    replace(app, algorithm, origin, &rows).await
}

async fn replace(
    app: &App,
    algorithm: SigningAlgorithm,
    origin: &Origin,
    rows: &[SigningKeyRow],
) -> Result<Rotated, Error> {
    let newest = rows.first().map_or(0, |row| row.generation);
    let signing = rows.iter().find(|row| row.retired_at.is_none());
    let retired = signing.map(|row| row.kid.clone());
    let key = app.keys(algorithm).generate().await?;
    let rotated = app
        .change(origin, move |change| {
            let now = change.now.naive_utc();
            if let Some(kid) = &retired
                && !queries::retire(change.db, kid, now)?
            {
                return Ok(None);
            }
            if !queries::insert_key(change.db, &key.row(newest + 1, now))? {
                return match retired {
                    Some(_) => Err(Error::Internal(
                        "a newer signing key is there already".into(),
                    )),
                    None => Ok(None),
                };
            }
            let details =
                json!({ "algorithm": algorithm.as_str(), "kid": key.kid, "retired": retired });
            change.audit(&Entry::new(Action::KeysRotated).details(details))?;
            change.keys_changed();
            let kid = key.kid;
            Ok(Some((kid, retired)))
        })
        .await?;
    if let Some((kid, retired)) = rotated {
        return Ok(Rotated {
            kid,
            retired,
            by_another: false,
        });
    }
    let signing = list_of(app, algorithm)
        .await?
        .into_iter()
        .find(|row| row.retired_at.is_none());
    let kid = signing.map(|row| row.kid);
    Ok(Rotated {
        kid: kid.ok_or_else(|| Error::Internal("there is no signing key".into()))?,
        retired: None,
        by_another: true,
    })
}

/// When a key may be removed; none while it signs.
pub(crate) fn gone_after(row: &SigningKeyRow) -> Option<NaiveDateTime> {
    Some(row.retired_at? + TimeDelta::seconds(row.longest_ttl_seconds) + MARGIN)
}

/// Removes the keys whose time is over; how many.
pub(crate) async fn remove_outlived(app: &App, origin: &Origin) -> Result<usize, Error> {
    let now = app.clock.now_naive();
    let mut removed = 0;
    for row in list(app).await? {
        if gone_after(&row).is_some_and(|at| at < now) && remove(app, origin, row.kid).await? {
            removed += 1;
        }
    }
    Ok(removed)
}

/// Removes a retired key, which is refused from now on in whatever it has signed; false when there is no
/// such key, or when it still signs.
pub(crate) async fn remove(app: &App, origin: &Origin, kid: String) -> Result<bool, Error> {
    app.change(origin, move |change| {
        if !queries::remove_retired(change.db, &kid)? {
            return Ok(false);
        }
        change.audit(&Entry::new(Action::KeyRemoved).details(json!({ "kid": kid })))?;
        change.keys_changed();
        Ok(true)
    })
    .await
}

/// Seals the signing keys with the current encryption key where an older one has sealed them; how many. They
/// stay the same keys, so that nobody has to read them again.
pub(crate) async fn reseal(app: &App) -> Result<usize, Error> {
    let mut resealed = 0;
    for algorithm in SigningAlgorithm::ALL {
        let mut rows = list_of(app, algorithm).await?.into_iter();
        let Some(row) = rows.find(|row| row.retired_at.is_none()) else {
            continue;
        };
        let Some(fresh) = app.keys(algorithm).reseal(&row)? else {
            continue;
        };
        let sealed = row.private_key_sealed;
        resealed += app
            .pool
            .write_one(move |db| {
                Ok::<_, Error>(queries::replace_sealed(db, &row.kid, &sealed, &fresh)?)
            })
            .await?;
    }
    Ok(resealed)
}
