use auth_types::UserId;
use serde_json::json;
use service_kit::seal::Sealer;
use unicode_normalization::UnicodeNormalization as _;

use super::queries;
use super::recovery_code::RecoveryCode;
use super::secret::TotpSecret;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::transaction::Transaction;

/// The result of checking a code of the second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeCheck {
    /// The account has no second factor.
    NotNeeded,
    /// It has one, and no code was given.
    Missing,
    /// The code is not valid, or was used before.
    Mismatch,
    /// The code is valid, and used up when the transaction commits.
    Match,
}

/// Checks a code of the authenticator app, or a recovery code, and uses it up. The caller's password must be verified:
/// nobody else may learn whether there is a second factor.
pub(crate) fn check(
    tx: &mut Transaction<'_>,
    sealer: &Sealer,
    user_id: UserId,
    code: Option<&str>,
) -> Result<CodeCheck, Error> {
    let Some(sealed) = queries::find_confirmed(tx.db, user_id)? else {
        return Ok(CodeCheck::NotNeeded);
    };
    let Some(code) = code.map(plain).filter(|code| !code.is_empty()) else {
        return Ok(CodeCheck::Missing);
    };
    let right = match RecoveryCode::parse(&code) {
        Some(code) => take_recovery_code(tx, user_id, &code)?,
        None => {
            let factor = TotpSecret::open(sealer, user_id, &sealed)?;
            match factor.step_of(&code, tx.now) {
                Some(step) => queries::take_step(tx.db, user_id, step)?,
                None => false,
            }
        }
    };
    Ok(match right {
        true => CodeCheck::Match,
        false => CodeCheck::Mismatch,
    })
}

/// Removes the separators of a code: white space, hyphens, dashes, and invisible characters of copied text. Full-width
/// digits and letters become ordinary ones.
pub(super) fn plain(code: &str) -> String {
    let separates = |c: char| {
        c.is_whitespace()
            || matches!(c, '-' | '\u{ad}' | '\u{2010}'..='\u{2015}' | '\u{2212}')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    };
    code.nfkc().filter(|c| !separates(*c)).collect()
}

fn take_recovery_code(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    code: &RecoveryCode,
) -> Result<bool, Error> {
    if !queries::take_code(tx.db, user_id, &code.hash(user_id))? {
        return Ok(false);
    }
    queries::reset_failures(tx.db, user_id)?;
    let left = queries::count_codes(tx.db, user_id)?;
    tx.audit(
        &NewAuditEntry::on(AuditAction::RECOVERY_CODE_USED, user_id)
            .details(json!({ "codes_left": left })),
    )?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn grouping_characters_are_removed_from_a_code() {
        for typed in [
            "123456",
            " 123 456 ",
            "123-456",
            "123\u{a0}456",
            "123\u{202f}456",
            "\u{2007}123\u{2011}456\t\n",
            "12\u{2013}34\u{2212}56",
            "\u{feff}123\u{200b}456\u{200e}",
            "１２３\u{3000}４５６",
        ] {
            assert_eq!(plain(typed), "123456", "{typed:?}");
        }
        assert_eq!(plain("ABCDE\u{2010}fghjk－ｍｎｐｑｒ"), "ABCDEfghjkmnpqr");
        assert_eq!(plain(" \u{a0}-"), "");
        assert_eq!(plain("+12345"), "+12345");
    }
}
