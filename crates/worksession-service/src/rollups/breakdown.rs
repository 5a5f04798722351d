use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Error;
use crate::rules::points::Points;

/// The most parts of a day. Each submit of the day rewrites all of them.
const MAX_PARTS: usize = 200;
/// The part that counts everything beyond [`MAX_PARTS`].
const OTHERS: &str = "other";

/// Totals of submitted sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Worked)]
pub(crate) struct SessionSums {
    pub(crate) sessions: i64,
    /// Credited minutes.
    pub(crate) minutes: i64,
    pub(crate) points: Points,
}

impl std::ops::AddAssign for SessionSums {
    fn add_assign(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.minutes += other.minutes;
        self.points.0 += other.points.0;
    }
}

/// How a day or month divides by hour, category or project. It is JSON in the row of the day or month
/// (`{"9": [sessions, minutes, points in hundredths]}`): a year takes at most 366 rows for any breakdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Breakdown(BTreeMap<String, SessionSums>);

impl Breakdown {
    /// Parses the column; null is empty.
    ///
    /// # Errors
    /// When the text is not in the form of [`Breakdown::to_text`].
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Error> {
        let parts: BTreeMap<String, (i64, i64, i64)> =
            serde_json::from_str(text.unwrap_or("{}")).map_err(Error::internal)?;
        let sums = |(key, (sessions, minutes, points))| {
            let points = Points(points);
            let sums = SessionSums {
                sessions,
                minutes,
                points,
            };
            (key, sums)
        };
        Ok(Self(parts.into_iter().map(sums).collect()))
    }

    /// Adds to the part `key`, or to [`OTHERS`] if there are [`MAX_PARTS`] already.
    pub(crate) fn add(&mut self, key: &str, sums: SessionSums) {
        let is_full = self.0.len() >= MAX_PARTS && !self.0.contains_key(key);
        let key = if is_full { OTHERS } else { key };
        *self.0.entry(key.to_owned()).or_default() += sums;
    }

    /// Returns the parts, ordered by their keys as text.
    pub(crate) fn into_parts(self) -> impl Iterator<Item = (String, SessionSums)> {
        self.0.into_iter()
    }

    /// Returns the text of the column.
    ///
    /// # Errors
    /// Never in practice: the keys are texts and the values are numbers.
    pub(crate) fn to_text(&self) -> Result<String, Error> {
        let parts: BTreeMap<_, _> = self
            .0
            .iter()
            .map(|(key, sums)| (key, (sums.sessions, sums.minutes, sums.points.0)))
            .collect();
        serde_json::to_string(&parts).map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stored_breakdown_reads_back(parts in prop::collection::vec((".{0,12}", 0_i64..3, 0_i64..500, 0_i64..9_000), 0..20)) {
            let mut breakdown = Breakdown::default();
            let mut total = SessionSums::default();
            for (key, sessions, minutes, points) in parts {
                let sums = SessionSums { sessions, minutes, points: Points(points) };
                breakdown.add(&key, sums);
                total += sums;
            }
            prop_assert_eq!(&Breakdown::parse(Some(&breakdown.to_text().unwrap())).unwrap(), &breakdown);
            let mut again = SessionSums::default();
            for (_, sums) in breakdown.into_parts() {
                again += sums;
            }
            prop_assert_eq!(again, total);
        }
    }

    #[test]
    fn a_text_of_another_format_is_no_breakdown() {
        assert_eq!(Breakdown::parse(None).unwrap(), Breakdown::default());
        for text in ["", "[]", r#"{"9": 1}"#, r#"{"9": [1, 2]}"#] {
            assert!(Breakdown::parse(Some(text)).is_err(), "{text}");
        }
    }
}
