use auth_types::{ScopeSet, UserId};
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;

use super::model::{DeviceRow, DeviceStatus, PendingDeviceRow};
use crate::columns::columns;
use crate::schema::oauth_devices;

#[derive(Insertable)]
#[diesel(table_name = oauth_devices)]
pub(super) struct NewDevice {
    pub(super) device_code_hash: String,
    pub(super) user_code: String,
    pub(super) client_id: String,
    pub(super) scope: String,
    pub(super) status: &'static str,
    pub(super) poll_seconds: i64,
    pub(super) created_at: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
}

/// Inserts a device authorization. Returns false if its user code is taken.
pub(super) fn insert_device(db: &mut Db, device: &NewDevice) -> QueryResult<bool> {
    on_backend!(db, c => diesel::insert_into(oauth_devices::table)
        .values(device)
        .on_conflict_do_nothing()
        .execute(c))
    .map(|inserted| inserted == 1)
}

/// Finds a device authorization of this client.
pub(super) fn find_device(
    db: &mut Db,
    hash: &str,
    client_id: &str,
) -> QueryResult<Option<DeviceRow>> {
    oauth_devices::table
        .find(hash)
        .filter(oauth_devices::client_id.eq(client_id))
        .select(columns::<DeviceRow>())
        .first(db)
        .optional()
}

/// Records a poll of a pending device, and the interval that it has to keep from now on.
pub(super) fn note_poll(
    db: &mut Db,
    hash: &str,
    poll_seconds: i64,
    now: NaiveDateTime,
) -> QueryResult<()> {
    diesel::update(oauth_devices::table.find(hash))
        .set((
            oauth_devices::polled_at.eq(now),
            oauth_devices::poll_seconds.eq(poll_seconds),
        ))
        .execute(db)
        .map(drop)
}

/// Finds the pending device with this user code.
pub(super) fn find_pending(
    db: &mut Db,
    user_code: &str,
    now: NaiveDateTime,
) -> QueryResult<Option<PendingDeviceRow>> {
    oauth_devices::table
        .filter(oauth_devices::user_code.eq(user_code))
        .filter(oauth_devices::status.eq(DeviceStatus::Pending.as_str()))
        .filter(oauth_devices::expires_at.gt(now))
        .select(columns::<PendingDeviceRow>())
        .first(db)
        .optional()
}

/// A user's decision about a device.
pub(super) struct DeviceDecision<'a> {
    pub(super) status: DeviceStatus,
    pub(super) user_id: UserId,
    pub(super) session_id: &'a str,
    pub(super) auth_time: NaiveDateTime,
    /// The scope that the page showed.
    pub(super) scope: ScopeSet,
}

/// Stores the decision about a pending device. Returns false if another decision was first or the device has expired.
pub(super) fn record_decision(
    db: &mut Db,
    user_code: &str,
    settlement: &DeviceDecision<'_>,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let pending = oauth_devices::table
        .filter(oauth_devices::user_code.eq(user_code))
        .filter(oauth_devices::status.eq(DeviceStatus::Pending.as_str()))
        .filter(oauth_devices::expires_at.gt(now));
    diesel::update(pending)
        .set((
            oauth_devices::status.eq(settlement.status.as_str()),
            oauth_devices::user_id.eq(settlement.user_id.get()),
            oauth_devices::authorized_by.eq(settlement.session_id),
            oauth_devices::auth_time.eq(settlement.auth_time),
            oauth_devices::scope.eq(settlement.scope.to_string()),
        ))
        .execute(db)
        .map(|settled| settled == 1)
}

/// Marks an approved device as used by this session. Returns false if it was used before or has expired.
pub(super) fn use_up(
    db: &mut Db,
    hash: &str,
    session_id: &str,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let approved = oauth_devices::table
        .find(hash)
        .filter(oauth_devices::status.eq(DeviceStatus::Approved.as_str()))
        .filter(oauth_devices::expires_at.gt(now));
    diesel::update(approved)
        .set((
            oauth_devices::status.eq(DeviceStatus::Used.as_str()),
            oauth_devices::session_id.eq(session_id),
        ))
        .execute(db)
        .map(|used| used == 1)
}

/// Deletes a client's device authorizations on which an account has decided. Returns their number.
pub(crate) fn delete_of(db: &mut Db, user_id: UserId, client_id: &str) -> QueryResult<usize> {
    let settled = oauth_devices::table
        .filter(oauth_devices::user_id.eq(user_id.get()))
        .filter(oauth_devices::client_id.eq(client_id));
    diesel::delete(settled).execute(db)
}
