//! `cargo xtask e2e faults`: real services on real servers, under load, while one thing after the other breaks.
//!
//! Everything that people were told is in a ledger; at the end it is compared with the sessions, the rollups, the
//! chats and the mails. Nothing accepted may be lost, and a message is shown twice only where the chat's own ledger,
//! or a kill between its answer and our row, says why.

mod chat;
mod checks;
mod copies;
mod dice;
mod kinds;
mod line;
mod load;
pub(super) mod mail;
mod marks;
mod report;
mod service;
mod stand;
mod storm;

use dice::Dice;
use kinds::{Kind, Scene};
use load::Load;
use marks::{GONE, MATRIX};
use stand::{Part, Stand};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use xtask_kit::cmd::{Result, fail, interrupted, nap};
use xtask_kit::system;
use xtask_stand::lock;

/// The load lasts at least so long, so that a minute can be worked and credited.
const SHORTEST: Duration = Duration::from_secs(62);
/// In a run of fewer faults one kill, and the digest that it makes a copy of, is more than its share.
const MANY: usize = 100;
/// Of a thousand notices, at most so many copies: five.
const MOST_COPIES_PER_MILLE: f64 = 5.0;

#[derive(clap::Args)]
pub(crate) struct FaultOptions {
    /// Of `faults`: what chance begins with; the same seed throws the same faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of `faults`: how many
    #[arg(long, default_value_t = 200)]
    faults: usize,
    /// Of `faults`: on the release build
    #[arg(long)]
    release: bool,
    /// Of `faults`: on the programs that are there, without building them
    #[arg(long)]
    as_built: bool,
}

pub(crate) fn faults(options: &FaultOptions) -> Result {
    if !options.as_built {
        system::build(options.release, &Part::ALL.map(Part::binary))?;
    }
    println!("seed {}, {} faults", options.seed, options.faults);
    let stand = Stand::start(options.seed, options.release)?;
    let outcome = run(&stand, options);
    if outcome.is_err() && !interrupted() {
        match stand.keep_logs() {
            Ok(folder) => println!("what the services logged: {}", folder.display()),
            Err(error) => println!("what the services logged is lost: {error}"),
        }
    }
    outcome
}

fn run(stand: &Stand, options: &FaultOptions) -> Result {
    let load = Load::prepare(stand)?;
    let begun = Instant::now();
    let scene = Scene { stand, load: &load };
    let faults = std::thread::scope(|scope| {
        let mut working = Vec::new();
        for index in 0..load.people.len() {
            let (load, dice) = (
                &load,
                Dice::new(options.seed, 100 + u64::try_from(index).unwrap_or(0)),
            );
            working.push(scope.spawn(move || load.live(index, dice)));
        }
        let newcomers = Dice::new(options.seed, 3);
        working.push(scope.spawn(|| load.newcomers(newcomers)));
        let told = |n: usize, kind: Kind| {
            progress(
                stand,
                &load,
                begun,
                &format!("{n}/{} {}", options.faults, kind.name()),
            )
        };
        let faults = storm::play(&scene, options.faults, options.seed, &told);
        let rest = SHORTEST.saturating_sub(begun.elapsed());
        let rested = if faults.is_ok() { nap(rest) } else { Ok(()) };
        load.end();
        let ended = working.into_iter().map(|person| match person.join() {
            Ok(ended) => ended,
            Err(_) => fail("a person panicked"),
        });
        let ended = ended.collect::<Result<Vec<()>>>();
        rested.and(ended)?;
        faults
    })?;
    let time = begun.elapsed();
    for project in 0..=GONE {
        stand.chat.set(project, chat::Mood::Well);
    }
    stand.mail.set(mail::Mood::Well);
    load.last_words()?;
    let drained = checks::drain(stand, &|waiting| progress(stand, &load, begun, waiting))?;
    println!();
    conclude(stand, &load, options, &faults, time, drained)
}

