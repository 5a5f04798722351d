//! RabbitMQ is down while starts pile up: starting must not notice, memory must not grow with what waits,
//! and all of it must arrive without help once the broker is back.

use super::load;
use super::product::{Crowd, System};
use std::time::{Duration, Instant};
use xtask_kit::chat::Chat;
use xtask_kit::cmd::{Result, fail, nap};
use xtask_kit::system;

const USERS: usize = 200;
const PROJECTS: usize = 50;
/// Between two messages to one hook, so that the hooks do not limit what is measured.
const INTERVAL_MS: u32 = 50;
/// The load is given in as many parts, so that the last is seen beside the first.
const PARTS: usize = 10;
/// What no start may take longer than, in milliseconds, for 99 of 100 of any part.
const LIMIT_MS: f64 = 200.0;
/// Megabytes by which memory may grow from the first part to the last.
const LIMIT_MB: f64 = 16.0;
/// Megabytes that a service may hold while what piled up arrives: half of what its container may.
const DRAIN_LIMIT_MB: f64 = 128.0;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Starts altogether
    #[arg(long, default_value_t = 100_000)]
    starts: usize,
    /// Starts in a second
    #[arg(long, default_value_t = 500)]
    rate: u32,
    /// Seconds in which all must have arrived once the broker is back
    #[arg(long, default_value_t = 600)]
    patience: u64,
}

pub(crate) fn backlog(options: &Options) -> Result {
    system::build(
        true,
        &["identity-service", "worksession-service", "notifier"],
    )?;
    let folder = tempfile::Builder::new()
        .prefix("holdfast-bench-")
        .tempdir()?;
    let chat = Chat::start()?;
    let mut system = System::services(folder.path(), INTERVAL_MS)?;
    let crowd = Crowd::gather(&system, &chat, USERS, PROJECTS)?;
    // The destinations travel as events of their own; they are to be there before the broker is not.
    nap(Duration::from_secs(2))?;
    system.broker()?.kill();

    println!(
        "{} starts by {USERS} users, {} a second, with RabbitMQ down",
        options.starts, options.rate
    );
    println!(
        "{:>8} {:>7} {:>8} {:>8} {:>8}  {:>12}",
        "starts", "201", "p50 ms", "p99 ms", "max ms", "resident MB"
    );
    let (mut started, mut worst, mut resident) = (0, 0.0_f64, Vec::new());
    for part in 0..PARTS {
        let count = options.starts / PARTS;
        let shots = crowd.starts(part * count, count);
        let load = load::fire(
            &system.worksession,
            shots,
            Duration::from_secs(1) / options.rate,
        )?;
        let (p50, p99, max) = load.summary();
        let megabytes = system.resident_mb("worksession")?;
        println!(
            "{:>8} {:>7} {p50:>8.1} {p99:>8.1} {max:>8.1}  {megabytes:>12.1}",
            (part + 1) * count,
            load.with_status(201),
        );
        started += load.with_status(201);
        worst = worst.max(p99);
        resident.push(megabytes);
    }
    system.broker()?.resume()?;
    let back = Instant::now();
    let patience = Duration::from_secs(options.patience);
    let mut peaks = [("worksession", 0.0_f64), ("notifier", 0.0)];
    while chat.accepted().0 < started && back.elapsed() < patience {
        nap(Duration::from_millis(100))?;
        for (part, peak) in &mut peaks {
            *peak = peak.max(system.resident_mb(part)?);
        }
    }
    let (delivered, twice) = chat.accepted();
    let (first, last) = (resident.first(), resident.last());
    let growth = first
        .zip(last)
        .map_or(f64::NAN, |(first, last)| last - first);
    println!(
        "{delivered} of {started} notices {:.1} s after the broker was back, {twice} told twice, in {} messages",
        back.elapsed().as_secs_f64(),
        chat.requests(),
    );
    for (part, peak) in peaks {
        let now = system.resident_mb(part)?;
        println!("{part}: at most {peak:.1} MB meanwhile, now {now:.1} MB");
        if peak >= DRAIN_LIMIT_MB {
            return fail(format!("{part} held {peak:.1} MB of {DRAIN_LIMIT_MB} MB"));
        }
    }
    if worst >= LIMIT_MS || growth.is_nan() || growth >= LIMIT_MB {
        return fail(format!(
            "over the limit: p99 {worst:.1} ms of {LIMIT_MS} ms, memory grew by {growth:.1} MB of {LIMIT_MB} MB"
        ));
    }
    if delivered < started || started < options.starts / PARTS * PARTS {
        return fail("something was refused or lost");
    }
    Ok(())
}
