use auth_types::UserId;
use chrono::{NaiveDateTime, TimeDelta};
use db_kit::Db;
use service_kit::time_zone::Zone;

use super::model::PreferencesRow;
use super::queries;
use super::wire::PutPreferencesRequest;
use crate::app_state::AppState;
use crate::error::Error;
use crate::sync;

/// The minimum time between two changes of the time zone, because frequent changes would extend a day.
const MIN_TIMEZONE_AGE: TimeDelta = TimeDelta::days(1);

pub(super) async fn update(
    state: &AppState,
    user: UserId,
    request: PutPreferencesRequest,
) -> Result<PreferencesRow, Error> {
    let now = state.clock.now_naive();
    let mut changes = request.changes(now)?;
    let change = move |db: &mut Db| {
        changes.seq = sync::bump(db, user)?;
        let current = queries::lock(db, user, now)?;
        if let Some(requested) = changes.timezone.take() {
            let zone = change_zone(&current, &requested, now)?;
            changes.timezone = zone.timezone;
            changes.timezone_changed_at = zone.changed_at;
        }
        Ok(queries::update(db, user, &changes)?)
    };
    state.pool.write_tx(change).await
}

/// The columns that a requested time zone changes.
#[derive(Debug, Default, PartialEq, Eq)]
struct ZoneChange {
    timezone: Option<String>,
    changed_at: Option<NaiveDateTime>,
}

/// Allows one change per day. The same zone, by whichever of its names, is no change, and the first change from the default does not count.
fn change_zone(
    current: &PreferencesRow,
    requested: &str,
    now: NaiveDateTime,
) -> Result<ZoneChange, Error> {
    if Zone::get(requested).is_some_and(|requested| requested.is_same(current.tz())) {
        return Ok(ZoneChange::default());
    }
    let is_first = current.timezone_changed_at.is_none() && current.timezone == Zone::utc().name();
    let until = current.timezone_changed_at.map(|at| at + MIN_TIMEZONE_AGE);
    let remaining = until.map_or(TimeDelta::zero(), |until| until - now);
    if remaining > TimeDelta::zero() {
        // Rounded up, so that a client that waits this long succeeds.
        let seconds = remaining.num_seconds() + i64::from(remaining.subsec_nanos() > 0);
        return Err(Error::TimezoneChangedRecently {
            retry_after: u64::try_from(seconds).unwrap_or(1),
        });
    }
    Ok(ZoneChange {
        timezone: Some(requested.to_owned()),
        changed_at: (!is_first).then_some(now),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies changes at the given hours, and returns which ones were allowed.
    fn apply(steps: &[(i64, &str)]) -> Vec<bool> {
        let start = NaiveDateTime::default();
        let mut row = PreferencesRow::default();
        steps
            .iter()
            .map(
                |(hours, zone)| match change_zone(&row, zone, start + TimeDelta::hours(*hours)) {
                    Ok(change) => {
                        row.timezone = change.timezone.unwrap_or_else(|| row.timezone.clone());
                        row.timezone_changed_at = change.changed_at.or(row.timezone_changed_at);
                        true
                    }
                    Err(_) => false,
                },
            )
            .collect()
    }

    #[test]
    fn the_first_change_from_utc_is_free_and_then_one_a_day() {
        let (berlin, tokyo, lima) = ("Europe/Berlin", "Asia/Tokyo", "America/Lima");
        let steps = [
            (0, berlin),
            (0, tokyo),
            (1, lima),
            (1, tokyo),
            (23, lima),
            (24, lima),
            (47, "UTC"),
            (48, "UTC"),
        ];
        assert_eq!(
            apply(&steps),
            [true, true, false, true, false, true, false, true]
        );
    }

    #[test]
    fn a_change_back_to_utc_does_not_make_the_next_one_free() {
        let (berlin, tokyo) = ("Europe/Berlin", "Asia/Tokyo");
        assert_eq!(
            apply(&[(0, berlin), (0, "UTC"), (1, tokyo), (24, tokyo)]),
            [true, true, false, true]
        );
    }

    #[test]
    fn the_wait_is_rounded_up_to_whole_seconds() {
        let start = NaiveDateTime::default();
        let row = PreferencesRow {
            timezone: "Europe/Berlin".to_owned(),
            timezone_changed_at: Some(start),
            ..PreferencesRow::default()
        };
        let refused = change_zone(
            &row,
            "UTC",
            start + TimeDelta::days(1) - TimeDelta::milliseconds(1_500),
        );
        assert!(
            matches!(
                refused,
                Err(Error::TimezoneChangedRecently { retry_after: 2 })
            ),
            "{refused:?}"
        );
        assert!(change_zone(&row, "UTC", start + TimeDelta::days(1)).is_ok());
    }
}