fn conclude(
    stand: &Stand,
    load: &Load<'_>,
    options: &FaultOptions,
    faults: &[storm::Fault],
    time: Duration,
    drained: std::result::Result<Duration, String>,
) -> Result {
    let calls = stand.chat.calls();
    let (shown, copies) = copies::count(&calls, faults);
    let notes: BTreeSet<usize> = shown.keys().copied().collect();
    let mut findings = checks::check(stand, load, &notes)?;
    let starts = lock(&load.ledger.starts).clone();
    report::faults(faults, &starts, &shown);
    let unshown = |gone: bool| {
        let unshown = starts.iter().filter(|start| !notes.contains(&start.number));
        unshown
            .filter(|start| (start.project == GONE) == gone)
            .count()
    };
    let mails = stand.mail.taken();
    let matrix = calls
        .iter()
        .filter(|call| call.shown && call.project == MATRIX);
    let matrix: Vec<usize> = matrix.flat_map(|call| call.notes.iter().copied()).collect();
    let matrix_copies = matrix.len() - matrix.iter().collect::<BTreeSet<_>>().len();
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let per_mille = 1_000.0 * count(copies.len()) / count(shown.len().max(1));
    let like = |kind: &copies::Copy| {
        copies
            .iter()
            .filter(|copy| *copy == kind)
            .count()
            .to_string()
    };
    let unexplained: Vec<usize> = copies
        .iter()
        .filter_map(copies::Copy::unexplained)
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
        (
            "requests without an answer, sent again",
            unknown.to_string(),
        ),
        ("starts shown in chats", shown.len().to_string()),
        (
            "starts not shown, hook gone, reason told",
            unshown(true).to_string(),
        ),
        ("LOST", unshown(false).to_string()),
        ("copies", format!("{} ({per_mille:.2} ‰)", copies.len())),
        ("  the chat cut its answer", like(&copies::Copy::AnswerCut)),
        ("  the sender was killed", like(&copies::Copy::SenderKilled)),
        ("  kills of the sender", kills.count().to_string()),
        ("  UNEXPLAINED", unexplained.len().to_string()),
        ("  on Matrix", matrix_copies.to_string()),
        ("mails arrived", mails.len().to_string()),
        (
            "  copies",
            mails
                .values()
                .map(|times| times - 1)
                .sum::<usize>()
                .to_string(),
        ),
        (
            "starts of services that found nothing to stand on",
            stand.failed_starts().to_string(),
        ),
        (
            "seconds until nothing waited",
            format!("{:.1}", drained_for.as_secs_f64()),
        ),
        (
            "hooks gone, seen as switched off",
            format!("{off} of {gone}"),
        ),
    ]);
    findings.add("copies that nothing explains", unexplained);
    findings.add("still waiting", drained.err());
    if options.faults >= MANY && per_mille >= MOST_COPIES_PER_MILLE {
        findings.add("too many copies", [format!("{per_mille:.2} ‰")]);
    }
    if matrix_copies > 0 {
        findings.add("copies on Matrix", [matrix_copies]);
    }
    if gone > 0 && off == 0 {
        findings.add("a hook that is gone", ["was never shown as switched off"]);
    }
    for finding in &findings.0 {
        println!("FAILED: {finding}");
    }
    if findings.0.is_empty() {
        println!("nothing is lost");
        return Ok(());
    }
    fail(format!(
        "seed {}: {} checks failed",
        options.seed,
        findings.0.len()
    ))
}

/// One line that is written over where somebody looks at it.
fn progress(stand: &Stand, load: &Load<'_>, begun: Instant, what: &str) {
    let line = format!(
        "{:>4.0} s  {:>5} starts, {:>5} shown  {what}",
        begun.elapsed().as_secs_f64(),
        lock(&load.ledger.starts).len(),
        stand.chat.shown(),
    );
    if std::io::stdout().is_terminal() {
        print!("\r{line:<110.110}");
        std::io::stdout().flush().ok();
    } else {
        println!("{line}");
    }
}
