//! A browser's sign-in in two steps: the password, then the code of the second factor. In between, the page carries a
//! sealed record of whose password was verified, never the password itself.

use auth_types::UserId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use service_kit::crypto::sha256;

use super::login::VerifiedPassword;
use crate::accounts;
use crate::app::App;
use crate::error::Error;
use crate::request_context::RequestContext;

/// How long a user may take to enter the code.
const LIFE: TimeDelta = TimeDelta::minutes(5);

/// The sealed result of the first step.
#[derive(Serialize, Deserialize)]
struct FirstStep {
    user_id: UserId,
    username: String,
    /// SHA-256 of the stored password hash: changing the password invalidates the first step.
    hash: String,
    at: DateTime<Utc>,
}

/// Seals the result of the first step, bound to the browser with this cookie value.
pub(crate) fn carry(app: &App, known: &VerifiedPassword, browser: &str) -> Result<String, Error> {
    let carried = FirstStep {
        user_id: known.id,
        username: known.username.clone(),
        hash: digest(known.hash()),
        at: app.clock.now(),
    };
    let plain = serde_json::to_vec(&carried)
        .map_err(|error| Error::internal("writing a first sign-in step", error))?;
    app.sealers
        .first_steps
        .seal(&seal_context(browser), &plain)
        .map_err(|error| Error::internal("sealing a first sign-in step", error))
}

/// Opens the result of this browser's first step. `None` means that the first step must be repeated.
///
/// # Errors
/// [`Error::RateLimited`], under the limits of a password check.
pub(crate) async fn open_first_step(
    app: &App,
    sealed: &str,
    browser: &str,
    context: &RequestContext,
) -> Result<Option<VerifiedPassword>, Error> {
    let sealer = &app.sealers.first_steps;
    let opened = sealer.open(&seal_context(browser), sealed).ok();
    let Some(carried) = opened
        .and_then(|plain| serde_json::from_slice::<FirstStep>(plain.expose_secret()).ok())
        .filter(|carried| app.clock.now() - carried.at < LIFE)
    else {
        return Ok(None);
    };
    app.rate_limits
        .check_login(context.address, &carried.username, app.clock.now())?;
    let name = carried.username.clone();
    let found = app
        .read(move |db| accounts::queries::find_credentials(db, &name))
        .await?;
    let same = found.filter(|row| {
        row.id == carried.user_id && row.is_active && digest(&row.password_hash) == carried.hash
    });
    Ok(same.map(|row| VerifiedPassword::again(row.id, carried.username, row.password_hash)))
}

fn seal_context(browser: &str) -> String {
    format!("sign-in/{browser}")
}

fn digest(hash: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(hash.as_bytes()))
}
