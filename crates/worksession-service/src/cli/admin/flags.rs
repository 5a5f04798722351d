use std::process::ExitCode;

use auth_types::UserId;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use service_kit::cli::output::{Column, minute, table};

use super::{CommandError, Context};
use crate::flags::{self, FlagEntry, FlagFilter, FlagState};

const REASON_CHARS: usize = 500;

#[derive(Debug, Subcommand)]
pub(super) enum FlagsCommand {
    /// List flags, newest first
    List {
        /// Only flags in this state
        #[arg(long, value_enum, default_value = "open")]
        state: FlagStateFilter,
        /// Only flags that keep their session off the leaderboards
        #[arg(long)]
        suspect: bool,
        /// Only flags of this user
        #[arg(long, value_name = "ID")]
        user: Option<i64>,
        /// The maximum number of flags, 1 to 1000
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
        limit: i64,
        /// Only flags before this one, to get the next page
        #[arg(long, value_name = "ID")]
        before: Option<i64>,
    },
    /// Dismiss a flag that has an innocent explanation: the session counts on the leaderboards
    Clear(Decision),
    /// Confirm a flag: the session stays off the leaderboards
    Uphold(Decision),
}

#[derive(Debug, Args)]
pub(super) struct Decision {
    /// The id of the flag
    id: i64,
    /// The reason for the decision, kept with the flag
    #[arg(long)]
    reason: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum FlagStateFilter {
    Open,
    Cleared,
    Upheld,
    All,
}

impl From<FlagStateFilter> for Option<FlagState> {
    fn from(filter: FlagStateFilter) -> Self {
        match filter {
            FlagStateFilter::Open => Some(FlagState::Open),
            FlagStateFilter::Cleared => Some(FlagState::Cleared),
            FlagStateFilter::Upheld => Some(FlagState::Upheld),
            FlagStateFilter::All => None,
        }
    }
}

#[derive(Serialize)]
struct FlagList {
    flags: Vec<FlagEntry>,
    /// The value of `--before` for the next page; null on the last one.
    next_before: Option<i64>,
}

pub(super) async fn run(
    context: &Context,
    command: FlagsCommand,
) -> Result<ExitCode, CommandError> {
    match command {
        FlagsCommand::List {
            state,
            suspect,
            user,
            limit,
            before,
        } => {
            let user = user.map(|id| UserId::new(id).ok_or("--user must be an id"));
            let filter = FlagFilter {
                state: state.into(),
                suspect,
                user: user.transpose()?,
                before,
                limit: limit + 1,
            };
            let mut flags = flags::list(&context.pool, filter).await?;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let has_more = flags.len() > limit;
            flags.truncate(limit);
            let next_before = flags.last().filter(|_| has_more).map(|last| last.id);
            context.show(&FlagList { flags, next_before }, format_list)?;
        }
        FlagsCommand::Clear(decision) => decide(context, FlagState::Cleared, decision).await?,
        FlagsCommand::Uphold(decision) => decide(context, FlagState::Upheld, decision).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn decide(
    context: &Context,
    state: FlagState,
    Decision { id, reason }: Decision,
) -> Result<(), CommandError> {
    if reason.trim().is_empty() || reason.chars().count() > REASON_CHARS {
        return Err(format!("--reason must be 1 to {REASON_CHARS} characters").into());
    }
    let decided = flags::decide(&context.pool, id, state, reason, context.clock.now()).await?;
    let flag = decided.ok_or_else(|| {
        format!("there is no flag {id}; `admin flags list --state all` lists all")
    })?;
    context.show(&flag, |flag| {
        format!(
            "flag {} ({} of {}) is now {}",
            flag.id, flag.kind, flag.username, flag.state
        )
    })
}

fn format_list(page: &FlagList) -> String {
    let rows = page.flags.iter().map(|flag| {
        [
            flag.id.to_string(),
            minute(flag.created_at),
            flag.username.clone(),
            flag.severity.clone(),
            flag.reason.clone(),
            match &flag.decision {
                None => flag.state.clone(),
                Some(reason) => format!("{}: {reason}", flag.state),
            },
        ]
    });
    let columns = [
        Column::Number("ID"),
        Column::Whole("WHEN (UTC)"),
        Column::Cut("USER"),
        Column::Whole("SEVERITY"),
        Column::Whole("FINDING"),
        Column::Cut("STATE"),
    ];
    let mut text = table(columns, rows, "No flags found.");
    if let Some(last) = page.next_before {
        text += &format!("\n\nNext page: --before {last}");
    }
    text
}
