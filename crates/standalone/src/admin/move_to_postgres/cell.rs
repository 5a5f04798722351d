//! A value, on its way from a SQLite file into a column of PostgreSQL, and as it is read back.

use aws_lc_rs::digest::{Context, SHA256};
use chrono::{NaiveDate, NaiveDateTime, Timelike as _};
use rusqlite::types::ValueRef;

use crate::admin::files::hex;

/// The type of a column in PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// `smallint`, `integer` and `bigint`.
    Whole,
    /// `boolean`, which SQLite stores as 0 and 1.
    Truth,
    /// `double precision`.
    Real,
    /// `text`.
    Text,
    /// `bytea`.
    Bytes,
    /// `timestamp without time zone`, which SQLite stores as text.
    Moment,
    /// `date`, which SQLite stores as text.
    Day,
}

impl ColumnType {
    /// Returns the kind of a type in `information_schema`; none for a type that no migration has used yet.
    pub(super) fn from_sql(data_type: &str) -> Option<Self> {
        Some(match data_type {
            "smallint" | "integer" | "bigint" => Self::Whole,
            "boolean" => Self::Truth,
            "double precision" => Self::Real,
            "text" => Self::Text,
            "bytea" => Self::Bytes,
            "timestamp without time zone" => Self::Moment,
            "date" => Self::Day,
            _ => return None,
        })
    }
}

/// A value in a form that is the same for both databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Null,
    /// An integer.
    Whole(i64),
    Truth(bool),
    /// The 64 bits of a real number.
    Real(u64),
    Text(String),
    Bytes(Vec<u8>),
    /// A time in UTC, in whole microseconds.
    Moment(NaiveDateTime),
    Day(NaiveDate),
}

impl Cell {
    /// Converts a value of a SQLite file. The error says why PostgreSQL cannot store it.
    pub(super) fn of_sqlite(value: ValueRef<'_>, kind: ColumnType) -> Result<Self, &'static str> {
        match (value, kind) {
            (ValueRef::Null, _) => Ok(Self::Null),
            (ValueRef::Integer(number), ColumnType::Whole) => Ok(Self::Whole(number)),
            (ValueRef::Integer(0), ColumnType::Truth) => Ok(Self::Truth(false)),
            (ValueRef::Integer(1), ColumnType::Truth) => Ok(Self::Truth(true)),
            (ValueRef::Real(number), ColumnType::Real) => Ok(Self::Real(number.to_bits())),
            (ValueRef::Blob(bytes), ColumnType::Bytes) => Ok(Self::Bytes(bytes.to_vec())),
            (ValueRef::Text(bytes), ColumnType::Text | ColumnType::Moment | ColumnType::Day) => {
                let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8")?;
                if text.contains('\0') {
                    return Err("contains a NUL character, which PostgreSQL cannot store");
                }
                Self::of_text(text, kind)
            }
            _ => Err("does not have the column's type"),
        }
    }

    /// Parses a value in PostgreSQL's text form, which for times and dates is that of SQLite.
    pub(super) fn of_text(text: &str, kind: ColumnType) -> Result<Self, &'static str> {
        const WRONG: &str = "does not have the column's type";
        Ok(match kind {
            ColumnType::Whole => Self::Whole(text.parse().map_err(|_| WRONG)?),
            ColumnType::Truth => Self::Truth(text.parse().map_err(|_| WRONG)?),
            ColumnType::Real => Self::Real(text.parse::<f64>().map_err(|_| WRONG)?.to_bits()),
            ColumnType::Text => Self::Text(text.to_owned()),
            ColumnType::Bytes => Self::Bytes(bytes_of(text).ok_or(WRONG)?),
            ColumnType::Moment => {
                let at = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f");
                let at = at.map_err(|_| "is not a time")?;
                if at.nanosecond() % 1000 != 0 {
                    return Err("is finer than a microsecond");
                }
                Self::Moment(at)
            }
            ColumnType::Day => {
                let day = NaiveDate::parse_from_str(text, "%Y-%m-%d");
                Self::Day(day.map_err(|_| "is not a date")?)
            }
        })
    }

    /// Returns the value in PostgreSQL's text form; none is NULL.
    pub(super) fn to_text(&self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Whole(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
            // The shortest text that is parsed to these bits again.
            Self::Real(bits) => format!("{:?}", f64::from_bits(*bits)),
            Self::Text(text) => text.clone(),
            Self::Bytes(bytes) => format!("\\x{}", hex(bytes)),
            Self::Moment(at) => at.format("%Y-%m-%d %H:%M:%S%.6f").to_string(),
            Self::Day(day) => day.format("%Y-%m-%d").to_string(),
        })
    }
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|it| it.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

