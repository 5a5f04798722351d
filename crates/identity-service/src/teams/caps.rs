//! How many teams one account may own, and be in. Anybody's account can be put into a team without
//! being asked; what is in no list any more could not be left either, so that lists are complete.
//!
//! Counted after the change, while the account's row is locked: of two that came together the second
//! sees the first, and what is too much is rolled back.

use auth_types::UserId;
use db_kit::Db;

use super::queries;
use crate::config::TeamsConfig;
use crate::error::Error;

/// Refuses a team too many of the account's own.
pub(super) fn check_owned(db: &mut Db, caps: TeamsConfig, owner: UserId) -> Result<(), Error> {
    let most = caps.max_owned;
    if queries::count_owned(db, owner)? > i64::from(most) {
        return Err(Error::Validation(
            format!("an account owns at most {most} teams").into(),
        ));
    }
    Ok(())
}

/// Refuses a team too many of others that the account is in.
pub(crate) fn check_joined(db: &mut Db, caps: TeamsConfig, member: UserId) -> Result<(), Error> {
    let most = caps.max_joined;
    if queries::count_joined(db, member)? > i64::from(most) {
        return Err(Error::Validation(
            format!("an account is in at most {most} teams of others").into(),
        ));
    }
    Ok(())
}
