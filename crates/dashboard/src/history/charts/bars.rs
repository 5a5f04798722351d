use super::{title, units};
use crate::api::SessionTotals;
use crate::text;

const WIDTH: i64 = 4_000;
const HEIGHT: i64 = 1_700;
/// Space for the labels of the axis.
const LEFT: i64 = 480;
/// Space for half of the last column's label.
const RIGHT: i64 = 180;
const TOP: i64 = 100;
/// Space for the labels of the columns.
const BOTTOM: i64 = 200;

/// Minutes as columns side by side.
pub(crate) struct Bars {
    pub(crate) width: i64,
    pub(crate) height: i64,
    pub(crate) left: i64,
    pub(crate) right: i64,
    pub(crate) bars: Vec<Bar>,
    pub(crate) ticks: Vec<Tick>,
    /// The vertical position of the goal's line.
    pub(crate) goal: Option<i64>,
    pub(crate) label_y: i64,
}

/// A value and its name.
#[derive(Clone)]
pub(crate) struct Column {
    /// The full name, for the table.
    pub(crate) name: String,
    /// The label under the column, if there is space for it.
    pub(crate) label: String,
    pub(crate) worked: SessionTotals,
}

pub(crate) struct Bar {
    pub(crate) x: i64,
    pub(crate) y: i64,
    pub(crate) width: i64,
    pub(crate) height: i64,
    pub(crate) middle: i64,
    pub(crate) label: Option<String>,
    pub(crate) title: String,
    pub(crate) reaches_goal: bool,
}

pub(crate) struct Tick {
    pub(crate) y: i64,
    pub(crate) text_y: i64,
    pub(crate) label: String,
}

impl Bars {
    /// Draws these columns, at most `labels` of them with a label, and a line at `goal` minutes.
    pub(crate) fn draw(columns: &[Column], labels: usize, goal: Option<i64>) -> Self {
        let most = columns.iter().map(|column| column.worked.minutes).max();
        let top = round_up(most.unwrap_or(0).max(goal.unwrap_or(0)));
        let (base, room) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP);
        let at = |minutes: i64| base - room * minutes / top;
        let count = units(columns.len()).max(1);
        let every = columns.len().div_ceil(labels.max(1)).max(1);
        let (span, gap) = (WIDTH - LEFT - RIGHT, 240 / count + 6);
        let bar = |(index, column): (usize, &Column)| {
            let from = LEFT + span * units(index) / count;
            let to = LEFT + span * (units(index) + 1) / count;
            // Counted from the last column, so that today always has its label.
            let is_named = (columns.len() - 1 - index).is_multiple_of(every);
            let worked = column.worked;
            Bar {
                x: from + gap / 2,
                y: at(worked.minutes),
                width: (to - from - gap).max(4),
                height: base - at(worked.minutes),
                middle: i64::midpoint(from, to),
                label: is_named.then(|| column.label.clone()),
                title: title(&column.name, worked),
                reaches_goal: goal.is_some_and(|goal| worked.minutes >= goal),
            }
        };
        let tick = |minutes: i64| Tick {
            y: at(minutes),
            text_y: at(minutes) + 40,
            label: match minutes {
                0 => "0".to_owned(),
                _ => text::minutes(minutes),
            },
        };
        Self {
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            right: WIDTH - RIGHT,
            bars: columns.iter().enumerate().map(bar).collect(),
            ticks: [0, top / 2, top].map(tick).into(),
            goal: goal.map(at),
            label_y: HEIGHT - 60,
        }
    }
}

/// Returns a round number that is not below these minutes, and whose half is round, too.
fn round_up(minutes: i64) -> i64 {
    let steps = [30, 60, 120, 240, 480, 600, 960, 1_200, 1_920];
    let found = steps.into_iter().find(|step| minutes <= *step);
    found.unwrap_or_else(|| (minutes + 1_199) / 1_200 * 1_200)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(minutes: &[i64]) -> Vec<Column> {
        let column = |(index, minutes): (usize, &i64)| Column {
            name: format!("day {index}"),
            label: index.to_string(),
            worked: SessionTotals {
                sessions: 1,
                minutes: *minutes,
            },
        };
        minutes.iter().enumerate().map(column).collect()
    }

    #[test]
    fn a_column_is_as_high_as_its_minutes_and_stays_inside() {
        let chart = Bars::draw(&columns(&[0, 60, 120, 119]), 4, Some(60));
        let heights: Vec<i64> = chart.bars.iter().map(|bar| bar.height).collect();
        assert_eq!(heights[0], 0);
        assert_eq!(heights[1] * 2, heights[2]);
        assert!(heights[3] < heights[2]);
        let reached: Vec<bool> = chart.bars.iter().map(|bar| bar.reaches_goal).collect();
        assert_eq!(reached, [false, true, true, true]);
        assert_eq!(chart.goal, Some(chart.bars[1].y));
        for bar in &chart.bars {
            assert!(bar.x >= LEFT && bar.x + bar.width <= WIDTH && bar.y >= TOP);
        }
    }

    #[test]
    fn nothing_and_a_lot_can_be_drawn() {
        assert_eq!(Bars::draw(&[], 4, None).bars.len(), 0);
        let chart = Bars::draw(&columns(&[100_000; 366]), 6, None);
        assert!(chart.bars.iter().all(|bar| bar.y >= TOP && bar.width > 0));
        let named = chart.bars.iter().filter(|bar| bar.label.is_some()).count();
        assert!((4..=6).contains(&named), "{named}");
        assert!(chart.bars.last().is_some_and(|bar| bar.label.is_some()));
    }
}
