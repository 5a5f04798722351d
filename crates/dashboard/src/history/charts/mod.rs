//! Charts, drawn on the server as SVG. Lengths are integers in the units of each chart's `viewBox`. Colours are classes of the
//! style sheet, so that charts are legible in both themes. A table repeats what a chart shows.

mod bars;
mod heatmap;
mod shares;

use messages::{Argument, t};

use crate::api::SessionTotals;
use crate::text;

pub(super) use bars::{Bars, Column};
pub(super) use heatmap::Heatmap;
pub(super) use shares::{Share, shares};

/// Returns the text that a browser shows over a part of a chart.
fn title(name: impl Argument, worked: SessionTotals) -> String {
    t("history-bar")
        .with("name", name)
        .with("time", text::minutes(worked.minutes))
        .with("count", worked.sessions)
        .into()
}

fn units(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
