use auth_types::UserId;
use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::schema::oauth_codes;

#[derive(Insertable)]
#[diesel(table_name = oauth_codes)]
pub(super) struct NewCodeRow<'a> {
    pub(super) code_hash: &'a str,
    pub(super) client_id: &'a str,
    pub(super) user_id: i64,
    pub(super) authorized_by: &'a str,
    pub(super) redirect_uri: &'a str,
    pub(super) scope: String,
    pub(super) nonce: Option<&'a str>,
    pub(super) challenge: Option<&'a str>,
    pub(super) challenge_method: Option<&'a str>,
    pub(super) auth_time: NaiveDateTime,
    pub(super) created_at: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
}

/// An authorization code, used or unused.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = oauth_codes)]
pub(super) struct CodeRow {
    pub(super) user_id: UserId,
    pub(super) authorized_by: String,
    pub(super) redirect_uri: String,
    pub(super) scope: String,
    pub(super) nonce: Option<String>,
    pub(super) challenge: Option<String>,
    pub(super) challenge_method: Option<String>,
    pub(super) auth_time: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
    pub(super) used_at: Option<NaiveDateTime>,
}
