//! Charts, drawn on the server as SVG. Lengths are integers in the units of each chart's `viewBox`. Colours are classes of the
//! style sheet, so that charts are legible in both themes. A table repeats what a chart shows.

mod bars;
mod heatmap;
mod shares;

pub(super) use bars::{Bars, Column};
pub(super) use heatmap::{Day, Heatmap};
pub(super) use shares::{Share, shares};

/// Converts a count to a length.
fn units(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
