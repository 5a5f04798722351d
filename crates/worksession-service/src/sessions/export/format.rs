use std::str::FromStr;

use super::{calendar, csv, json};
use crate::error::Error;
use crate::sessions::record::RecordRow;

/// The format of an exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExportFormat {
    /// For spreadsheets (RFC 4180).
    Csv,
    /// All fields, as in the API.
    Json,
    /// For calendars (RFC 5545): executed sessions only.
    Ics,
}

impl ExportFormat {
    /// Returns the value of `?format=`, which is also the file's extension.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Ics => "ics",
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Json => "application/json",
            Self::Ics => "text/calendar; charset=utf-8",
        }
    }

    /// Returns what precedes the first session.
    pub(super) fn head(self) -> Result<Vec<u8>, Error> {
        match self {
            Self::Csv => csv::head(),
            Self::Json => Ok(json::HEAD.to_vec()),
            Self::Ics => Ok(calendar::HEAD.to_vec()),
        }
    }

    /// Encodes some sessions. `is_first` is whether none came before them.
    pub(super) fn sessions(self, rows: Vec<RecordRow>, is_first: bool) -> Result<Vec<u8>, Error> {
        match self {
            Self::Csv => csv::lines(rows),
            Self::Json => json::elements(rows, is_first),
            Self::Ics => Ok(calendar::events(&rows).into_bytes()),
        }
    }

    /// Returns what follows the last session.
    pub(super) fn tail(self) -> &'static [u8] {
        match self {
            Self::Csv => b"",
            Self::Json => json::TAIL,
            Self::Ics => calendar::TAIL,
        }
    }
}

impl FromStr for ExportFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        [Self::Csv, Self::Json, Self::Ics]
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| Error::invalid("format must be csv, json or ics"))
    }
}
