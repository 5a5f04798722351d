use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde::Serialize;
use service_kit::cli::output::{Column, count, minute, record, second, table};

use super::super::context::{Context, short};
use super::DeadLetterSelection;
use super::body::{inline, readable};
use super::entry::DeadLetterEntry;

/// A dead letter without its body.
#[derive(Serialize)]
pub(super) struct DeadLetterSummary {
    id: String,
    queue: String,
    event_type: String,
    /// When it was dead-lettered, or for a row of an outbox, when it was written. Null when unknown.
    at: Option<DateTime<Utc>>,
    /// Why it cannot be read, as far as this version can determine.
    reason: String,
    bytes: usize,
}

impl From<&DeadLetterEntry> for DeadLetterSummary {
    fn from(entry: &DeadLetterEntry) -> Self {
        Self {
            id: entry.id(),
            queue: entry.queue.clone(),
            event_type: entry.event().to_owned(),
            at: entry.at(),
            reason: entry.reason(),
            bytes: entry.body().len(),
        }
    }
}

#[derive(Serialize, Default)]
pub(super) struct DeadLetterList {
    pub(super) parked: Vec<DeadLetterSummary>,
    /// Whether there are more matching ones.
    pub(super) more: bool,
    /// The number in all queues, without those that another command has received.
    pub(super) total: u64,
}

impl DeadLetterList {
    pub(super) fn text(&self, context: &Context) -> String {
        let rows = self.parked.iter().map(|summary| {
            [
                inline(&short(&summary.id)),
                summary.at.map(minute).unwrap_or_default(),
                inline(&summary.queue),
                inline(&summary.event_type),
                inline(&summary.reason),
            ]
        });
        let columns = [
            Column::Whole("ID"),
            Column::Whole("WHEN (UTC)"),
            Column::Cut("QUEUE"),
            Column::Cut("EVENT"),
            Column::Cut("REASON"),
        ];
        let mut text = table(columns, rows, "No dead letters.");
        if self.more {
            text += &format!(
                "\n\nThere are more, {} in all: use --limit, --queue, or {}",
                self.total,
                context.command("parked show ID")
            );
        }
        text
    }
}

/// A dead letter with its body.
#[derive(Serialize)]
pub(super) struct DeadLetterDetail {
    #[serde(flatten)]
    summary: DeadLetterSummary,
    /// The body as text; null when it is not UTF-8.
    body: Option<String>,
    /// The body in base64 when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    #[serde(skip)]
    raw: Vec<u8>,
}

impl From<&DeadLetterEntry> for DeadLetterDetail {
    fn from(entry: &DeadLetterEntry) -> Self {
        let raw = entry.body().to_vec();
        let body = String::from_utf8(raw.clone()).ok();
        Self {
            summary: entry.into(),
            body_base64: body.is_none().then(|| STANDARD.encode(&raw)),
            body,
            raw,
        }
    }
}

#[derive(Serialize)]
pub(super) struct DeadLetterDetails {
    /// One, unless several queues dead-lettered the same event.
    pub(super) parked: Vec<DeadLetterDetail>,
}

impl DeadLetterDetails {
    pub(super) fn text(&self, full: bool) -> String {
        let section = |detail: &DeadLetterDetail| {
            let summary = &detail.summary;
            let fields = record([
                ("id", inline(&summary.id)),
                ("queue", inline(&summary.queue)),
                ("event", inline(&summary.event_type)),
                ("when", summary.at.map(second).unwrap_or_default()),
                ("reason", inline(&summary.reason)),
                ("size", count(summary.bytes, "byte")),
            ]);
            format!("{fields}\n\n{}", readable(&detail.raw, full))
        };
        let all: Vec<String> = self.parked.iter().map(section).collect();
        all.join("\n\n")
    }
}

/// The result of a replay or a deletion.
#[derive(Serialize)]
pub(super) struct ReplayReport {
    #[serde(skip)]
    verb: &'static str,
    /// The number of dead letters that were replayed or deleted.
    done: u64,
    pub(super) failed: Vec<FailedReplay>,
    /// The given ids that match no dead letter.
    pub(super) missing: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct FailedReplay {
    id: String,
    queue: String,
    reason: String,
}

impl ReplayReport {
    pub(super) fn new(verb: &'static str, selection: &DeadLetterSelection) -> Self {
        Self {
            verb,
            done: 0,
            failed: Vec::new(),
            missing: selection.ids.clone(),
        }
    }

    pub(super) fn add(&mut self, entries: &[&DeadLetterEntry], outcomes: Vec<Result<(), String>>) {
        for (entry, outcome) in entries.iter().zip(outcomes) {
            self.missing.retain(|id| !entry.has_id(id));
            match outcome {
                Ok(()) => self.done += 1,
                Err(reason) => self.failed.push(FailedReplay {
                    id: entry.id(),
                    queue: entry.queue.clone(),
                    reason,
                }),
            }
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{} {}", self.done, self.verb);
        for failed in self.failed.iter().take(20) {
            let (id, reason) = (inline(&short(&failed.id)), inline(&failed.reason));
            text += &format!("\n{id} was not replayed: {reason}");
        }
        if self.failed.len() > 20 {
            text += &format!("\n… and {} more", self.failed.len() - 20);
        }
        text
    }
}
