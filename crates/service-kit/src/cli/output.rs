//! Tables for people: aligned, at most as wide as the terminal, with long values cut.

use chrono::{DateTime, Utc};
use comfy_table::{CellAlignment, Table, TableStyle};

/// The width of a table without a terminal.
const WIDTH: usize = 100;
/// The maximum width; longer lines are hard to follow.
const WIDEST: usize = 160;
/// Spaces between two columns.
const GAP: u16 = 2;
/// The minimum width of a column that is cut, in characters.
const LEAST: usize = 6;

/// The layout of a column.
#[derive(Debug, Clone, Copy)]
pub enum Column {
    /// As wide as its longest value.
    Whole(&'static str),
    /// Like [`Column::Whole`], but aligned right.
    Number(&'static str),
    /// Cut if the table would be too wide.
    Cut(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Whole(name) | Self::Number(name) | Self::Cut(name) => name,
        }
    }
}

/// Formats rows as a table with a header, or returns the sentence `nothing` if there are none.
#[must_use]
pub fn table<const N: usize>(
    columns: [Column; N],
    rows: impl IntoIterator<Item = [String; N]>,
    nothing: &str,
) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    if rows.is_empty() {
        return nothing.to_owned();
    }
    let widths = widths(columns, &rows, width());
    let mut table = Table::new();
    table
        .load_style(TableStyle::new())
        .set_header(columns.map(Column::name));
    for row in rows {
        let cells = row.into_iter().zip(widths);
        table.add_row(cells.map(|(text, width)| cut(text, width)));
    }
    for (column, kind) in table.column_iter_mut().zip(columns) {
        column.set_padding((0, GAP));
        if let Column::Number(_) = kind {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Returns the maximum width of a table.
fn width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).min(WIDEST),
        _ => WIDTH,
    }
}

/// Returns the width of each column. Of the columns that can be cut, the widest is cut first.
fn widths<const N: usize>(columns: [Column; N], rows: &[[String; N]], width: usize) -> [usize; N] {
    let mut widths = columns.map(|column| column.name().chars().count());
    for row in rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    let room = width.saturating_sub(usize::from(GAP) * N.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let cut = widths
            .iter_mut()
            .zip(columns)
            .filter(|(width, column)| matches!(column, Column::Cut(_)) && **width > LEAST)
            .max_by_key(|(width, _)| **width);
        match cut {
            Some((width, _)) => *width -= 1,
            None => break,
        }
    }
    widths
}

fn cut(text: String, width: usize) -> String {
    if text.chars().count() <= width {
        return text;
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// Formats one record, with a line for each field.
#[must_use]
pub fn record<const N: usize>(fields: [(&str, String); N]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    fields
        .iter()
        .map(|(name, value)| format!("{name:width$}  {value}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Formats a time to the minute, in UTC.
#[must_use]
pub fn minute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M").to_string()
}

/// Formats a time to the second, in UTC.
#[must_use]
pub fn second(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats the date of a time, in UTC.
#[must_use]
pub fn day(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d").to_string()
}

/// Formats a number with its noun: `1 session`, `2 sessions`.
#[must_use]
pub fn count(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}

#[cfg(test)]
mod tests {
    use super::{Column, widths};

    #[test]
    fn a_table_fits_its_room_by_cutting_what_may_be_cut_the_widest_first() {
        let columns = [Column::Whole("ID"), Column::Cut("WHAT"), Column::Cut("WHY")];
        let rows = [["i".repeat(12), "w".repeat(20), "y".repeat(90)]];
        assert_eq!(widths(columns, &rows, 200), [12, 20, 90]);
        assert_eq!(widths(columns, &rows, 80), [12, 20, 44]);
        assert_eq!(widths(columns, &rows, 40), [12, 12, 12]);
        // Columns that cannot be cut stay whole, whatever the terminal.
        assert_eq!(widths(columns, &rows, 10), [12, 6, 6]);
    }
}
