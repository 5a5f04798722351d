//! `deliveries …`: lists deliveries with their state and next attempt, and retries them.

mod queries;
mod wire;

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use db_kit::DbError;

use super::context::{Context, Failure, short};
use queries::Delivery;
use wire::{DeliveryEntry, DeliveryList};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct DeliveriesArgs {
    #[command(subcommand)]
    command: Option<DeliveriesCommand>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum DeliveriesCommand {
    /// List deliveries, newest first (the default)
    List(ListArgs),
    /// Show one delivery; of a mail, neither recipient nor content
    Show {
        /// The id, in full or as `list` shows it
        id: String,
    },
    /// Attempt a waiting delivery now, but not earlier than the other side allows
    Retry {
        /// The id, in full or as `list` shows it
        id: String,
    },
}

#[derive(Debug, Clone, Args)]
struct ListArgs {
    /// Only deliveries in this state
    #[arg(long, value_enum, default_value = "all")]
    state: DeliveryStateFilter,
    /// Only deliveries of this kind
    #[arg(long, value_enum)]
    only: Option<MediumArg>,
    /// Only deliveries to this team project's chat
    #[arg(long, value_name = "N", conflicts_with = "only")]
    project: Option<i64>,
    /// Show at most N deliveries, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
    limit: i64,
    /// Only deliveries before this one: the next page
    #[arg(long, value_name = "ID")]
    before: Option<uuid::Uuid>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeliveryStateFilter {
    /// Not settled yet
    Waiting,
    Delivered,
    /// Not delivered, and not retried
    Failed,
    /// Not sent, because there was no recipient
    Skipped,
    All,
}

/// The kind of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MediumArg {
    /// Messages to team chats
    Chat,
    /// Mails
    Mail,
    /// Webhook calls
    Webhook,
    /// Logout calls to OAuth clients
    Logout,
}

impl MediumArg {
    /// Returns the value of the column `medium`.
    fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Mail => "mail",
            Self::Webhook => "webhook",
            Self::Logout => "logout",
        }
    }
}

pub(super) async fn run(context: &Context, args: DeliveriesArgs) -> Result<ExitCode, Failure> {
    match args.command {
        None => list(context, args.list).await?,
        Some(DeliveriesCommand::List(args)) => list(context, args).await?,
        Some(DeliveriesCommand::Show { id }) => {
            let entry =
                DeliveryEntry::from_delivery(find(context, &id).await?, context.clock.now());
            context.show(&entry, DeliveryEntry::text)?;
        }
        Some(DeliveriesCommand::Retry { id }) => retry(context, &id).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(context: &Context, args: ListArgs) -> Result<(), Failure> {
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let found = context
        .pool
        .read::<_, DbError, _>(move |db| Ok(queries::list(db, &args)?))
        .await?;
    let listed = DeliveryList::new(found, limit, context.clock.now());
    context.show(&listed, DeliveryList::text)
}

async fn find(context: &Context, id: &str) -> Result<Delivery, Failure> {
    // Tables show the end of the id.
    let end = short(id).to_lowercase();
    let whole = end.len() == 12 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = if whole {
        context
            .pool
            .read::<_, DbError, _>(move |db| Ok(queries::find(db, &end)?))
            .await?
    } else {
        None
    };
    found.ok_or_else(|| {
        Failure(format!(
            "there is no delivery {id}; {} lists deliveries, until 30 days after they were settled",
            context.command("deliveries")
        ))
    })
}

async fn retry(context: &Context, id: &str) -> Result<(), Failure> {
    let delivery = find(context, id).await?;
    if delivery.settled_at.is_some() {
        return Err(Failure(format!(
            "{id} is {}: a settled delivery is not sent again",
            delivery.state
        )));
    }
    let now = context.clock.now_naive();
    let mut media = MediumArg::value_variants().iter().copied();
    let medium = media.find(|medium| medium.name() == delivery.medium);
    let medium = medium.unwrap_or(MediumArg::Chat);
    let moved = context
        .pool
        .write_tx::<_, DbError, _>(move |db| Ok(queries::make_due(db, &delivery, medium, now)?))
        .await?;
    if !moved {
        return Err(Failure(format!(
            "{id} is being sent, or was settled meanwhile; {} shows its state",
            context.command("deliveries show ID")
        )));
    }
    let entry = DeliveryEntry::from_delivery(find(context, id).await?, context.clock.now());
    context.show(&entry, |entry| format!("{} will be sent now", entry.name()))
}
