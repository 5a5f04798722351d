use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The number of the last change that a client has seen. Clients treat its text as opaque. The leading letter leaves
/// room for another kind of cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SyncCursor(i64);

impl SyncCursor {
    /// Before every change, including rows without a number (0).
    pub(super) const BEGINNING: Self = Self(-1);

    /// Returns the cursor after the change with that number.
    pub(super) fn after(seq: i64) -> Self {
        Self(seq)
    }

    /// Returns the number of the last change that was seen.
    pub(super) fn seq(self) -> i64 {
        self.0
    }
}

impl fmt::Display for SyncCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl FromStr for SyncCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.strip_prefix('c')
            .and_then(|number| number.parse().ok())
            .map(Self)
            .filter(|cursor| cursor.0 >= 0 && cursor.to_string() == text)
            .ok_or_else(|| Error::invalid("since is not a cursor"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_invalid_cursor_is_refused() {
        for text in [
            "",
            "0",
            "c",
            "c-1",
            "c+1",
            "c01",
            "C1",
            "c1 ",
            "c9223372036854775808",
            "\u{663}",
        ] {
            let refused = text
                .parse::<SyncCursor>()
                .map_err(|error| error.to_string());
            assert_eq!(refused, Err("since is not a cursor".to_owned()), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_cursor_parses_back(seq in 0..=i64::MAX) {
            let cursor = SyncCursor::after(seq);
            prop_assert_eq!(cursor.to_string().parse::<SyncCursor>().ok(), Some(cursor));
        }
    }
}
