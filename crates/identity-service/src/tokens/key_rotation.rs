//! Rotation of signing keys, by command or by age, and removal of keys whose signatures have all expired.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::json;

use super::algorithm::SigningAlgorithm;
use super::queries::{self, SigningKeyRow};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::request_context::RequestContext;

/// How long clients may cache the public keys.
pub(super) const JWKS_MAX_AGE_SECONDS: i64 = 300;

/// How long a new key is published before it signs: longer than clients cache the previous keys, by the tolerated
/// difference of clocks.
const PUBLISHED_FIRST: TimeDelta = TimeDelta::seconds(JWKS_MAX_AGE_SECONDS + 60);

/// How long a retired key outlives the last token that it can have signed. A replica that learns late of a rotation still
/// signs with it for a moment.
const MARGIN: TimeDelta = TimeDelta::days(1);

/// How often a rotation tries to add a key before it gives up.
const ATTEMPTS: usize = 5;

/// The result of a rotation, for the key of access tokens and the key of RS256 ID tokens.
#[derive(Serialize)]
pub(crate) struct KeyRotation {
    #[serde(flatten)]
    pub(crate) es256: RotatedKey,
    /// `None` while there is no such key.
    pub(crate) rs256: Option<RotatedKey>,
}

#[derive(Serialize)]
pub(crate) struct RotatedKey {
    /// False if the newest key already existed, or another process created it at the same moment.
    pub(crate) changed: bool,
    /// The newest key.
    pub(crate) kid: String,
    pub(crate) signs_from: DateTime<Utc>,
    /// The key that signs until then. `None` if there is none, or if the newest key is not new.
    pub(crate) retired: Option<String>,
}

/// A signing key without its private half.
#[derive(Serialize)]
pub(crate) struct Key {
    pub(crate) kid: String,
    pub(crate) algorithm: String,
    pub(crate) state: KeyState,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) signs_from: DateTime<Utc>,
    pub(crate) retired_at: Option<DateTime<Utc>>,
    /// When no live token can have its signature any more.
    pub(crate) removed_after: Option<DateTime<Utc>>,
}

/// When a new key signs, and whether the previous keys must open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RotationKind {
    /// Once it has been published for long enough.
    Published,
    /// At once.
    Immediate,
    /// At once, although no process can open the previous keys any more.
    LostKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyState {
    /// Published, but signs later.
    Waiting,
    Signing,
    /// Retired.
    Verifying,
}

impl KeyState {
    fn from_row(row: &SigningKeyRow, now: NaiveDateTime) -> Self {
        match row.retired_at {
            Some(at) if at <= now => Self::Verifying,
            _ if row.signs_from > now => Self::Waiting,
            _ => Self::Signing,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Signing => "signing",
            Self::Verifying => "verifying",
        }
    }
}

/// Lists all keys, those of access tokens first, newest first.
pub(crate) async fn list_keys(app: &App) -> Result<Vec<Key>, Error> {
    let now = app.clock.now_naive();
    let keys = list(app).await?.into_iter().map(|row| Key {
        state: KeyState::from_row(&row, now),
        removed_after: gone_after(&row).map(|at| at.and_utc()),
        created_at: row.created_at.and_utc(),
        signs_from: row.signs_from.and_utc(),
        retired_at: row.retired_at.map(|at| at.and_utc()),
        kid: row.kid,
        algorithm: row.algorithm,
    });
    Ok(keys.collect())
}

async fn list(app: &App) -> Result<Vec<SigningKeyRow>, Error> {
    let mut keys = list_of(app, SigningAlgorithm::Es256).await?;
    keys.extend(list_of(app, SigningAlgorithm::Rs256).await?);
    Ok(keys)
}

/// Creates the next keys, each in one transaction. Unless they are lost, the previous keys must open: a process with a
/// different encryption key would create keys that the service cannot use.
pub(crate) async fn rotate(
    app: &App,
    context: &RequestContext,
    kind: RotationKind,
) -> Result<KeyRotation, Error> {
    let es256 = rotate_one(app, SigningAlgorithm::Es256, context, kind).await?;
    let rs256 = match list_of(app, SigningAlgorithm::Rs256).await?.is_empty() {
        true => None,
        false => Some(rotate_one(app, SigningAlgorithm::Rs256, context, kind).await?),
    };
    Ok(KeyRotation { es256, rs256 })
}

/// Rotates the signing keys that are older than `age`.
pub(crate) async fn rotate_when_older(
    app: &App,
    context: &RequestContext,
    age: TimeDelta,
) -> Result<Vec<RotatedKey>, Error> {
    let now = app.clock.now_naive();
    let old = |row: &SigningKeyRow| row.retired_at.is_none() && row.signs_from + age <= now;
    let mut rotated = Vec::new();
    for algorithm in SigningAlgorithm::ALL {
        if list_of(app, algorithm).await?.iter().any(old) {
            rotated.push(rotate_one(app, algorithm, context, RotationKind::Published).await?);
        }
    }
    Ok(rotated)
}

async fn list_of(app: &App, algorithm: SigningAlgorithm) -> Result<Vec<SigningKeyRow>, Error> {
    app.read(move |db| queries::list_keys(db, algorithm)).await
}

