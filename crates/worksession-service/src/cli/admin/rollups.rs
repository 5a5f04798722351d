use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use auth_types::UserId;
use clap::Args;
use db_kit::Db;
use serde::Serialize;
use service_kit::cli::output::count;

use super::{CommandError, Context};
use crate::error::Error;
use crate::rollups::rebuild;

/// The maximum number of users in the report, and of differences per user.
const MAX_REPORTED: usize = 20;
/// The interval between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(2);
/// The exit code of a dry run that finds differences.
const DIFFERS: u8 = 3;

#[derive(Debug, Args)]
pub(super) struct RebuildArgs {
    /// Only the rollups of this user
    #[arg(long, value_name = "ID")]
    user: Option<i64>,
    /// Only report differences and change nothing; exit code 3 if there are any
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct RebuildOutcome {
    users: usize,
    differed: u64,
    dry_run: bool,
    seconds: f64,
    /// The first [`MAX_REPORTED`] users that differ.
    differences: Vec<DifferingUser>,
}

#[derive(Serialize)]
struct DifferingUser {
    user_id: UserId,
    differences: Vec<String>,
}

pub(super) async fn run(context: &Context, args: RebuildArgs) -> Result<ExitCode, CommandError> {
    let begun = Instant::now();
    let mut outcome = RebuildOutcome {
        users: 0,
        differed: 0,
        dry_run: args.dry_run,
        seconds: 0.0,
        differences: Vec::new(),
    };
    if let Some(id) = args.user {
        let user = UserId::new(id).ok_or("--user must be an id")?;
        rebuild_user(context, user, &mut outcome).await?;
    } else {
        rebuild_all(context, &mut outcome).await?;
    }
    outcome.seconds = begun.elapsed().as_secs_f64();
    context.show(&outcome, format_outcome)?;
    Ok(if args.dry_run && outcome.differed > 0 {
        ExitCode::from(DIFFERS)
    } else {
        ExitCode::SUCCESS
    })
}

async fn rebuild_all(context: &Context, outcome: &mut RebuildOutcome) -> Result<(), CommandError> {
    let pool = &context.pool;
    let count = pool.read::<_, Error, _>(|db| Ok(rebuild::count_users(db)?));
    let total = count.await?;
    let mut last_progress = Instant::now();
    let mut after = None;
    loop {
        let next = pool.read::<_, Error, _>(move |db| Ok(rebuild::find_next_user(db, after)?));
        let Some(user) = next.await? else {
            return Ok(());
        };
        rebuild_user(context, user, outcome).await?;
        after = Some(user);
        if last_progress.elapsed() >= PROGRESS && std::io::stderr().is_terminal() {
            print_progress(outcome.users, total);
            last_progress = Instant::now();
        }
    }
}

async fn rebuild_user(
    context: &Context,
    user: UserId,
    outcome: &mut RebuildOutcome,
) -> Result<(), CommandError> {
    let (pool, today) = (&context.pool, context.clock.now().date_naive());
    let differences = if outcome.dry_run {
        pool.read(move |db| rebuild::compare(db, user, today))
            .await?
    } else {
        let rebuild = move |db: &mut Db| rebuild::rebuild(db, user, today);
        pool.write_tx(rebuild).await?
    };
    outcome.users += 1;
    if !differences.is_empty() {
        outcome.differed += 1;
        if outcome.differences.len() < MAX_REPORTED {
            outcome.differences.push(DifferingUser {
                user_id: user,
                differences: differences.into_iter().take(MAX_REPORTED).collect(),
            });
        }
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "progress on a terminal")]
fn print_progress(done: usize, total: i64) {
    eprintln!("{done} of about {total} users");
}

fn format_outcome(outcome: &RebuildOutcome) -> String {
    let verb = match outcome.dry_run {
        true => "checked",
        false => "recomputed",
    };
    let mut text = format!(
        "{} {verb} in {:.1} s, {} differed",
        count(outcome.users, "user"),
        outcome.seconds,
        outcome.differed
    );
    for differing in &outcome.differences {
        text += &format!("\n\nuser {}", differing.user_id);
        for difference in &differing.differences {
            text += &format!("\n  {difference}");
        }
    }
    text
}
