use chrono::{Datelike, Days, NaiveDate};

use super::title;
use crate::api::SessionTotals;
use crate::text;

/// The size of a cell with the space around it.
const PITCH: i64 = 13;
const LEFT: i64 = 34;
const TOP: i64 = 20;

/// A year as a calendar, with a column for each week and Monday at the top.
pub(crate) struct Heatmap {
    pub(crate) width: i64,
    pub(crate) height: i64,
    pub(crate) cells: Vec<Cell>,
    pub(crate) months: Vec<(i64, String)>,
    /// The vertical positions of the labels of Monday, Wednesday and Friday.
    pub(crate) weekdays: [i64; 3],
}

pub(crate) struct Cell {
    pub(crate) x: i64,
    pub(crate) y: i64,
    /// 0 to 4, by how much of the goal was reached.
    pub(crate) level: i64,
    pub(crate) title: String,
}

impl Heatmap {
    /// Draws the work of consecutive days; `goal` is in minutes per day.
    pub(crate) fn draw(days: &[(NaiveDate, SessionTotals)], goal: i64) -> Self {
        let first = days.first().map(|(date, _)| monday(*date));
        let first = first.unwrap_or_default();
        let place = |date: NaiveDate| {
            let column = (monday(date) - first).num_days() / 7;
            let row = i64::from(date.weekday().num_days_from_monday());
            (LEFT + PITCH * column, TOP + PITCH * row)
        };
        let cell = |(date, worked): &(NaiveDate, SessionTotals)| {
            let (x, y) = place(*date);
            Cell {
                x,
                y,
                level: level(worked.minutes, goal),
                title: title(text::full_date(*date), *worked),
            }
        };
        let begins = days.iter().filter(|(date, _)| date.day() == 1);
        let last = days.last().map_or(LEFT, |(date, _)| place(*date).0);
        let months = begins.map(|(date, _)| (place(*date).0, String::from(messages::month(*date))));
        Self {
            width: last + PITCH,
            height: TOP + 7 * PITCH,
            cells: days.iter().map(cell).collect(),
            // At the edge, a label would be cut off.
            months: months.filter(|(x, _)| *x + 20 <= last).collect(),
            weekdays: [0, 2, 4].map(|row| TOP + PITCH * row + 9),
        }
    }
}

fn level(minutes: i64, goal: i64) -> i64 {
    let goal = goal.max(1);
    (4 * minutes.min(goal) + goal - 1) / goal
}

fn monday(date: NaiveDate) -> NaiveDate {
    let since = date.weekday().num_days_from_monday();
    date.checked_sub_days(Days::new(since.into()))
        .unwrap_or(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn year() -> Vec<(NaiveDate, SessionTotals)> {
        let last: NaiveDate = "2026-11-25".parse().expect("a date");
        let days = (0..=365)
            .rev()
            .filter_map(|ago| last.checked_sub_days(Days::new(ago)));
        let worked = SessionTotals {
            sessions: 1,
            minutes: 30,
        };
        days.map(|date| (date, worked)).collect()
    }

    #[test]
    fn each_day_has_a_place_of_its_own() {
        let chart = Heatmap::draw(&year(), 120);
        let mut places: Vec<_> = chart.cells.iter().map(|cell| (cell.x, cell.y)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 366);
        assert!(
            chart
                .cells
                .iter()
                .all(|cell| cell.x + PITCH <= chart.width && cell.y + PITCH <= chart.height)
        );
        assert!(
            (11..=12).contains(&chart.months.len()),
            "{:?}",
            chart.months
        );
        // The 25th of November 2026 is a Wednesday.
        assert_eq!(chart.cells.last().map(|cell| cell.y), Some(TOP + 2 * PITCH));
    }

    #[test]
    fn the_goal_is_the_darkest_and_nothing_the_lightest() {
        let levels = [0, 1, 30, 31, 60, 90, 119, 120, 999].map(|minutes| level(minutes, 120));
        assert_eq!(levels, [0, 1, 1, 2, 2, 3, 4, 4, 4]);
        assert_eq!(Heatmap::draw(&[], 120).cells.len(), 0);
    }
}