async fn rotate_one(
    app: &App,
    algorithm: SigningAlgorithm,
    context: &RequestContext,
    kind: RotationKind,
) -> Result<RotatedKey, Error> {
    let mut overtaken = false;
    for _ in 0..ATTEMPTS {
        let rows = list_of(app, algorithm).await?;
        let opens = |row: &SigningKeyRow| !row.can_sign() || app.keys(algorithm).opens(row);
        if kind != RotationKind::LostKey && !rows.iter().all(opens) {
            return Err(Error::Internal(
                "the signing key cannot be opened with this IDENTITY__KEYS__ENCRYPTION_KEY, so the service has another one: \
                 run the command with the service's configuration, or with --lost-key if that key is lost"
                    .into(),
            ));
        }
        if let Some(newest) = rows.first() {
            let waits = newest.signs_from > app.clock.now_naive();
            // Another process added a key first. If that one is not signing yet, `--now` still needs one that is.
            let done = match kind {
                RotationKind::Published => overtaken || waits,
                RotationKind::Immediate | RotationKind::LostKey => overtaken && !waits,
            };
            if done {
                return Ok(RotatedKey {
                    kid: newest.kid.clone(),
                    signs_from: newest.signs_from.and_utc(),
                    retired: None,
                    changed: false,
                });
            }
        }
        if let Some(rotated) = add_key(app, algorithm, context, &rows, kind).await? {
            return Ok(rotated);
        }
        overtaken = true;
    }
    Err(Error::Internal(
        "other processes kept adding signing keys".into(),
    ))
}

/// Adds the key after `rows`. `None` if another process was faster: the unique generation admits one.
async fn add_key(
    app: &App,
    algorithm: SigningAlgorithm,
    context: &RequestContext,
    rows: &[SigningKeyRow],
    kind: RotationKind,
) -> Result<Option<RotatedKey>, Error> {
    let generation = rows.first().map_or(0, |row| row.generation) + 1;
    let now = app.clock.now_naive();
    let mut signing = rows.iter();
    let signing = signing.find(|row| KeyState::from_row(row, now) == KeyState::Signing);
    let retired = signing.map(|row| row.kid.clone());
    let key = app.keys(algorithm).generate().await?;
    app.transact(context, move |tx| {
        let now = tx.now.naive_utc();
        let signs_from = match retired {
            Some(_) if kind == RotationKind::Published => now + PUBLISHED_FIRST,
            _ => now,
        };
        if !queries::insert_key(tx.db, &key.row(generation, now, signs_from))? {
            return Ok(None);
        }
        queries::retire_older(tx.db, algorithm, generation, signs_from)?;
        queries::erase_retired(tx.db, now)?;
        let details = json!({
            "algorithm": algorithm.as_str(), "kid": key.kid, "signs_from": signs_from.and_utc(), "retired": retired
        });
        tx.audit(&NewAuditEntry::new(AuditAction::KEYS_ROTATED).details(details))?;
        tx.keys_changed();
        let kid = key.kid;
        Ok(Some(RotatedKey { changed: true, kid, signs_from: signs_from.and_utc(), retired }))
    })
    .await
}

/// Returns when a key may be removed. `None` while it has no successor.
fn gone_after(row: &SigningKeyRow) -> Option<NaiveDateTime> {
    Some(row.retired_at? + TimeDelta::seconds(row.longest_ttl_seconds) + MARGIN)
}

/// Erases the private halves of retired keys, and removes keys whose time is over. Returns how many it removed.
pub(crate) async fn remove_expired(app: &App, context: &RequestContext) -> Result<usize, Error> {
    let now = app.clock.now_naive();
    app.transact(context, move |tx| {
        if queries::erase_retired(tx.db, now)? > 0 {
            tx.keys_changed();
        }
        Ok(())
    })
    .await?;
    let mut removed = 0;
    for row in list(app).await? {
        if gone_after(&row).is_some_and(|at| at < now) && remove(app, context, row.kid).await? {
            removed += 1;
        }
    }
    Ok(removed)
}

/// Removes a retired key, so that everything it has signed is refused. False if there is none, or if it still signs.
pub(crate) async fn remove(
    app: &App,
    context: &RequestContext,
    kid: String,
) -> Result<bool, Error> {
    app.transact(context, move |tx| {
        if !queries::remove_retired(tx.db, &kid, tx.now.naive_utc())? {
            return Ok(false);
        }
        tx.audit(&NewAuditEntry::new(AuditAction::KEY_REMOVED).details(json!({ "kid": kid })))?;
        tx.keys_changed();
        Ok(true)
    })
    .await
}

/// Seals signing keys with the current encryption key if an older one sealed them, and returns their number. The keys
/// stay the same, so no process has to read them again.
pub(crate) async fn reseal(app: &App) -> Result<usize, Error> {
    let mut resealed = 0;
    for algorithm in SigningAlgorithm::ALL {
        let rows = list_of(app, algorithm).await?;
        for row in rows.into_iter().filter(SigningKeyRow::can_sign) {
            let Some(fresh) = app.keys(algorithm).reseal(&row)? else {
                continue;
            };
            let sealed = row.private_key_sealed;
            resealed += app
                .write_one(move |db| queries::replace_sealed(db, &row.kid, &sealed, &fresh))
                .await?;
        }
    }
    Ok(resealed)
}
