use std::collections::BTreeMap;

use auth_types::UserId;
use chrono::{Datelike, NaiveDate};
use db_kit::Db;

use super::queries;
use super::range::DateRange;
use super::wire::{Bucket, Group};
use crate::error::Error;
use crate::rollups::{Breakdown, SessionSums};

/// The maximum number of categories or projects in a response. The totals include the others.
const MAX_PARTS: usize = 200;

/// Returns the buckets of the range and its totals. Days, weeks and hours include empty buckets. Categories and projects
/// are sorted by minutes, most first.
///
/// # Errors
/// When a database query fails, or a stored breakdown is unreadable.
pub(super) fn buckets(
    db: &mut Db,
    user: UserId,
    range: DateRange,
    group: Group,
) -> Result<(Vec<Bucket>, SessionSums), Error> {
    match group {
        Group::Day => Ok(by_date(&days(db, user, range)?, range, |day| {
            day.to_string()
        })),
        Group::Week => Ok(by_date(&days(db, user, range)?, range, week)),
        Group::Hour | Group::Category | Group::Project => by_part(db, user, range, group),
    }
}

/// Returns the sums of each date in the range that has any sessions, from the rows of its months.
fn days(
    db: &mut Db,
    user: UserId,
    range: DateRange,
) -> Result<BTreeMap<NaiveDate, SessionSums>, Error> {
    let mut days = BTreeMap::new();
    for (month, breakdown) in queries::list_months(db, user, range.months(), Group::Day)? {
        for (day, sums) in Breakdown::parse(Some(&breakdown))?.into_parts() {
            let day = day.parse().ok().and_then(|day| month.with_day(day));
            let day = day.ok_or_else(|| Error::internal(format!("no such day in {month}")))?;
            if range.from <= day && day <= range.to {
                days.insert(day, sums);
            }
        }
    }
    Ok(days)
}

/// Returns one bucket for each key of the dates in the range, in order.
fn by_date(
    days: &BTreeMap<NaiveDate, SessionSums>,
    range: DateRange,
    key: impl Fn(NaiveDate) -> String,
) -> (Vec<Bucket>, SessionSums) {
    let (mut buckets, mut totals) = (Vec::<(String, SessionSums)>::new(), SessionSums::default());
    for date in range.days() {
        let key = key(date);
        if buckets.last().is_none_or(|(last, _)| *last != key) {
            buckets.push((key, SessionSums::default()));
        }
        if let Some((day, (_, sums))) = days.get(&date).zip(buckets.last_mut()) {
            *sums += *day;
            totals += *day;
        }
    }
    (buckets.into_iter().map(Bucket::new).collect(), totals)
}

/// Returns an ISO week such as `2026-W47`. The year is that of the week's Thursday.
fn week(day: NaiveDate) -> String {
    let week = day.iso_week();
    format!("{:04}-W{:02}", week.year(), week.week())
}

/// Combines the complete months of the range with the days around them.
fn by_part(
    db: &mut Db,
    user: UserId,
    range: DateRange,
    group: Group,
) -> Result<(Vec<Bucket>, SessionSums), Error> {
    let (months, edges) = range.whole_months();
    let months = queries::list_months(db, user, months, group)?.into_iter();
    let days = queries::list_days(db, user, edges, group)?;
    let (mut parts, mut totals) = (
        BTreeMap::<String, SessionSums>::new(),
        SessionSums::default(),
    );
    for breakdown in months.map(|(_, breakdown)| breakdown).chain(days) {
        for (key, sums) in Breakdown::parse(Some(&breakdown))?.into_parts() {
            // Each session has exactly one hour, category and project, so the parts add up to the totals.
            totals += sums;
            *parts.entry(key).or_default() += sums;
        }
    }
    let buckets = if group == Group::Hour {
        let hour = |hour: i32| {
            let key = hour.to_string();
            let sums = parts.remove(&key).unwrap_or_default();
            Bucket::new((key, sums))
        };
        (0..24).map(hour).collect()
    } else {
        let mut parts: Vec<_> = parts.into_iter().collect();
        // The sort is stable, so equal parts stay in alphabetical order.
        parts.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.minutes));
        parts.truncate(MAX_PARTS);
        parts.into_iter().map(Bucket::new).collect()
    };
    Ok((buckets, totals))
}
