//! New signing keys for old: by command, by age, and the end of those that nothing alive was signed with.

use chrono::{NaiveDateTime, TimeDelta};
use serde_json::json;

use super::keys::ALGORITHM;
use super::queries::{self, SigningKeyRow};
use crate::app::App;
use crate::audit::{Action, Entry};
use crate::error::Error;
use crate::origin::Origin;

/// A retired key is kept for this much longer than the last token that it can have signed lives: a
/// replica that hears late of a rotation signs with it a moment longer.
const MARGIN: TimeDelta = TimeDelta::days(1);

/// What a rotation came to.
pub(crate) struct Rotated {
    /// The key that signs now.
    pub(crate) kid: String,
    /// The one that did before, if there was one.
    pub(crate) retired: Option<String>,
    /// Whether somebody else rotated at the same moment, so that nothing was left to do.
    pub(crate) by_another: bool,
}

/// All keys, newest first.
pub(crate) async fn list(app: &App) -> Result<Vec<SigningKeyRow>, Error> {
    app.pool
        .read(|db| Ok::<_, Error>(queries::list_keys(db, ALGORITHM)?))
        .await
}

/// Retires the signing key and makes the next one, in one transaction. The current key must open here,
/// unless `lost_key` says that it never will again: a process with another encryption key than the
/// service's would make a key that the service cannot use.
pub(crate) async fn rotate(app: &App, origin: &Origin, lost_key: bool) -> Result<Rotated, Error> {
    let rows = list(app).await?;
    let current = rows.iter().find(|row| row.retired_at.is_none());
    if let Some(current) = current
        && !lost_key
        && !app.tokens.keys().opens(current)
    {
        return Err(Error::Internal(
            "the signing key does not open with this IDENTITY__KEYS__ENCRYPTION_KEY, so the service has another one: \
             run the command with the service's configuration, or with --lost-key if that key is lost for good"
                .into(),
        ));
    }
    replace(app, origin, &rows).await
}

/// Rotates a signing key that is older than `age`.
pub(crate) async fn rotate_when_older(
    app: &App,
    origin: &Origin,
    age: TimeDelta,
) -> Result<Option<Rotated>, Error> {
    let rows = list(app).await?;
    let now = app.clock.now_naive();
    let old = |row: &SigningKeyRow| row.retired_at.is_none() && row.created_at + age <= now;
    if !rows.iter().any(old) {
        return Ok(None);
    }
    rotate(app, origin, false).await.map(Some)
}

async fn replace(app: &App, origin: &Origin, rows: &[SigningKeyRow]) -> Result<Rotated, Error> {
    let newest = rows.first().map_or(0, |row| row.generation);
    let signing = rows.iter().find(|row| row.retired_at.is_none());
    let retired = signing.map(|row| row.kid.clone());
    let key = app.tokens.keys().generate()?;
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
            let details = json!({ "kid": key.kid, "retired": retired });
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
    let signing = list(app)
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

/// Seals the signing key with the current encryption key if an older one has sealed it; how many. It stays
/// the same key, so that nobody has to read it again.
pub(crate) async fn reseal(app: &App) -> Result<usize, Error> {
    let mut rows = list(app).await?.into_iter();
    let Some(row) = rows.find(|row| row.retired_at.is_none()) else {
        return Ok(0);
    };
    let Some(fresh) = app.tokens.keys().reseal(&row)? else {
        return Ok(0);
    };
    let sealed = row.private_key_sealed;
    app.pool
        .write_one(move |db| {
            Ok::<_, Error>(queries::replace_sealed(db, &row.kid, &sealed, &fresh)?)
        })
        .await
}
