//! Rows of sessions in the past.

use chrono::{DateTime, NaiveDateTime, TimeDelta};

use crate::database::execute;
use crate::service_fixture::Service;

/// The rows of one statement.
const BATCH: usize = 500;

/// A past session; [`PastSession::default`] is 25 minutes of coding, completed.
#[derive(Debug, Clone)]
pub struct PastSession {
    pub id: String,
    pub user: i64,
    pub status: &'static str,
    pub category: String,
    pub project: String,
    pub started_at: NaiveDateTime,
    pub planning_note: String,
    pub note: String,
    /// A JSON array.
    pub tags: String,
}

impl Default for PastSession {
    fn default() -> Self {
        Self {
            id: String::new(),
            user: 7,
            status: "completed",
            category: "coding".to_owned(),
            project: "none".to_owned(),
            started_at: DateTime::UNIX_EPOCH.naive_utc(),
            planning_note: "the plan".to_owned(),
            note: "done".to_owned(),
            tags: "[]".to_owned(),
        }
    }
}

impl PastSession {
    /// Returns the `n`th of many sessions that start an hour apart.
    pub fn nth(n: usize) -> Self {
        let first: NaiveDateTime = "2020-01-01T00:00:00".parse().unwrap();
        Self {
            id: format!("01890a5d-ac96-774b-bcce-{n:012x}"),
            started_at: first + TimeDelta::hours(i64::try_from(n).unwrap()),
            ..Self::default()
        }
    }

    fn values(&self) -> String {
        let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let end = self.started_at + TimeDelta::minutes(25);
        let is_open = matches!(self.status, "running" | "awaiting_submit");
        let executed = |sql: &str| {
            if is_open {
                "NULL".to_owned()
            } else {
                sql.to_owned()
            }
        };
        // An open session ends in the future, so that the sweeper does not abandon it.
        let expected_end = if is_open {
            "2100-01-01 00:00:00".to_owned()
        } else {
            end.to_string()
        };
        let ended = if self.status == "running" {
            "NULL".to_owned()
        } else {
            format!("'{end}'")
        };
        format!(
            "({id}, {user}, 'person{user}', 'client_a', {category}, 25, {plan}, {project}, {name}, {team}, {status}, \
             '{start}', '{expected_end}', {ended}, 'UTC', {submitted}, {client_start}, {submitted}, {minutes}, {points}, \
             {note}, {tags}, 'digest')",
            id = text(&self.id),
            user = self.user,
            category = text(&self.category),
            plan = text(&self.planning_note),
            project = text(&self.project),
            name = text(if self.project == "none" { "" } else { "Engine" }),
            team = if self.project.starts_with("team_") {
                "3"
            } else {
                "NULL"
            },
            status = text(self.status),
            start = self.started_at,
            submitted = executed(&format!("'{end}'")),
            client_start = executed(&format!("'{}'", self.started_at)),
            minutes = if is_open { 0 } else { 25 },
            points = if is_open { 0 } else { 255 },
            note = text(&self.note),
            tags = text(&self.tags),
        )
    }
}

/// Inserts the sessions as they would be stored after years, without rollups.
pub fn insert_sessions(service: &Service, sessions: &[PastSession]) {
    for batch in sessions.chunks(BATCH) {
        let values: Vec<String> = batch.iter().map(PastSession::values).collect();
        execute(
            service,
            &format!(
                "INSERT INTO sessions (session_id, user_id, username, client, category, planned_duration, \
                  planning_note, project_id, project_name, team_id, status, started_at, expected_end_at, ended_at, \
                  zone, submitted_at, start_time, end_time, credited_minutes, points_centi, note, tags, start_digest) \
                 VALUES {}",
                values.join(", ")
            ),
        );
    }
}
