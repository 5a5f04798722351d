//! `cargo xtask e2e faults`: the real services on real servers, under load, while faults break one thing after another.
//!
//! A ledger records every response to the users. At the end it is compared with the sessions, the rollups, the chats and
//! the mails. Nothing accepted may be lost. A message may be shown twice only if the chat's own record, or a kill between
//! the chat's response and the notifier's row, explains it.

mod chat;
mod checks;
mod duplicates;
mod environment;
mod fault_kinds;
mod fault_schedule;
mod load;
pub(super) mod mail;
mod markers;
mod report;
mod seeded_random;
mod service;
mod tcp_proxy;

use environment::{FaultEnvironment, ProductPart};
use fault_kinds::{FaultScene, Kind};
use load::Load;
use markers::{GONE, MATRIX};
use seeded_random::SeededRandom;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use xtask_fixtures::lock;
use xtask_kit::cmd::{Result, fail, interrupted, nap};
use xtask_kit::system;

/// The shortest time under load, so that a minute can be worked and credited.
const SHORTEST: Duration = Duration::from_secs(62);
/// With fewer faults, the duplicates are not limited: a single kill, which duplicates a digest, exceeds their share.
const MANY: usize = 100;
/// The limit of duplicates in a thousand messages.
const MOST_COPIES_PER_MILLE: f64 = 5.0;

#[derive(clap::Args)]
pub(crate) struct FaultOptions {
    /// For `faults`: seed of the random numbers; the same seed produces the same faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For `faults`: number of faults
    #[arg(long, default_value_t = 200)]
    faults: usize,
    /// For `faults`: use the release build
    #[arg(long)]
    release: bool,
    /// For `faults`: use the existing programs without building them
    #[arg(long)]
    as_built: bool,
}

pub(crate) fn faults(options: &FaultOptions) -> Result {
    if !options.as_built {
        system::build(options.release, &ProductPart::ALL.map(ProductPart::binary))?;
    }
    println!("seed {}, {} faults", options.seed, options.faults);
    let env = FaultEnvironment::start(options.seed, options.release)?;
    let outcome = run(&env, options);
    if outcome.is_err() && !interrupted() {
        match env.keep_logs() {
            Ok(folder) => println!("logs of the services: {}", folder.display()),
            Err(error) => println!("cannot keep the logs of the services: {error}"),
        }
    }
    outcome
}

fn run(env: &FaultEnvironment, options: &FaultOptions) -> Result {
    let load = Load::prepare(env)?;
    let begun = Instant::now();
    let scene = FaultScene { env, load: &load };
    let faults = std::thread::scope(|scope| {
        let mut working = Vec::new();
        for index in 0..load.people.len() {
            let (load, dice) = (
                &load,
                SeededRandom::new(options.seed, 100 + u64::try_from(index).unwrap_or(0)),
            );
            working.push(scope.spawn(move || load.live(index, dice)));
        }
        let newcomers = SeededRandom::new(options.seed, 3);
        working.push(scope.spawn(|| load.newcomers(newcomers)));
        let told = |n: usize, kind: Kind| {
            progress(
                env,
                &load,
                begun,
                &format!("{n}/{} {}", options.faults, kind.name()),
            )
        };
        let faults = fault_schedule::play(&scene, options.faults, options.seed, &told);
        let rest = SHORTEST.saturating_sub(begun.elapsed());
        let rested = if faults.is_ok() { nap(rest) } else { Ok(()) };
        load.end();
        let ended = working.into_iter().map(|person| match person.join() {
            Ok(ended) => ended,
            Err(_) => fail("a user's thread panicked"),
        });
        let ended = ended.collect::<Result<Vec<()>>>();
        rested.and(ended)?;
        faults
    })?;
    let time = begun.elapsed();
    for project in 0..=GONE {
        env.chat.set(project, chat::ChatFault::Well);
    }
    env.mail.set(mail::MailFault::Well);
    load.last_words()?;
    let drained = checks::drain(env, &|waiting| progress(env, &load, begun, waiting))?;
    println!();
    conclude(env, &load, options, &faults, time, drained)
}

