//! Points: integer hundredths internally, a number with decimals in JSON.

use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::credit::Completion;

/// The longest streak that still raises the multiplier.
const MAX_STREAK_BONUS: i32 = 10;

/// Points: hundredths internally, a number with two decimals in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = f64)]
pub(crate) struct Points(pub(crate) i64);

/// Returns `minutes / 10 × (1 complete, ½ partial, 0 brief) × (1 + 0.02 × min(streak, 10))`, rounded half up to
/// hundredths. `streak` is the one on the session's day, including this session.
pub(crate) fn award(completion: Completion, minutes: i32, streak: i32) -> Points {
    let bonus = i64::from(streak.clamp(0, MAX_STREAK_BONUS));
    // Tenths of a hundredth: minutes/10 × ½ × (100 + 2 × bonus)/100 points × 1000.
    let tenths = i64::from(minutes.max(0)) * (50 + bonus);
    Points(match completion {
        Completion::Completed => (tenths * 2 + 5) / 10,
        Completion::Partial => (tenths + 5) / 10,
        Completion::Brief => 0,
    })
}

impl Points {
    /// Returns the number for JSON.
    pub(crate) fn as_number(self) -> f64 {
        hundredths(self.0)
    }
}

/// Converts a whole number of hundredths to the nearest floating-point number.
pub(crate) fn hundredths(value: i64) -> f64 {
    let sign = if value < 0 { "-" } else { "" };
    let value = value.unsigned_abs();
    // Parsing rounds correctly, and i64 has no lossless conversion to f64.
    format!("{sign}{}.{:02}", value / 100, value % 100)
        .parse()
        .unwrap_or(0.0)
}

impl Serialize for Points {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_number())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn points_follow_the_formula() {
        use Completion::{Brief, Completed, Partial};
        let table = [
            (Completed, 25, 0, 250),
            (Completed, 25, 1, 255),
            (Completed, 25, 10, 300),
            (Completed, 25, 11, 300),
            (Completed, 25, 400, 300),
            (Completed, 1, 1, 10),
            (Completed, 1, 3, 11),
            (Completed, 480, 10, 5760),
            (Completed, 0, 10, 0),
            (Partial, 24, 0, 120),
            (Partial, 13, 1, 66),
            (Brief, 12, 10, 0),
            (Completed, -5, 3, 0),
        ];
        for (completion, minutes, streak, expected) in table {
            assert_eq!(
                award(completion, minutes, streak),
                Points(expected),
                "{completion:?} {minutes} {streak}"
            );
        }
    }

    #[test]
    fn hundredths_are_written_as_decimals() {
        let json = |value| serde_json::to_string(&Points(value)).unwrap();
        assert_eq!(json(0), "0.0");
        assert_eq!(json(250), "2.5");
        assert_eq!(json(255), "2.55");
        assert_eq!(json(5), "0.05");
        assert_eq!(json(-105), "-1.05");
        assert_eq!(json(123_456_789_012), "1234567890.12");
    }

    proptest! {
        /// Computes the rule as specified, over the common denominator of its factors.
        #[test]
        fn any_award_is_the_formula_rounded_half_up(minutes in 0i64..=960, streak in 0i64..40, full: bool) {
            // minutes/10 × (½ | 1) × (100 + 2·streak)/100 points, in hundredths, times 20
            let twentieths = minutes * (if full { 2 } else { 1 }) * (100 + 2 * streak.min(10));
            let expected = twentieths / 20 + i64::from(twentieths % 20 >= 10);
            let completion = if full { Completion::Completed } else { Completion::Partial };
            let got = award(completion, i32::try_from(minutes).unwrap(), i32::try_from(streak).unwrap());
            prop_assert_eq!(got, Points(expected));
        }
    }
}
