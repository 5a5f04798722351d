//! When a date of the user's calendar begins.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone};
use service_kit::time_zone::Zone;

/// More than any clock differs from UTC, and more than any clock was ever changed.
const REACH: TimeDelta = TimeDelta::hours(50);

/// Returns the first instant (UTC) of the local date. The day begins later where clocks go forward at midnight. A date
/// that the zone skips begins and ends when the next one begins.
pub(crate) fn start_of_day(day: NaiveDate, zone: Zone) -> NaiveDateTime {
    let midnight = day.and_time(NaiveTime::MIN);
    if let Some(earliest) = zone.from_local_datetime(&midnight).earliest() {
        return earliest.naive_utc();
    }
    // No clock showed midnight. Around a gap local time only grows, so that bisection finds the end of the gap.
    let has_begun = |at: NaiveDateTime| zone.from_utc_datetime(&at).naive_local() >= midnight;
    let (mut before, mut after) = (midnight - REACH, midnight + REACH);
    while after - before > TimeDelta::seconds(1) {
        let middle = before + TimeDelta::seconds((after - before).num_seconds() / 2);
        if has_begun(middle) {
            after = middle;
        } else {
            before = middle;
        }
    }
    after
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use chrono::Days;
    use proptest::prelude::*;

    use super::*;
    use crate::rules::time::local_moment;

    #[test]
    fn a_day_begins_at_its_first_instant_wherever_clocks_are_set() {
        let table = [
            ("2026-11-21", "UTC", "2026-11-21T00:00:00"),
            ("2026-11-21", "Asia/Kathmandu", "2026-11-20T18:15:00"),
            ("2026-11-21", "Pacific/Kiritimati", "2026-11-20T10:00:00"),
            // Clocks went from 00:00 to 01:00.
            ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00"),
            // At midnight the zone's offset changed from 44:30 minutes behind UTC to none.
            ("1972-01-07", "Africa/Monrovia", "1972-01-07T00:44:30"),
            // Clocks went back from 00:00 to 23:00: the second midnight counts.
            ("2018-02-18", "America/Sao_Paulo", "2018-02-18T03:00:00"),
            // The date that Samoa skipped, and the next one.
            ("2011-12-30", "Pacific/Apia", "2011-12-30T10:00:00"),
            ("2011-12-31", "Pacific/Apia", "2011-12-30T10:00:00"),
        ];
        for (day, zone, expected) in table {
            let start = start_of_day(day.parse().unwrap(), Zone::get(zone).unwrap());
            assert_eq!(start, expected.parse().unwrap(), "{day} {zone}");
        }
    }

    proptest! {
        #[test]
        fn the_instant_before_belongs_to_an_earlier_date(zone in prop::sample::select(Zone::all().collect::<Vec<_>>()), days in 0_u64..25_000) {
            let day = NaiveDate::default() + Days::new(days);
            let start = start_of_day(day, zone);
            prop_assert!(local_moment(start, zone).day >= day);
            prop_assert!(local_moment(start - TimeDelta::microseconds(1), zone).day < day);
            // Only a skipped date begins together with another one.
            prop_assert!(local_moment(start, zone).day <= day + Days::new(1));
            prop_assert!(start < start_of_day(day + Days::new(2), zone));
        }
    }
}
