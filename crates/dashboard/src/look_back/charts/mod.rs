//! Charts, drawn on the server as SVG. Lengths are whole numbers in the units of each chart's `viewBox`; colours
//! are classes of the style sheet, so that both themes can be read. Whatever a chart shows stands in a table too.

mod bars;
mod heatmap;
mod shares;

pub(super) use bars::{Bars, Column};
pub(super) use heatmap::{Day, Heatmap};
pub(super) use shares::{Share, shares};

/// A count as a length.
fn units(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
