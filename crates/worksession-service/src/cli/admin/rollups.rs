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
const TOLD: usize = 20;
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
    /// The first [`TOLD`] users that differ.
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
        one(context, user, &mut outcome).await?;
    } else {
        all(context, &mut outcome).await?;
    }
    outcome.seconds = begun.elapsed().as_secs_f64();
    context.show(&outcome, text)?;
    Ok(if args.dry_run && outcome.differed > 0 {
        ExitCode::from(DIFFERS)
    } else {
        ExitCode::SUCCESS
    })
}

async fn all(context: &Context, outcome: &mut RebuildOutcome) -> Result<(), CommandError> {
    let pool = &context.pool;
    let count = pool.read::<_, Error, _>(|db| Ok(rebuild::count_users(db)?));
    let total = count.await?;
    let mut last_told = Instant::now();
    let mut after = None;
    loop {
        let next = pool.read::<_, Error, _>(move |db| Ok(rebuild::next_user(db, after)?));
        let Some(user) = next.await? else {
            return Ok(());
        };
        one(context, user, outcome).await?;
        after = Some(user);
        if last_told.elapsed() >= PROGRESS && std::io::stderr().is_terminal() {
            progress(outcome.users, total);
            last_told = Instant::now();
        }
    }
}

async fn one(
    context: &Context,
    user: UserId,
    outcome: &mut RebuildOutcome,
) -> Result<(), CommandError> {
    let (pool, today) = (&context.pool, context.clock.now().date_naive());
    let found = if outcome.dry_run {
        pool.read(move |db| rebuild::look(db, user, today)).await?
    } else {
        let rebuild = move |db: &mut Db| rebuild::rebuild(db, user, today);
        pool.write_tx(rebuild).await?
    };
    outcome.users += 1;
    if !found.is_empty() {
        outcome.differed += 1;
        if outcome.differences.len() < TOLD {
            outcome.differences.push(DifferingUser {
                user_id: user,
                differences: found.into_iter().take(TOLD).collect(),
            });
        }
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "progress on a terminal")]
fn progress(done: usize, total: i64) {
    eprintln!("{done} of about {total} users");
}

fn text(outcome: &RebuildOutcome) -> String {
    let did = if outcome.dry_run {
        "checked"
    } else {
        "recomputed"
    };
    let mut text = format!(
        "{} {did} in {:.1} s, {} differed",
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
