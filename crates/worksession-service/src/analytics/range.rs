use chrono::{Datelike, Days, Months, NaiveDate};

use crate::error::Error;
use crate::rules::time::month_of;

/// The maximum number of days in a range.
const MAX_DAYS: i64 = 366;
/// The number of days in the default range, including today.
const RANGE_DAYS: u64 = 30;

/// A range of local dates, both ends included. It is empty if the end precedes the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DateRange {
    pub(super) from: NaiveDate,
    pub(super) to: NaiveDate,
}

impl DateRange {
    fn new(from: NaiveDate, to: NaiveDate) -> Self {
        Self { from, to }
    }

    /// Returns the months that contain any of the dates, as a range of their first days.
    pub(super) fn months(self) -> DateRange {
        DateRange::new(month_of(self.from), month_of(self.to))
    }

    /// Returns the months that lie completely in the range, and the ranges of dates before and after them.
    pub(super) fn whole_months(self) -> (DateRange, [DateRange; 2]) {
        let mut first = month_of(self.from);
        if first < self.from {
            first = first + Months::new(1);
        }
        // The first day after the last complete month.
        let end = month_of(self.to + Days::new(1));
        if first >= end {
            let nothing = DateRange::new(end, end - Days::new(1));
            return (nothing, [self, nothing]);
        }
        let months = DateRange::new(first, end - Months::new(1));
        let before = DateRange::new(self.from, first - Days::new(1));
        (months, [before, DateRange::new(end, self.to)])
    }

    /// Parses a range. Without `to` it ends today, or at `from` if that is later. Without `from` it has thirty days.
    ///
    /// # Errors
    /// 400 when a value is not a date, when `from` is later than `to`, and for more than 366 days.
    pub(super) fn parse(
        from: Option<&str>,
        to: Option<&str>,
        today: NaiveDate,
    ) -> Result<Self, Error> {
        let to = to.map(|text| parse_date("to", text)).transpose()?;
        let from = from.map(|text| parse_date("from", text)).transpose()?;
        let to = to.unwrap_or_else(|| from.map_or(today, |from| from.max(today)));
        let first_day = || to.checked_sub_days(Days::new(RANGE_DAYS - 1)).unwrap_or(to);
        let from = from.unwrap_or_else(first_day);
        if from > to {
            return Err(Error::invalid("from must not be later than to"));
        }
        if (to - from).num_days() >= MAX_DAYS {
            return Err(Error::invalid("from and to must span at most 366 days"));
        }
        Ok(Self { from, to })
    }

    pub(super) fn days(self) -> impl Iterator<Item = NaiveDate> {
        self.from.iter_days().take_while(move |day| *day <= self.to)
    }
}

/// Parses a date in the only accepted format, `YYYY-MM-DD`.
fn parse_date(field: &'static str, text: &str) -> Result<NaiveDate, Error> {
    let parsed = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    // Both databases can store these years.
    parsed
        .filter(|date| date.to_string() == text && (1970..=9999).contains(&date.year()))
        .ok_or_else(|| Error::invalid(format!("{field} must be a date YYYY-MM-DD")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;

    fn read(from: Option<&str>, to: Option<&str>) -> Result<(String, String, usize), String> {
        let today = "2026-11-21".parse().unwrap();
        let range = DateRange::parse(from, to, today).map_err(|error| error.to_string())?;
        Ok((
            range.from.to_string(),
            range.to.to_string(),
            range.days().count(),
        ))
    }

    #[test]
    fn ranges_are_inclusive_and_have_defaults() {
        for (from, to, expected) in [
            (None, None, ("2026-10-23", "2026-11-21", 30)),
            (None, Some("2026-01-30"), ("2026-01-01", "2026-01-30", 30)),
            (Some("2026-11-21"), None, ("2026-11-21", "2026-11-21", 1)),
            (Some("2026-12-01"), None, ("2026-12-01", "2026-12-01", 1)),
            (
                Some("2024-01-01"),
                Some("2024-12-31"),
                ("2024-01-01", "2024-12-31", 366),
            ),
        ] {
            let (first, last, days) = expected;
            let expected = (first.to_owned(), last.to_owned(), days);
            assert_eq!(read(from, to).unwrap(), expected, "{from:?} {to:?}");
        }
    }

    #[test]
    fn whole_months_and_the_remaining_days_make_up_the_range() {
        let date = |day: i64| NaiveDate::default() + chrono::TimeDelta::days(20_000 + day);
        for from in 0..70 {
            for to in from..(from + 150) {
                let range = DateRange {
                    from: date(from),
                    to: date(to),
                };
                let (months, edges) = range.whole_months();
                let mut days = Vec::new();
                let mut month = months.from;
                while month <= months.to {
                    days.extend(month.iter_days().take_while(|day| month_of(*day) == month));
                    month = month + Months::new(1);
                }
                for edge in edges {
                    days.extend(edge.from.iter_days().take_while(|day| *day <= edge.to));
                }
                days.sort_unstable();
                assert_eq!(days, range.days().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn an_invalid_range_is_refused_with_its_reason() {
        let no_date = |field| format!("{field} must be a date YYYY-MM-DD");
        let reversed = "from must not be later than to".to_owned();
        let too_long = || "from and to must span at most 366 days".to_owned();
        for (from, to, reason) in [
            (Some("2026-1-1"), None, no_date("from")),
            (Some("2026-02-30"), None, no_date("from")),
            (Some(""), None, no_date("from")),
            (None, Some("+2026-01-01"), no_date("to")),
            (None, Some("2026-01-01T00:00:00Z"), no_date("to")),
            (Some("2026-11-22"), Some("2026-11-21"), reversed),
            (Some("2025-11-20"), Some("2026-11-21"), too_long()),
            (Some("0001-01-01"), None, no_date("from")),
            (None, Some("-4800-01-01"), no_date("to")),
            (None, Some("+10000-01-01"), no_date("to")),
            (Some("1970-01-01"), Some("9999-12-31"), too_long()),
        ] {
            assert_eq!(read(from, to).unwrap_err(), reason, "{from:?} {to:?}");
        }
    }
}
