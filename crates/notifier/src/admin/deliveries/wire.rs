use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use service_kit::cli::output::{Column, minute, record, second, table};
use uuid::Uuid;

use super::super::context::short;
use super::queries::Delivery;
use crate::text::line;

/// A delivery, for users and programs.
#[derive(Serialize)]
pub(super) struct DeliveryEntry {
    id: String,
    medium: String,
    kind: String,
    /// The project of a chat.
    project_id: Option<i64>,
    webhook_id: Option<i64>,
    request_id: Option<String>,
    state: String,
    attempts: i64,
    created_at: Option<DateTime<Utc>>,
    /// The time of the next attempt; null when the delivery is settled.
    next_attempt_at: Option<DateTime<Utc>>,
    /// When the delivery expires; null when it is settled.
    give_up_at: Option<DateTime<Utc>>,
    settled_at: Option<DateTime<Utc>>,
    /// Why it failed, was skipped or is retried.
    reason: Option<String>,
    #[serde(skip)]
    now: DateTime<Utc>,
}

impl DeliveryEntry {
    pub(super) fn from_delivery(delivery: Delivery, now: DateTime<Utc>) -> Self {
        let open = delivery.settled_at.is_none();
        let number = || delivery.destination_id.parse().ok();
        Self {
            project_id: (delivery.medium == "chat").then(number).flatten(),
            webhook_id: (delivery.medium == "webhook").then(number).flatten(),
            created_at: created_at(&delivery.id),
            next_attempt_at: open.then(|| delivery.next_attempt_at.and_utc()),
            give_up_at: open.then(|| delivery.give_up_at.and_utc()),
            settled_at: delivery.settled_at.map(|at| at.and_utc()),
            id: delivery.id,
            medium: delivery.medium,
            kind: delivery.kind,
            request_id: delivery.request_id,
            state: delivery.state,
            attempts: delivery.attempts,
            reason: delivery.reason,
            now,
        }
    }

    /// Returns what it is and where it goes: `plan to project 3`, `mail verify_email`, `call of webhook 5`, `logout at
    /// 3f2a…`.
    pub(super) fn name(&self) -> String {
        let kind = line(&self.kind, 64);
        match (self.project_id, self.webhook_id) {
            (Some(project), _) => format!("{kind} to project {project}"),
            (_, Some(webhook)) => format!("{kind} of webhook {webhook}"),
            (None, None) if self.medium == "logout" => format!("logout at {kind}"),
            (None, None) => format!("mail {kind}"),
        }
    }

    /// Returns the time until the next attempt.
    fn next(&self) -> String {
        let next = self.next_attempt_at;
        next.map(|at| until(at - self.now)).unwrap_or_default()
    }

    fn reason(&self) -> String {
        line(self.reason.as_deref().unwrap_or_default(), 500)
    }

    pub(super) fn text(&self) -> String {
        let time = |at: Option<DateTime<Utc>>| at.map(second).unwrap_or_default();
        let next = match self.next_attempt_at {
            Some(_) => format!("{} ({})", time(self.next_attempt_at), self.next()),
            None => String::new(),
        };
        let fields = [
            ("id", self.id.clone()),
            ("delivery", self.name()),
            ("state", self.state.clone()),
            ("attempts", self.attempts.to_string()),
            ("since", time(self.created_at)),
            ("next", next),
            ("expires", time(self.give_up_at)),
            ("settled", time(self.settled_at)),
            ("reason", self.reason()),
            (
                "request",
                line(self.request_id.as_deref().unwrap_or_default(), 128),
            ),
        ];
        let filled = record(fields);
        let filled = filled.lines().map(str::trim_end);
        // Fields without a value are left out.
        let filled: Vec<&str> = filled.filter(|line| line.contains("  ")).collect();
        filled.join("\n")
    }
}

#[derive(Serialize)]
pub(super) struct DeliveryList {
    deliveries: Vec<DeliveryEntry>,
    /// The value for `--before`; null on the last page.
    next_before: Option<String>,
}

impl DeliveryList {
    pub(super) fn new(mut found: Vec<Delivery>, limit: usize, now: DateTime<Utc>) -> Self {
        let more = found.len() > limit;
        found.truncate(limit);
        let entry = |delivery| DeliveryEntry::from_delivery(delivery, now);
        Self {
            next_before: found.last().filter(|_| more).map(|last| last.id.clone()),
            deliveries: found.into_iter().map(entry).collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        let rows = self.deliveries.iter().map(|entry| {
            [
                short(&entry.id),
                entry.created_at.map(minute).unwrap_or_default(),
                entry.name(),
                entry.state.clone(),
                entry.attempts.to_string(),
                entry.next(),
                entry.reason(),
            ]
        });
        let columns = [
            Column::Whole("ID"),
            Column::Whole("SINCE (UTC)"),
            Column::Cut("DELIVERY"),
            Column::Whole("STATE"),
            Column::Number("TRIES"),
            Column::Whole("NEXT"),
            Column::Cut("REASON"),
        ];
        let mut text = table(columns, rows, "No deliveries found.");
        if let Some(last) = &self.next_before {
            text += &format!("\n\nNext page: --before {last}");
        }
        text
    }
}

/// Returns when the delivery was created, which is the first part of its id (UUIDv7).
fn created_at(id: &str) -> Option<DateTime<Utc>> {
    let (seconds, nanos) = Uuid::parse_str(id).ok()?.get_timestamp()?.to_unix();
    DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanos)
}

/// Formats a duration as `now`, `in 40 s`, `in 5 min` or `in 3 h`.
fn until(wait: TimeDelta) -> String {
    match wait.num_seconds() {
        ..=0 => "now".to_owned(),
        seconds @ 1..=99 => format!("in {seconds} s"),
        seconds @ 100..=5_999 => format!("in {} min", seconds / 60),
        seconds => format!("in {} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_shown_in_its_largest_unit() {
        for (seconds, text) in [
            (-5, "now"),
            (0, "now"),
            (1, "in 1 s"),
            (99, "in 99 s"),
            (100, "in 1 min"),
            (3_600, "in 60 min"),
            (6_000, "in 1 h"),
            (90_000, "in 25 h"),
        ] {
            assert_eq!(until(TimeDelta::seconds(seconds)), text);
        }
    }

    #[test]
    fn a_delivery_id_contains_its_creation_time() {
        let at = created_at("01945b7a-0000-7000-8000-000000000001");
        assert_eq!(at.map(minute).as_deref(), Some("2025-01-12 17:05"));
        assert_eq!(created_at("none"), None);
    }
}
