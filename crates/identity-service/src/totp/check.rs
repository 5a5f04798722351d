use auth_types::UserId;
use serde_json::json;
use service_kit::seal::Sealer;

use super::factor::Factor;
use super::queries;
use super::recovery::RecoveryCode;
use crate::audit::{Action, Entry};
use crate::change::Change;
use crate::error::Error;

/// What an account's second factor says to a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeCheck {
    /// The account has no second factor.
    NotNeeded,
    /// It has one, and no code was given.
    Missing,
    /// No code of it, or one that was used before.
    Wrong,
    /// The code is used up with the transaction's commit.
    Right,
}

/// Checks a code of the authenticator app, or a recovery code, and uses it up. Only for who has shown
/// the password: to nobody else may it be told whether there is a second factor.
pub(crate) fn check(
    change: &mut Change<'_>,
    own: &Sealer,
    user_id: UserId,
    code: Option<&str>,
) -> Result<CodeCheck, Error> {
    let Some(sealed) = queries::find_confirmed(change.db, user_id)? else {
        return Ok(CodeCheck::NotNeeded);
    };
    let Some(code) = code.map(str::trim).filter(|code| !code.is_empty()) else {
        return Ok(CodeCheck::Missing);
    };
    let right = match RecoveryCode::parse(code) {
        Some(code) => take_recovery_code(change, user_id, &code)?,
        None => {
            let factor = Factor::open(own, user_id, &sealed)?;
            match factor.step_of(&digits(code), change.now) {
                Some(step) => queries::take_step(change.db, user_id, step)?,
                None => false,
            }
        }
    };
    Ok(match right {
        true => CodeCheck::Right,
        false => CodeCheck::Wrong,
    })
}

/// A code without the space that apps show in its middle.
pub(super) fn digits(code: &str) -> String {
    code.chars().filter(|c| *c != ' ').collect()
}

fn take_recovery_code(
    change: &mut Change<'_>,
    user_id: UserId,
    code: &RecoveryCode,
) -> Result<bool, Error> {
    if !queries::take_code(change.db, user_id, &code.hash(user_id))? {
        return Ok(false);
    }
    let left = queries::count_codes(change.db, user_id)?;
    change.audit(
        &Entry::on(Action::RecoveryCodeUsed, user_id).details(json!({ "codes_left": left })),
    )?;
    Ok(true)
}