/// The content of a table as a fingerprint, which is the same for the same rows in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TableChecksum {
    pub(super) rows: u64,
    sum: u128,
}

impl TableChecksum {
    pub(super) fn add(&mut self, row: &[Cell]) {
        let mut digest = Context::new(&SHA256);
        for cell in row {
            let (tag, text) = match cell.to_text() {
                None => (0, String::new()),
                Some(text) => (1, text),
            };
            digest.update(&[tag]);
            digest.update(&text.len().to_be_bytes());
            digest.update(text.as_bytes());
        }
        let digest = digest.finish();
        let first = digest.as_ref().first_chunk::<16>().copied();
        // A sum, not XOR, by which two equal rows would cancel each other out.
        self.sum = self
            .sum
            .wrapping_add(u128::from_be_bytes(first.unwrap_or_default()));
        self.rows = self.rows.saturating_add(1);
    }
}

impl std::fmt::Display for TableChecksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_after_the_way_through_text() {
        for (kind, cell) in [
            (ColumnType::Whole, Cell::Whole(i64::MIN)),
            (ColumnType::Truth, Cell::Truth(true)),
            (ColumnType::Real, Cell::Real(0.1_f64.to_bits())),
            (ColumnType::Real, Cell::Real((-0.0_f64).to_bits())),
            (ColumnType::Real, Cell::Real(f64::MIN_POSITIVE.to_bits())),
            (ColumnType::Real, Cell::Real(5e-324_f64.to_bits())),
            (ColumnType::Real, Cell::Real(f64::MAX.to_bits())),
            (
                ColumnType::Text,
                Cell::Text("\\x41 '\"\u{2028}🦀\\u0000".to_owned()),
            ),
            (ColumnType::Bytes, Cell::Bytes(vec![0, 255, 92])),
            (ColumnType::Bytes, Cell::Bytes(Vec::new())),
        ] {
            let text = cell.to_text().expect("a value");
            assert_eq!(Cell::of_text(&text, kind), Ok(cell));
        }
    }

    #[test]
    fn times_of_every_length_mean_the_same_and_finer_ones_are_refused() {
        let at = |text: &str| Cell::of_sqlite(ValueRef::Text(text.as_bytes()), ColumnType::Moment);
        let whole = at("1970-01-01 00:00:00").expect("a time");
        assert_eq!(at("1970-01-01 00:00:00.000"), Ok(whole.clone()));
        assert_eq!(
            whole.to_text().as_deref(),
            Some("1970-01-01 00:00:00.000000")
        );
        let fine = at("2026-11-22 18:15:17.123456").expect("a time");
        assert_eq!(
            fine.to_text().as_deref(),
            Some("2026-11-22 18:15:17.123456")
        );
        assert!(at("2026-11-22 18:15:17.1234567").is_err());
    }

    #[test]
    fn what_postgres_cannot_keep_is_refused_with_the_reason() {
        let refused = |value, kind| Cell::of_sqlite(value, kind).expect_err("refused");
        assert!(refused(ValueRef::Text(b"a\0b"), ColumnType::Text).contains("NUL"));
        assert!(refused(ValueRef::Text(b"\xff"), ColumnType::Text).contains("UTF-8"));
        assert!(refused(ValueRef::Text(b"x"), ColumnType::Whole).contains("type"));
        assert!(refused(ValueRef::Integer(2), ColumnType::Truth).contains("type"));
    }

    #[test]
    fn a_tables_content_does_not_depend_on_the_order_and_counts_rows_twice() {
        let of = |rows: &[&[Cell]]| {
            let mut checksum = TableChecksum::default();
            rows.iter().for_each(|row| checksum.add(row));
            checksum
        };
        let (a, b) = (
            [Cell::Text("a".into()), Cell::Null],
            [Cell::Null, Cell::Text("a".into())],
        );
        assert_eq!(of(&[&a, &b]), of(&[&b, &a]));
        assert_ne!(of(&[&a]), of(&[&b]));
        assert_ne!(of(&[&a, &a]), of(&[&b, &b]));
        assert_ne!(of(&[&a, &a]).to_string(), of(&[]).to_string());
    }
}
