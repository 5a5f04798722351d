use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::OutboxRow;
use crate::schema::outbox_leases;
use crate::{Db, statement};

/// Leases up to `limit` free rows with ids greater than `after`, the oldest first. Call it in a write transaction. [`end_lease`]
/// with the same `batch_id` ends the lease.
///
/// A lease is a range of ids in a table of its own, so leasing and settling a batch changes none of its rows. Concurrent relays
/// get different rows, and the rows of an expired lease become free. A row that commits late, with an id inside a leased range,
/// becomes free when that lease ends: the relay that ends it has to look again.
///
/// # Errors
/// Any database error.
pub fn lease(
    db: &mut Db,
    batch_id: &str,
    now: NaiveDateTime,
    lease: Duration,
    limit: i64,
    after: &str,
) -> QueryResult<Vec<OutboxRow>> {
    lock_leases(db)?;
    let (live, expired): (Vec<LeasedRange>, Vec<LeasedRange>) = list_leased(db)?
        .into_iter()
        .partition(|range| range.expires_at > now);
    let (mut rows, mut ranges, mut left) = (Vec::new(), Vec::new(), limit);
    for gap in gaps(&live, after) {
        let found = gap.rows(db, left)?;
        left -= i64::try_from(found.len()).unwrap_or(left);
        if let (Some(first), Some(last)) = (found.first(), found.last()) {
            ranges.push((first.0.clone(), last.0.clone()));
        }
        rows.extend(found.into_iter().map(|row| to_row(row, &expired)));
        if left <= 0 {
            break;
        }
    }
    // Fewer rows than requested mean that everything after `after` was read.
    let until = ranges.last().filter(|_| left <= 0);
    for range in &expired {
        range.cut(db, after, until.map(|(_, last)| last.as_str()))?;
    }
    for (first, last) in &ranges {
        insert(db, (first, last), batch_id, now + lease)?;
    }
    Ok(rows)
}

/// Ends the lease of a batch unless it has expired and been leased again. Its remaining rows become free.
///
/// # Errors
/// Any database error.
pub fn end_lease(db: &mut Db, batch_id: &str) -> QueryResult<usize> {
    diesel::delete(outbox_leases::table.filter(outbox_leases::batch_id.eq(batch_id))).execute(db)
}

/// Whether any row can be leased.
///
/// # Errors
/// Any database error.
pub fn is_any_due(db: &mut Db, now: NaiveDateTime) -> QueryResult<bool> {
    let mut live = list_leased(db)?;
    live.retain(|range| range.expires_at > now);
    for gap in gaps(&live, "") {
        if gap.first(db)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes relays of the same outbox lease one after the other, until the transaction ends. On SQLite, a write transaction is
/// exclusive anyway.
fn lock_leases(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => {
            // The key is the table's, not the database's: another schema may have an outbox of its own.
            statement::<()>("SELECT pg_advisory_xact_lock('outbox_leases'::regclass::oid::bigint)")
                .execute(conn)
                .map(drop)
        }
        Db::Sqlite(_) => Ok(()),
    }
}

/// A leased range of ids, both ends included. No two ranges share an id, expired or not.
#[derive(Debug, Queryable)]
struct LeasedRange {
    first_id: String,
    last_id: String,
    batch_id: String,
    expires_at: NaiveDateTime,
}

impl LeasedRange {
    fn contains(&self, id: &str) -> bool {
        (self.first_id.as_str()..=self.last_id.as_str()).contains(&id)
    }

    /// Removes the ids after `after` and up to `until` from an expired range: they were leased again, or no longer exist.
    fn cut(&self, db: &mut Db, after: &str, until: Option<&str>) -> QueryResult<()> {
        if self.last_id.as_str() <= after
            || until.is_some_and(|until| self.first_id.as_str() > until)
        {
            return Ok(());
        }
        diesel::delete(outbox_leases::table.find(&self.first_id)).execute(db)?;
        if self.first_id.as_str() <= after {
            self.insert_part(db, &self.first_id, after)?;
        }
        let remainder = Gap {
            after: match until.filter(|until| *until < self.last_id.as_str()) {
                Some(until) => until,
                None => return Ok(()),
            },
            before: None,
        };
        match remainder.first(db)? {
            Some(next) if next <= self.last_id => self.insert_part(db, &next, &self.last_id),
            _ => Ok(()),
        }
    }

    fn insert_part(&self, db: &mut Db, first: &str, last: &str) -> QueryResult<()> {
        insert(db, (first, last), &self.batch_id, self.expires_at)
    }
}

fn list_leased(db: &mut Db) -> QueryResult<Vec<LeasedRange>> {
    outbox_leases::table.order(outbox_leases::first_id).load(db)
}

fn insert(
    db: &mut Db,
    (first, last): (&str, &str),
    batch_id: &str,
    expires_at: NaiveDateTime,
) -> QueryResult<()> {
    diesel::insert_into(outbox_leases::table)
        .values((
            outbox_leases::first_id.eq(first),
            outbox_leases::last_id.eq(last),
            outbox_leases::batch_id.eq(batch_id),
            outbox_leases::expires_at.eq(expires_at),
        ))
        .execute(db)
        .map(drop)
}

/// Ids between two leases, both ends excluded.
#[derive(Debug, PartialEq, Eq)]
struct Gap<'a> {
    after: &'a str,
    before: Option<&'a str>,
}

/// Returns the gaps between these leases, which are ordered by id, as far as they lie after `after`.
fn gaps<'a>(live: &'a [LeasedRange], after: &'a str) -> Vec<Gap<'a>> {
    let (mut gaps, mut from) = (Vec::with_capacity(live.len() + 1), after);
    for range in live {
        if range.first_id.as_str() > from {
            gaps.push(Gap {
                after: from,
                before: Some(&range.first_id),
            });
        }
        from = from.max(&range.last_id);
    }
    gaps.push(Gap {
        after: from,
        before: None,
    });
    gaps
}

type Row = (String, String, String, String);

impl Gap<'_> {
    /// Returns its oldest rows.
    fn rows(&self, db: &mut Db, limit: i64) -> QueryResult<Vec<Row>> {
        type Columns = (Text, Text, Text, Text);
        match self.before {
            Some(before) => statement::<Columns>(
                "SELECT id, exchange, routing_key, body FROM outbox \
                     WHERE state = 'pending' AND id > $1 AND id < $2 ORDER BY id LIMIT $3",
            )
            .bind::<Text, _>(self.after)
            .bind::<Text, _>(before)
            .bind::<BigInt, _>(limit)
            .load(db),
            None => statement::<Columns>(
                "SELECT id, exchange, routing_key, body FROM outbox \
                     WHERE state = 'pending' AND id > $1 ORDER BY id LIMIT $2",
            )
            .bind::<Text, _>(self.after)
            .bind::<BigInt, _>(limit)
            .load(db),
        }
    }

    /// Returns its oldest id.
    fn first(&self, db: &mut Db) -> QueryResult<Option<String>> {
        Ok(self.rows(db, 1)?.pop().map(|row| row.0))
    }
}

fn to_row((id, exchange, routing_key, body): Row, expired: &[LeasedRange]) -> OutboxRow {
    OutboxRow {
        reclaimed: expired.iter().any(|range| range.contains(&id)),
        id,
        exchange,
        routing_key,
        body,
    }
}
