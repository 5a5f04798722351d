//! `parked …`: dead letters, which consumers could not read. With RabbitMQ they are in the dead-letter queue; inside
//! one process they are unroutable rows of the parts' outboxes. The commands work on both.

mod body;
mod cursor;
mod diagnosis;
mod entry;
mod source;
mod wire;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::context::{Context, Failure};
use entry::DeadLetterEntry;
use source::DeadLetterSource;
use wire::{DeadLetterDetails, DeadLetterList, ReplayReport};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List dead letters, oldest first
    List {
        /// Only dead letters of this queue
        #[arg(long, value_name = "QUEUE")]
        queue: Option<String>,
        /// Show at most N dead letters, 1 to 1000
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Show a dead letter with its body; sealed data stays sealed
    Show {
        /// The id, in full or as `list` shows it
        id: String,
        /// Show the whole body
        #[arg(long)]
        full: bool,
    },
    /// Send dead letters to the queues that they came from, after the cause is fixed
    Replay(DeadLetterSelection),
    /// Delete dead letters
    Drop {
        #[command(flatten)]
        selection: DeadLetterSelection,
        /// Confirm the deletion
        #[arg(long)]
        yes: bool,
    },
}

/// Selects dead letters.
#[derive(Debug, Args)]
pub(super) struct DeadLetterSelection {
    /// The ids, in full or as `list` shows them
    #[arg(
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    ids: Vec<String>,
    /// All dead letters
    #[arg(long)]
    all: bool,
    /// Only dead letters of this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
}

impl DeadLetterSelection {
    fn contains(&self, entry: &DeadLetterEntry) -> bool {
        let queue = self
            .queue
            .as_ref()
            .is_none_or(|queue| *queue == entry.queue);
        queue && (self.all || self.ids.iter().any(|id| entry.has_id(id)))
    }
}

pub(super) async fn run(context: &Context, command: Command) -> Result<ExitCode, Failure> {
    let sources = DeadLetterSource::open_all(context).await?;
    let outcome = match command {
        Command::List { queue, limit } => list(context, &sources, queue, limit).await,
        Command::Show { id, full } => show(context, &sources, &id, full).await,
        Command::Replay(selection) => replay_or_drop(context, &sources, &selection, false).await,
        Command::Drop { selection, yes } if yes => {
            replay_or_drop(context, &sources, &selection, true).await
        }
        Command::Drop { .. } => Err(Failure(
            "dropped dead letters cannot be restored; confirm with --yes".to_owned(),
        )),
    };
    for source in sources {
        source.close().await;
    }
    outcome
}

async fn list(
    context: &Context,
    sources: &[DeadLetterSource],
    queue: Option<String>,
    limit: u16,
) -> Result<ExitCode, Failure> {
    let mut result = DeadLetterList::default();
    for source in sources {
        let total = source.count().await?;
        result.total += total;
        let mut cursor = source.open_cursor(total).await?;
        while !result.more
            && let Some(window) = cursor.next().await?
        {
            for entry in window {
                if queue.as_ref().is_some_and(|queue| *queue != entry.queue) {
                    continue;
                }
                if result.parked.len() == usize::from(limit) {
                    result.more = true;
                    break;
                }
                result.parked.push((&entry).into());
            }
        }
        cursor.end().await?;
    }
    context.show(&result, |result| result.text(context))?;
    Ok(ExitCode::SUCCESS)
}

async fn show(
    context: &Context,
    sources: &[DeadLetterSource],
    id: &str,
    full: bool,
) -> Result<ExitCode, Failure> {
    let mut shown = DeadLetterDetails { parked: Vec::new() };
    for source in sources {
        let mut cursor = source.open_cursor(source.count().await?).await?;
        while let Some(window) = cursor.next().await? {
            let found = window.iter().filter(|entry| entry.has_id(id));
            shown.parked.extend(found.map(wire::DeadLetterDetail::from));
        }
        cursor.end().await?;
    }
    if shown.parked.is_empty() {
        return Err(unknown_ids(context, &[id.to_owned()]));
    }
    context.show(&shown, |shown| shown.text(full))?;
    Ok(ExitCode::SUCCESS)
}

/// Replays or discards the selected dead letters.
async fn replay_or_drop(
    context: &Context,
    sources: &[DeadLetterSource],
    selection: &DeadLetterSelection,
    is_drop: bool,
) -> Result<ExitCode, Failure> {
    let mut report = ReplayReport::new(if is_drop { "dropped" } else { "replayed" }, selection);
    for source in sources {
        let mut cursor = source.open_cursor(source.count().await?).await?;
        while let Some(window) = cursor.next().await? {
            let selected: Vec<&DeadLetterEntry> =
                window.iter().filter(|it| selection.contains(it)).collect();
            let outcomes = if is_drop {
                cursor.discard(&selected).await?;
                selected.iter().map(|_| Ok(())).collect()
            } else {
                cursor.replay(&selected).await?
            };
            report.add(&selected, outcomes);
        }
        cursor.end().await?;
    }
    context.show(&report, ReplayReport::text)?;
    if !report.missing.is_empty() {
        return Err(unknown_ids(context, &report.missing));
    }
    Ok(if report.failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn unknown_ids(context: &Context, ids: &[String]) -> Failure {
    Failure(format!(
        "there is no dead letter {}; {} lists them, except those that another command is handling",
        ids.join(", "),
        context.command("parked list")
    ))
}
