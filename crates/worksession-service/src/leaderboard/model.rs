use std::cmp::Reverse;
use std::collections::HashMap;

use auth_types::UserId;
use chrono::NaiveDateTime;

use super::wire::Entry;
use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq, diesel::Queryable)]
pub(super) struct LeaderboardRow {
    pub(super) user_id: UserId,
    pub(super) username: String,
    pub(super) points: i64,
    pub(super) minutes: i64,
    pub(super) sessions: i64,
    pub(super) reached_at: NaiveDateTime,
}

impl LeaderboardRow {
    /// Returns the sort key: most points first, and among equals the user who reached them first.
    fn cursor(&self) -> LeaderboardCursor {
        LeaderboardCursor {
            points: Reverse(self.points),
            reached_at: self.reached_at,
            user_id: self.user_id,
        }
    }
}

/// The position of a row on a board, whether or not the row still exists. As text it is the cursor of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LeaderboardCursor {
    points: Reverse<i64>,
    reached_at: NaiveDateTime,
    user_id: UserId,
}

impl LeaderboardCursor {
    /// Parses a cursor.
    ///
    /// # Errors
    /// 400 for a text that [`LeaderboardCursor::to_text`] does not produce.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let invalid = || Error::invalid("cursor is not valid");
        let mut parts = text.split('.').map(str::parse::<i64>);
        let mut next = || parts.next().and_then(Result::ok).ok_or_else(invalid);
        let (points, micros, user_id) = (next()?, next()?, next()?);
        let user_id = UserId::new(user_id).ok_or_else(invalid)?;
        let reached_at = chrono::DateTime::from_timestamp_micros(micros).ok_or_else(invalid)?;
        let cursor = Self {
            points: Reverse(points),
            reached_at: reached_at.naive_utc(),
            user_id,
        };
        (cursor.to_text() == text)
            .then_some(cursor)
            .ok_or_else(invalid)
    }

    fn to_text(self) -> String {
        let micros = self.reached_at.and_utc().timestamp_micros();
        format!("{}.{micros}.{}", self.points.0, self.user_id)
    }
}

/// A complete leaderboard at one moment.
#[derive(Debug, Default)]
pub(super) struct Leaderboard {
    rows: Vec<LeaderboardRow>,
    by_user: HashMap<UserId, usize>,
}

impl Leaderboard {
    pub(super) fn new(mut rows: Vec<LeaderboardRow>) -> Self {
        rows.sort_by_key(LeaderboardRow::cursor);
        let by_user = rows.iter().map(|row| row.user_id).zip(0..).collect();
        Self { rows, by_user }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns up to `limit` entries behind `after`, and the cursor of the next page.
    pub(super) fn page(
        &self,
        after: Option<LeaderboardCursor>,
        limit: usize,
    ) -> (Vec<Entry>, Option<String>) {
        let first = after.map_or(0, |after| {
            self.rows.partition_point(|row| row.cursor() <= after)
        });
        let rows = self.rows.get(first..).unwrap_or_default();
        let page = rows.get(..limit).unwrap_or(rows);
        let entries = page.iter().zip(first + 1..);
        let entries = entries.map(|(row, rank)| Entry::new(rank, row)).collect();
        let last = page.last().filter(|_| rows.len() > limit);
        (entries, last.map(|last| last.cursor().to_text()))
    }

    /// Returns the entry of the user.
    pub(super) fn entry(&self, user_id: UserId) -> Option<Entry> {
        let index = *self.by_user.get(&user_id)?;
        self.rows.get(index).map(|row| Entry::new(index + 1, row))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use proptest::prelude::*;

    use super::*;

    fn row(id: i64, points: i64, second: i64) -> LeaderboardRow {
        let reached_at = chrono::DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap();
        LeaderboardRow {
            user_id: UserId::new(id).unwrap(),
            username: format!("user{id}"),
            points,
            minutes: points,
            sessions: 1,
            reached_at: reached_at.naive_utc(),
        }
    }

    proptest! {
        #[test]
        fn the_pages_together_are_the_leaderboard(
            rows in prop::collection::vec((1_i64..9, 0_i64..4), 0..40),
            limit in 1_usize..9,
        ) {
            let rows: Vec<_> = rows.iter().zip(1..).map(|((points, second), id)| row(id, *points, *second)).collect();
            let board = Leaderboard::new(rows.clone());
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let (page, next) = board.page(after, limit);
                prop_assert!(page.len() == limit || next.is_none());
                seen.extend(page);
                let Some(next) = next else { break };
                after = Some(LeaderboardCursor::parse(&next).unwrap());
            }
            prop_assert_eq!(seen.len(), rows.len());
            for (entry, rank) in seen.iter().zip(1..) {
                prop_assert_eq!(entry.rank, rank);
                prop_assert_eq!(&board.entry(entry.user_id), &Some(entry.clone()));
                // The slow and simple way to compute the rank: count the rows before this one.
                let own = rows.iter().find(|row| row.user_id == entry.user_id).unwrap();
                let before = rows.iter().filter(|row| row.points > own.points
                    || (row.points == own.points && (row.reached_at, row.user_id) < (own.reached_at, own.user_id)));
                prop_assert_eq!(before.count() + 1, rank);
            }
        }
    }

    #[test]
    fn a_cursor_has_one_spelling() {
        let (_, next) = Leaderboard::new(vec![row(1, 5, 0), row(2, 4, 0)]).page(None, 1);
        let text = next.unwrap();
        assert!(LeaderboardCursor::parse(&text).is_ok());
        for other in [
            "".to_owned(),
            "1".to_owned(),
            "1.2".to_owned(),
            format!("{text}.1"),
            format!("+{text}"),
            format!("0{text}"),
            "x.y.z".to_owned(),
            "1.9223372036854775807.1".to_owned(),
        ] {
            assert!(LeaderboardCursor::parse(&other).is_err(), "{other}");
        }
    }
}
