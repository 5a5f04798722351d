//! Pagination of lists, newest first: the size of a page, and the cursor of the next one.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime};

use crate::error::Error;

/// The default number of entries on a page.
const DEFAULT_PAGE: i64 = 50;
/// The maximum number of entries on a page.
pub(crate) const MAX_PAGE: i32 = 200;
/// The maximum number of characters of an id in a cursor; real ids are shorter.
const ID_CHARS: usize = 64;

pub(crate) fn page_size(limit: Option<i64>) -> Result<i32, Error> {
    i32::try_from(limit.unwrap_or(DEFAULT_PAGE))
        .ok()
        .filter(|limit| (1..=MAX_PAGE).contains(limit))
        .ok_or_else(|| Error::invalid(format!("limit must be 1 to {MAX_PAGE}")))
}

/// Truncates `rows`, which were read with one row more than the page, and returns whether more follow.
pub(crate) fn truncate_page<T>(rows: &mut Vec<T>, limit: i32) -> bool {
    let page = usize::try_from(limit).unwrap_or_default();
    let has_more = rows.len() > page;
    rows.truncate(page);
    has_more
}

/// A position among sessions ordered by start and then by id. As text it is the cursor of a page; it contains no
/// secret and grants no access.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionCursor {
    /// UTC.
    pub(crate) started_at: NaiveDateTime,
    pub(crate) session_id: String,
}

impl SessionCursor {
    /// Returns a position after every session.
    pub(crate) fn last() -> Self {
        let day = NaiveDate::from_ymd_opt(9999, 12, 31).unwrap_or_default();
        Self::before(day.and_time(NaiveTime::MIN))
    }

    pub(crate) fn new(started_at: NaiveDateTime, session_id: &str) -> Self {
        Self {
            started_at,
            session_id: session_id.to_owned(),
        }
    }

    /// Returns the position before every session that started at `started_at`.
    pub(crate) fn before(started_at: NaiveDateTime) -> Self {
        Self::new(started_at, "")
    }
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.started_at.and_utc().timestamp_micros();
        f.write_str(&URL_SAFE_NO_PAD.encode(format!("{micros}.{}", self.session_id)))
    }
}

impl FromStr for SessionCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let position = || {
            let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            let (micros, id) = text.split_once('.')?;
            let at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
            let known_year = (1970..=9999).contains(&at.year());
            let id_fits = id.len() <= ID_CHARS && id.bytes().all(|byte| byte.is_ascii_graphic());
            (known_year && id_fits).then(|| Self {
                started_at: at.naive_utc(),
                session_id: id.to_owned(),
            })
        };
        position()
            .filter(|position| position.to_string() == text)
            .ok_or_else(|| Error::invalid("cursor is not valid"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_has_1_to_200_entries_and_50_by_default() {
        assert_eq!(page_size(None).ok(), Some(50));
        assert_eq!(page_size(Some(1)).ok(), Some(1));
        assert_eq!(page_size(Some(200)).ok(), Some(200));
        for limit in [0, -1, 201, i64::MAX, i64::MIN] {
            let refused = page_size(Some(limit)).map_err(|error| error.to_string());
            assert_eq!(refused, Err("limit must be 1 to 200".to_owned()), "{limit}");
        }
    }

    proptest! {
        #[test]
        fn a_cursor_parses_back_to_its_position(micros in 0_i64..253_402_300_800_000_000, id in "[!-~]{0,64}") {
            let at = DateTime::from_timestamp_micros(micros).map(|at| at.naive_utc());
            let position = at.map(|started_at| SessionCursor { started_at, session_id: id });
            let read = position.as_ref().and_then(|position| position.to_string().parse().ok());
            prop_assert_eq!(read, position);
        }

        #[test]
        fn any_text_is_a_canonical_cursor_or_is_refused(text in ".{0,80}", raw in "[0-9.+-]{0,24}") {
            for text in [text, URL_SAFE_NO_PAD.encode(raw)] {
                match text.parse::<SessionCursor>() {
                    Ok(position) => prop_assert_eq!(position.to_string(), text),
                    Err(error) => prop_assert_eq!(error.to_string(), "cursor is not valid"),
                }
            }
        }
    }
}