fn conclude(
    env: &FaultEnvironment,
    load: &Load<'_>,
    options: &FaultOptions,
    faults: &[fault_schedule::Fault],
    time: Duration,
    drained: std::result::Result<Duration, String>,
) -> Result {
    let calls = env.chat.calls();
    let (shown, copies) = duplicates::count(&calls, faults);
    let notes: BTreeSet<usize> = shown.keys().copied().collect();
    let mut findings = checks::check(env, load, &notes)?;
    let starts = lock(&load.ledger.starts).clone();
    report::faults(faults, &starts, &shown);
    let unshown = |gone: bool| {
        let unshown = starts.iter().filter(|start| !notes.contains(&start.number));
        unshown
            .filter(|start| (start.project == GONE) == gone)
            .count()
    };
    let mails = env.mail.taken();
    let matrix = calls
        .iter()
        .filter(|call| call.shown && call.project == MATRIX);
    let matrix: Vec<usize> = matrix.flat_map(|call| call.notes.iter().copied()).collect();
    let matrix_copies = matrix.len() - matrix.iter().collect::<BTreeSet<_>>().len();
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let per_mille = 1_000.0 * count(copies.len()) / count(shown.len().max(1));
    let like = |kind: &duplicates::Copy| {
        copies
            .iter()
            .filter(|copy| *copy == kind)
            .count()
            .to_string()
    };
    let unexplained: Vec<usize> = copies
        .iter()
        .filter_map(duplicates::Copy::unexplained)
        .collect();
    let kills = faults.iter().filter(|fault| fault.kind.kills_notifier());
    let gone = faults.iter().filter(|fault| fault.kind == Kind::ChatGone);
    let off = gone.clone().filter(|fault| fault.seen.was_off).count();
    let gone = gone.count();
    let minutes: i64 = lock(&load.ledger.minutes).values().sum();
    let unknown = load.ledger.unknown.load(Ordering::SeqCst);
    let submits = lock(&load.ledger.submits).len();
    let drained_for = drained.as_ref().copied().unwrap_or_default();
    println!(
        "\nseed {}, {:.0} s of faults",
        options.seed,
        time.as_secs_f64()
    );
    report::figures(&[
        ("starts accepted", starts.len().to_string()),
        ("submits accepted", submits.to_string()),
        ("minutes credited", minutes.to_string()),
        ("requests without a response, repeated", unknown.to_string()),
        ("starts shown in chats", shown.len().to_string()),
        (
            "starts not shown, hook gone, reason recorded",
            unshown(true).to_string(),
        ),
        ("LOST", unshown(false).to_string()),
        ("duplicates", format!("{} ({per_mille:.2} ‰)", copies.len())),
        (
            "  the chat cut its response",
            like(&duplicates::Copy::AnswerCut),
        ),
        (
            "  the sender was killed",
            like(&duplicates::Copy::SenderKilled),
        ),
        ("  kills of the sender", kills.count().to_string()),
        ("  UNEXPLAINED", unexplained.len().to_string()),
        ("  on Matrix", matrix_copies.to_string()),
        ("mails arrived", mails.len().to_string()),
        (
            "  duplicates",
            mails
                .values()
                .map(|times| times - 1)
                .sum::<usize>()
                .to_string(),
        ),
        (
            "failed starts of services (server down)",
            env.failed_starts().to_string(),
        ),
        (
            "seconds until nothing was pending",
            format!("{:.1}", drained_for.as_secs_f64()),
        ),
        ("hooks gone, shown as disabled", format!("{off} of {gone}")),
    ]);
    findings.add("unexplained duplicates", unexplained);
    findings.add("still pending", drained.err());
    if options.faults >= MANY && per_mille >= MOST_COPIES_PER_MILLE {
        findings.add("too many duplicates", [format!("{per_mille:.2} ‰")]);
    }
    if matrix_copies > 0 {
        findings.add("duplicates on Matrix", [matrix_copies]);
    }
    if gone > 0 && off == 0 {
        findings.add("a hook that is gone", ["was never shown as disabled"]);
    }
    for finding in &findings.0 {
        println!("FAILED: {finding}");
    }
    if findings.0.is_empty() {
        println!("nothing is lost");
        return Ok(());
    }
    let (seed, failed) = (options.seed, findings.0.len());
    fail(format!("seed {seed}: {failed} checks failed"))
}

/// Prints a progress line. On a terminal it replaces the line before.
fn progress(env: &FaultEnvironment, load: &Load<'_>, begun: Instant, what: &str) {
    let line = format!(
        "{:>4.0} s  {:>5} starts, {:>5} shown  {what}",
        begun.elapsed().as_secs_f64(),
        lock(&load.ledger.starts).len(),
        env.chat.shown(),
    );
    if std::io::stdout().is_terminal() {
        print!("\r{line:<110.110}");
        std::io::stdout().flush().ok();
    } else {
        println!("{line}");
    }
}
