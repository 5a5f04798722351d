//! A sign-in with a browser in two steps: the password, then the code of the second factor. Between the two
//! the page carries, sealed, whose password was shown; never the password.

use auth_types::UserId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use service_kit::crypto::sha256;

use super::login::Known;
use crate::accounts;
use crate::app::App;
use crate::error::Error;
use crate::origin::Origin;

/// How long somebody may look for their code.
const LIFE: TimeDelta = TimeDelta::minutes(5);

/// What is carried from step to step.
#[derive(Serialize, Deserialize)]
struct Carried {
    user_id: UserId,
    username: String,
    /// SHA-256 of the password's hash: another password makes it worthless.
    hash: String,
    at: DateTime<Utc>,
}

/// Seals what the first step has shown, for the browser that has this token alone.
pub(crate) fn carry(app: &App, known: &Known, browser: &str) -> Result<String, Error> {
    let carried = Carried {
        user_id: known.id,
        username: known.username.clone(),
        hash: digest(known.hash()),
        at: app.clock.now(),
    };
    let plain = serde_json::to_vec(&carried)
        .map_err(|error| Error::internal("writing a first step", error))?;
    app.sealers
        .first_steps
        .seal(&context(browser), &plain)
        .map_err(|error| Error::internal("sealing a first step", error))
}

/// Who has taken the first step with this browser a moment ago; none when it has to be taken again.
///
/// # Errors
/// [`Error::RateLimited`], as when a password is shown.
pub(crate) async fn take_up(
    app: &App,
    sealed: &str,
    browser: &str,
    origin: &Origin,
) -> Result<Option<Known>, Error> {
    let opened = app.sealers.first_steps.open(&context(browser), sealed).ok();
    let Some(carried) = opened
        .and_then(|plain| serde_json::from_slice::<Carried>(plain.expose_secret()).ok())
        .filter(|carried| app.clock.now() - carried.at < LIFE)
    else {
        return Ok(None);
    };
    app.limits
        .check_login(origin.address, &carried.username, app.clock.now())?;
    let name = carried.username.clone();
    let found = app
        .read(move |db| accounts::queries::find_credentials(db, &name))
        .await?;
    let same = found.filter(|row| {
        row.id == carried.user_id && row.is_active && digest(&row.password_hash) == carried.hash
    });
    Ok(same.map(|row| Known::again(row.id, carried.username, row.password_hash)))
}

fn context(browser: &str) -> String {
    format!("sign-in/{browser}")
}

fn digest(hash: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(hash.as_bytes()))
}
