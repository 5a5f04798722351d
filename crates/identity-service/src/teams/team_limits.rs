//! Limits on the teams that an account owns and joins. Others can add an account without its consent. Nobody can leave a
//! team that is missing from their list, so the limits keep lists complete.
//!
//! Teams are counted after the change, while the account's row is locked. The second of two concurrent changes sees the
//! first, and an excess is rolled back.

use auth_types::UserId;
use db_kit::Db;

use super::queries;
use crate::config::TeamsConfig;
use crate::error::Error;

/// Fails if the account owns too many teams.
pub(super) fn check_owned(db: &mut Db, caps: TeamsConfig, owner: UserId) -> Result<(), Error> {
    let most = caps.max_owned;
    if queries::count_owned(db, owner)? > i64::from(most) {
        return Err(Error::Validation(
            format!("an account can own at most {most} teams").into(),
        ));
    }
    Ok(())
}

/// Fails if the account is in too many teams of others.
pub(crate) fn check_joined(db: &mut Db, caps: TeamsConfig, member: UserId) -> Result<(), Error> {
    let most = caps.max_joined;
    if queries::count_joined(db, member)? > i64::from(most) {
        return Err(Error::Validation(
            format!("an account can belong to at most {most} teams of others").into(),
        ));
    }
    Ok(())
}
