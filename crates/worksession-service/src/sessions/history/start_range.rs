use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use db_kit::Db;
use diesel::QueryResult;
use service_kit::time_zone::Zone;

use crate::error::Error;
use crate::pagination::SessionCursor;
use crate::preferences;
use crate::rules::local_day::start_of_day;
use crate::rules::time::parse_instant;

/// One end of a time range in a query: a local date or an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RangeEnd {
    /// On the user's calendar.
    Day(NaiveDate),
    /// UTC.
    Instant(NaiveDateTime),
}

/// A time range with inclusive ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::sessions) struct StartRange {
    from: Option<RangeEnd>,
    to: Option<RangeEnd>,
}

impl StartRange {
    /// Parses the two parameters. An empty one counts as absent.
    pub(in crate::sessions) fn parse(from: Option<&str>, to: Option<&str>) -> Result<Self, Error> {
        Ok(Self {
            from: parse_end("from", from)?,
            to: parse_end("to", to)?,
        })
    }

    /// Returns from when and until before when (UTC) a session must have started. Only a date needs to read the user's zone.
    pub(in crate::sessions) fn starts(
        &self,
        db: &mut Db,
        user: UserId,
    ) -> QueryResult<(NaiveDateTime, NaiveDateTime)> {
        let needs_zone = [self.from, self.to]
            .iter()
            .any(|end| matches!(end, Some(RangeEnd::Day(_))));
        let zone = if needs_zone {
            preferences::get_or_default(db, user)?.tz()
        } else {
            Zone::utc()
        };
        Ok(self.starts_in(zone))
    }

    fn starts_in(&self, zone: Zone) -> (NaiveDateTime, NaiveDateTime) {
        let from = match self.from {
            None => NaiveDateTime::default(),
            Some(RangeEnd::Day(day)) => start_of_day(day, zone),
            Some(RangeEnd::Instant(at)) => at,
        };
        let until = match self.to {
            None => SessionCursor::last().started_at,
            Some(RangeEnd::Day(day)) => start_of_day(day + TimeDelta::days(1), zone),
            // Times are stored in microseconds.
            Some(RangeEnd::Instant(at)) => at + TimeDelta::microseconds(1),
        };
        (from, until.min(SessionCursor::last().started_at))
    }
}

fn parse_end(field: &'static str, text: Option<&str>) -> Result<Option<RangeEnd>, Error> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let end = parse_day(text)
        .map(RangeEnd::Day)
        .or_else(|| parse_instant(text).map(RangeEnd::Instant));
    end.map(Some).ok_or_else(|| {
        Error::invalid(format!(
            "{field} must be a date (YYYY-MM-DD) or an RFC 3339 time"
        ))
    })
}

/// Parses `YYYY-MM-DD` within the years that sessions can have.
fn parse_day(text: &str) -> Option<NaiveDate> {
    let day: NaiveDate = text.parse().ok()?;
    let canonical = day.to_string() == text;
    let years = NaiveDate::default()..SessionCursor::last().started_at.date();
    (canonical && years.contains(&day)).then_some(day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;

    fn starts(from: &str, to: &str, zone: &str) -> (String, String) {
        let (from, until) = StartRange::parse(Some(from), Some(to))
            .unwrap()
            .starts_in(Zone::get(zone).unwrap());
        (from.to_string(), until.to_string())
    }

    #[test]
    fn a_range_includes_both_ends() {
        assert_eq!(
            starts("2026-11-21", "2026-11-21", "Europe/Berlin"),
            ("2026-11-20 23:00:00".into(), "2026-11-21 23:00:00".into())
        );
        assert_eq!(
            starts(
                "2026-11-21T09:00:00+01:00",
                "2026-11-21T09:00:00Z",
                "Asia/Tokyo"
            ),
            (
                "2026-11-21 08:00:00".into(),
                "2026-11-21 09:00:00.000001".into()
            )
        );
        assert_eq!(
            starts("", "", "Asia/Tokyo"),
            ("1970-01-01 00:00:00".into(), "9999-12-31 00:00:00".into())
        );
    }

    #[test]
    fn text_that_is_neither_a_date_nor_an_instant_is_refused_by_name() {
        for text in [
            "yesterday",
            "2026-11-31",
            "2026-1-1",
            "1969-12-31",
            "9999-12-31",
            "+12026-01-01",
            " 2026-11-21",
            "2026-11-21T09:00:00",
            "20261121",
        ] {
            let refused = StartRange::parse(None, Some(text)).map_err(|error| error.to_string());
            assert_eq!(
                refused,
                Err("to must be a date (YYYY-MM-DD) or an RFC 3339 time".to_owned()),
                "{text}"
            );
        }
    }
}
