//! The Markdown of the page.

use super::defaults::Value;
use super::keys::Key;
use std::fmt::Write as _;

/// The page under construction.
pub(super) struct Page(String);

impl Page {
    pub(super) fn new() -> Self {
        Self(String::new())
    }

    pub(super) fn text(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(text.trim());
        self.0.push('\n');
    }

    /// Adds a table with aligned columns, except the last one, which contains sentences.
    pub(super) fn table<const N: usize>(&mut self, header: [&str; N], rows: &[[String; N]]) {
        let mut widths = header.map(width);
        for row in rows {
            for (width_so_far, cell) in widths.iter_mut().zip(row) {
                *width_so_far = width(cell).max(*width_so_far);
            }
        }
        if let Some(last) = widths.last_mut() {
            *last = 0;
        }
        self.0.push('\n');
        self.row(&header.map(str::to_owned), widths, ' ');
        self.row(&widths.map(|width| "-".repeat(width.max(3))), widths, '-');
        for row in rows {
            self.row(row, widths, ' ');
        }
    }

    fn row<const N: usize>(&mut self, cells: &[String; N], widths: [usize; N], fill: char) {
        for (cell, least) in cells.iter().zip(widths) {
            let missing = least.saturating_sub(width(cell));
            // Writing to a String cannot fail.
            let _ = write!(self.0, "| {cell}{} ", fill.to_string().repeat(missing));
        }
        self.0.push_str("|\n");
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

/// Returns a key's row. A variable begins with `prefix`. A key of a table in the file has no prefix, and no `_FILE`.
pub(super) fn row(key: &Key, prefix: Option<&str>) -> [String; 4] {
    let name = match prefix {
        Some(prefix) => environment(prefix, &key.path),
        None => key.path.join("."),
    };
    let file = if key.is_secret && prefix.is_some() {
        ", `…_FILE`"
    } else {
        ""
    };
    [
        format!("`{name}`{file}"),
        key.form.clone(),
        shown(&key.default),
        escaped(&key.meaning),
    ]
}

/// Returns the name of a variable, such as `IDENTITY__DATABASE__POOL_SIZE`.
pub(super) fn environment(prefix: &str, path: &[String]) -> String {
    format!("{prefix}__{}", path.join("__")).to_uppercase()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Unset => "–".to_owned(),
        Value::Text(text) if text.is_empty() => "empty".to_owned(),
        Value::Text(text) => format!("`{text}`"),
        Value::List(items) if items.is_empty() => "empty".to_owned(),
        Value::List(items) => format!("`{}`", items.join(",")),
        Value::Fields(_) => String::new(),
    }
}

/// Escapes bars, which would end a cell.
pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
