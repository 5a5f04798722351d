//! `parked …`: dead letters, which consumers could not read. With RabbitMQ they are in the dead-letter queue; inside
//! one process they are unroutable rows of the parts' outboxes. The commands work on both.

mod body;
mod diagnosis;
mod entry;
mod hand;
mod source;
mod wire;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::context::{Context, Failure};
use entry::DeadLetterEntry;
use source::DeadLetterSource;
use wire::{DeadLetterDetails, DeadLetterList, MoveReport};

#[derive(Debug, Subcommand)]
pub(super) enum ParkedCommand {
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
        chosen: DeadLetterSelection,
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
    fn has(&self, entry: &DeadLetterEntry) -> bool {
        let queue = self
            .queue
            .as_ref()
            .is_none_or(|queue| *queue == entry.place);
        queue && (self.all || self.ids.iter().any(|id| entry.is_called(id)))
    }
}

pub(super) async fn run(context: &Context, command: ParkedCommand) -> Result<ExitCode, Failure> {
    let sources = DeadLetterSource::open_all(context).await?;
    let outcome = match command {
        ParkedCommand::List { queue, limit } => list(context, &sources, queue, limit).await,
        ParkedCommand::Show { id, full } => show(context, &sources, &id, full).await,
        ParkedCommand::Replay(chosen) => settle(context, &sources, &chosen, false).await,
        ParkedCommand::Drop { chosen, yes } if yes => {
            settle(context, &sources, &chosen, true).await
        }
        ParkedCommand::Drop { .. } => Err(Failure(
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
    let mut listed = DeadLetterList::default();
    for source in sources {
        let total = source.count().await?;
        listed.total += total;
        let mut walk = source.walk(total).await?;
        while !listed.more
            && let Some(window) = walk.next().await?
        {
            for entry in window {
                if queue.as_ref().is_some_and(|queue| *queue != entry.place) {
                    continue;
                }
                if listed.parked.len() == usize::from(limit) {
                    listed.more = true;
                    break;
                }
                listed.parked.push((&entry).into());
            }
        }
        walk.end().await?;
    }
    context.show(&listed, |listed| listed.text(context))?;
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
        let mut walk = source.walk(source.count().await?).await?;
        while let Some(window) = walk.next().await? {
            let found = window.iter().filter(|entry| entry.is_called(id));
            shown.parked.extend(found.map(wire::DeadLetterDetail::from));
        }
        walk.end().await?;
    }
    if shown.parked.is_empty() {
        return Err(unknown(context, &[id.to_owned()]));
    }
    context.show(&shown, |shown| shown.text(full))?;
    Ok(ExitCode::SUCCESS)
}

/// Replays or discards the selected dead letters.
async fn settle(
    context: &Context,
    sources: &[DeadLetterSource],
    chosen: &DeadLetterSelection,
    drops: bool,
) -> Result<ExitCode, Failure> {
    let mut moved = MoveReport::new(if drops { "dropped" } else { "replayed" }, chosen);
    for source in sources {
        let mut walk = source.walk(source.count().await?).await?;
        while let Some(window) = walk.next().await? {
            let chosen: Vec<&DeadLetterEntry> =
                window.iter().filter(|entry| chosen.has(entry)).collect();
            let outcomes = if drops {
                walk.discard(&chosen).await?;
                chosen.iter().map(|_| Ok(())).collect()
            } else {
                walk.send_back(&chosen).await?
            };
            moved.note(&chosen, outcomes);
        }
        walk.end().await?;
    }
    context.show(&moved, MoveReport::text)?;
    if !moved.missing.is_empty() {
        return Err(unknown(context, &moved.missing));
    }
    Ok(if moved.failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn unknown(context: &Context, ids: &[String]) -> Failure {
    Failure(format!(
        "there is no dead letter {}; {} lists them, except those that another command is handling",
        ids.join(", "),
        context.command("parked list")
    ))
}
