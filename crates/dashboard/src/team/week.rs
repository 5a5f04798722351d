use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Days, Utc};
use futures_util::future::try_join_all;
use web_kit::text::with_query;

use super::bodies::{Activity, Entry, TeamProject};
use crate::api::{ApiError, Caller};
use crate::text::Clockface;

/// Projects that are looked at.
const PROJECTS: usize = 20;
/// Pages of a project's activity, of 200 sessions each.
const PAGES: usize = 5;

/// What a team does now and did this week, put together from its projects' activity.
pub(super) struct Week {
    /// Sessions that run.
    pub(super) running: Vec<(Entry, String)>,
    /// By username.
    pub(super) people: BTreeMap<String, Sums>,
    /// Whether there was more than is looked at.
    pub(super) is_cut: bool,
}

/// Somebody's week, in minutes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) sessions: i64,
    pub(super) planned: i64,
    pub(super) finished: i64,
}

/// The first moment of the week that the reader is in.
pub(super) fn monday(now: DateTime<Utc>, face: Clockface) -> DateTime<Utc> {
    let today = face.date(&now);
    let since = today.weekday().num_days_from_monday();
    let monday = today.checked_sub_days(Days::new(since.into()));
    face.midnight(monday.unwrap_or(today))
}

impl Week {
    /// Reads it.
    pub(super) async fn load(
        call: Caller<'_>,
        projects: &[TeamProject],
        since: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Self, ApiError> {
        let looked_at = projects.iter().take(PROJECTS);
        let read = looked_at.map(|project| entries(call, project.id, since));
        let found = try_join_all(read).await?;
        let mut week = Self {
            running: Vec::new(),
            people: BTreeMap::new(),
            is_cut: projects.len() > PROJECTS,
        };
        for (project, (entries, is_cut)) in projects.iter().zip(found) {
            week.is_cut |= is_cut;
            for entry in entries {
                week.add(entry, &project.name, since, now);
            }
        }
        week.running.sort_by_key(|(entry, _)| entry.started_at);
        Ok(week)
    }

    fn add(&mut self, entry: Entry, project: &str, since: DateTime<Utc>, now: DateTime<Utc>) {
        if entry.started_at >= since {
            let sums = self.people.entry(entry.user.username.clone()).or_default();
            sums.sessions += 1;
            sums.planned += entry.planned_duration;
            sums.finished += entry.credited_minutes;
        }
        if entry.status == "running" && entry.expected_end_at > now {
            self.running.push((entry, project.to_owned()));
        }
    }

    /// All of the team.
    pub(super) fn total(&self) -> Sums {
        self.people.values().fold(Sums::default(), |all, one| Sums {
            sessions: all.sessions + one.sessions,
            planned: all.planned + one.planned,
            finished: all.finished + one.finished,
        })
    }
}

/// A project's sessions of the week, and whether there were more.
async fn entries(
    call: Caller<'_>,
    project: i64,
    since: DateTime<Utc>,
) -> Result<(Vec<Entry>, bool), ApiError> {
    let path = format!("/api/team-projects/{project}/activity");
    let (mut entries, mut cursor) = (Vec::new(), String::new());
    for _ in 0..PAGES {
        let query = [("limit", "200"), ("cursor", cursor.as_str())];
        let page: Activity = call.get(&with_query(&path, &query)).await?;
        let is_older = page
            .activity
            .last()
            .is_some_and(|last| last.started_at < since);
        entries.extend(page.activity);
        match page.next_cursor {
            Some(next) if !is_older => cursor = next,
            _ => return Ok((entries, false)),
        }
    }
    Ok((entries, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_begins_on_the_readers_monday() {
        let now = "2026-11-22T23:30:00Z".parse().expect("a time");
        let of = |zone| monday(now, Clockface::of(zone)).to_rfc3339();
        assert_eq!(of("UTC"), "2026-11-16T00:00:00+00:00");
        assert_eq!(of("Europe/Berlin"), "2026-11-22T23:00:00+00:00");
    }
}
