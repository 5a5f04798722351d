use chrono::{DateTime, Datelike as _, NaiveDate, Utc};

use crate::{Text, t};

/// Formats a date, such as `23 Nov 2026`.
pub fn date(date: NaiveDate) -> Text {
    t("common-date")
        .with("date", short_date(date))
        .with("year", date.year())
}

/// Formats a date without its year, such as `23 Nov`.
pub fn short_date(date: NaiveDate) -> Text {
    t("common-short-date")
        .with("day", date.day())
        .with("month", month(date))
}

/// Formats a month, such as `Nov`.
pub fn month(date: NaiveDate) -> Text {
    t("common-month").with("month", date.month())
}

/// Formats a time for readers whose time zone is unknown, such as `23 Nov 2026, 14:05 UTC`.
pub fn utc_time(at: &DateTime<Utc>) -> Text {
    t("common-utc-time")
        .with("date", date(at.date_naive()))
        .with("time", at.format("%H:%M").to_string())
}
