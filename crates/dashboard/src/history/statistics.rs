//! Statistics as charts, each with the same numbers in a table.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use chrono::NaiveDate;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use super::charts::{Bars, Column, Heatmap, Share, shares};
use super::range::Ranges;
use crate::api::{ApiError, Bucket, Project, Projects, SessionTotals, Tracking, UserData};
use crate::page_frame::PageFrame;
use crate::text::{self, TimeFormatter};
use crate::visitor::SignedInVisitor;

const DAYS: usize = 30;
/// Columns that have space for a label.
const LABELS: usize = 6;

#[derive(Deserialize)]
pub(super) struct StatisticsQuery {
    /// How many days the breakdowns cover.
    days: Option<u64>,
}

#[derive(Template)]
#[template(path = "history/statistics.html")]
struct StatisticsPage<'a> {
    frame: PageFrame,
    data: &'a UserData,
    goal: String,
    calendar: Heatmap,
    /// Days with work, the newest first.
    worked_days: Vec<Column>,
    days: Chart,
    weeks: Chart,
    range: u64,
    hours: Chart,
    categories: Vec<Share>,
    projects: Vec<Share>,
}

/// Columns, as a drawing and as a table.
struct Chart {
    drawn: Bars,
    columns: Vec<Column>,
}

pub(super) async fn page(
    user: SignedInVisitor,
    query: Query<StatisticsQuery>,
) -> actix_web::Result<HttpResponse> {
    let data = user.on(user.call().user_data().await)?;
    let now = user.visitor.dashboard.clock.now();
    let ranges = Ranges::new(now, TimeFormatter::new(&data.timezone), query.0.days);
    let page = user.on(load(&user, &data, &ranges).await)?;
    Ok(user.show(StatusCode::OK, &page))
}

async fn load<'a>(
    user: &SignedInVisitor,
    data: &'a UserData,
    ranges: &Ranges,
) -> Result<StatisticsPage<'a>, ApiError> {
    let call = user.call();
    let (year, weeks) = (ranges.year(), ranges.weeks());
    let splits = ["hour", "category", "project"].map(|group| ranges.split(group));
    let [hours, categories, projects] = &splits;
    let (year, weeks, hours, categories, projects, named) = tokio::try_join!(
        call.get::<Tracking>(&year),
        call.get::<Tracking>(&weeks),
        call.get::<Tracking>(hours),
        call.get::<Tracking>(categories),
        call.get::<Tracking>(projects),
        call.get::<Projects>("/api/all-projects?archived=true"),
    )?;
    let preferences = &data.preferences;
    let goal = preferences.daily_goal * preferences.default_duration;
    let days: Vec<Column> = year.buckets.iter().filter_map(day).collect();
    let calendar: Vec<_> = year.buckets.iter().filter_map(calendar_day).collect();
    let skipped = days.len().saturating_sub(DAYS);
    let month = days.iter().skip(skipped).cloned().collect();
    let weeks = weeks.buckets.iter().map(week).collect();
    let hours = hours.buckets.iter().map(hour).collect();
    Ok(StatisticsPage {
        frame: user.frame(t("history-title"), data),
        goal: text::minutes(goal),
        calendar: Heatmap::draw(&calendar, goal),
        worked_days: days
            .into_iter()
            .rev()
            .filter(|day| day.worked.sessions > 0)
            .collect(),
        days: Chart::new(month, Some(goal)),
        weeks: Chart::new(weeks, Some(7 * goal)),
        range: ranges.days,
        hours: Chart::new(hours, None),
        categories: shares(&categories.buckets, str::to_owned),
        projects: shares(&projects.buckets, |key| project(&named.projects, key)),
        data,
    })
}

impl Chart {
    fn new(columns: Vec<Column>, goal: Option<i64>) -> Self {
        Self {
            drawn: Bars::draw(&columns, LABELS, goal),
            columns,
        }
    }
}

fn day(bucket: &Bucket) -> Option<Column> {
    let date: NaiveDate = bucket.key.parse().ok()?;
    Some(Column {
        name: text::full_date(date),
        label: messages::short_date(date).into(),
        worked: bucket.worked,
    })
}

fn calendar_day(bucket: &Bucket) -> Option<(NaiveDate, SessionTotals)> {
    Some((bucket.key.parse().ok()?, bucket.worked))
}

fn week(bucket: &Bucket) -> Column {
    let (year, week) = bucket.key.split_once("-W").unwrap_or(("", &bucket.key));
    Column {
        name: t("history-week-of-year")
            .with("week", week.trim_start_matches('0'))
            .with("year", year)
            .into(),
        label: t("history-week-short").with("week", week).into(),
        worked: bucket.worked,
    }
}

fn hour(bucket: &Bucket) -> Column {
    Column {
        name: t("history-hour-range").with("hour", &bucket.key).into(),
        label: bucket.key.clone(),
        worked: bucket.worked,
    }
}

fn project(named: &[Project], key: &str) -> String {
    let known = named.iter().find(|project| project.id == key);
    match (known, key) {
        (Some(project), _) => match &project.team_name {
            Some(team) => format!("{} ({team})", project.name),
            None => project.name.clone(),
        },
        (None, "none") => t("history-no-project").into(),
        (None, "other") => t("history-other-projects").into(),
        // It belongs to a team that the user left, or that was deleted.
        (None, _) => t("history-unavailable-project").into(),
    }
}
