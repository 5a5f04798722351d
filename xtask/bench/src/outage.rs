//! Timer starts at a steady rate during an outage behind them: starts must stay fast, memory must not grow with the backlog,
//! and no notification may be lost.

use super::environment::BenchEnvironment;
use super::goals::ALL;
use super::load::{self, LoadResult};
use super::users::LoadUsers;
use clap::ValueEnum as _;
use std::time::{Duration, Instant};
use xtask_fixtures::fake_chat::Chat;
use xtask_kit::cmd::{Result, came_true, fail, nap};
use xtask_kit::system;

const USERS: usize = 60;
const PROJECTS: usize = 20;
/// The interval between two messages to one hook, short enough that the hooks do not limit the result.
const INTERVAL_MS: u32 = 10;
/// The limit of the p99 of a start, in milliseconds.
const LIMIT_MS: f64 = 200.0;
/// The megabytes by which the backlog for the broker may increase the memory.
const LIMIT_MB: f64 = 16.0;

#[derive(clap::Args)]
pub(crate) struct OutageOptions {
    /// Starts a second
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Seconds of load
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// Seconds after the end of the outage within which every notification must have arrived
    #[arg(long, default_value_t = 300)]
    patience: u64,
    /// Run only these scenarios
    #[arg(long)]
    only: Vec<Scenario>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    /// One process on SQLite, without an outage
    Standalone,
    /// One process on SQLite; the chat never answers
    StandaloneHanging,
    /// Three processes on PostgreSQL and RabbitMQ; the chat never answers
    ServicesHanging,
    /// Three processes on PostgreSQL; RabbitMQ is killed before the load and started after it
    ServicesBrokerDown,
}

pub(crate) fn outage(options: &OutageOptions) -> Result {
    system::build(true, ALL)?;
    let mut rows = Vec::new();
    for scenario in Scenario::value_variants().iter().copied() {
        if options.only.is_empty() || options.only.contains(&scenario) {
            rows.push((scenario, run(scenario, options)?));
        }
    }
    println!(
        "\n{:<20} {:>7} {:>7} {:>8} {:>8} {:>8} {:>6}  {:>9} {:>6} {:>9}",
        "scenario",
        "starts",
        "201",
        "p50 ms",
        "p99 ms",
        "max ms",
        "MB",
        "delivered",
        "twice",
        "after s"
    );
    for (scenario, row) in &rows {
        let (p50, p99, max) = row.load.summary();
        println!(
            "{:<20} {:>7} {:>7} {p50:>8.1} {p99:>8.1} {max:>8.1} {:>+6.1}  {:>9} {:>6} {:>9.1}",
            format!("{scenario:?}"),
            row.load.latencies.len(),
            row.load.with_status(201),
            row.grown_mb,
            row.delivered,
            row.twice,
            row.after.as_secs_f64()
        );
    }
    let bad = rows.iter().filter(|(scenario, row)| {
        !row.is_good() || *scenario == Scenario::ServicesBrokerDown && row.grown_mb >= LIMIT_MB
    });
    match bad.count() {
        0 => Ok(()),
        bad => fail(format!(
            "{bad} scenarios exceeded a limit or lost notifications"
        )),
    }
}

struct OutageRow {
    load: LoadResult,
    /// The growth of the service's memory after the first tenth of the load.
    grown_mb: f64,
    delivered: usize,
    twice: usize,
    /// The time from the end of the outage to the last notification.
    after: Duration,
}

impl OutageRow {
    fn is_good(&self) -> bool {
        let started = self.load.with_status(201);
        let (_, p99, _) = self.load.summary();
        started == self.load.latencies.len() && self.delivered == started && p99 < LIMIT_MS
    }
}

fn run(scenario: Scenario, options: &OutageOptions) -> Result<OutageRow> {
    println!("== {scenario:?}");
    let chat = Chat::start()?;
    let (mut scene, part) = match scenario {
        Scenario::Standalone | Scenario::StandaloneHanging => {
            (BenchEnvironment::standalone(INTERVAL_MS)?, "holdfast")
        }
        Scenario::ServicesHanging | Scenario::ServicesBrokerDown => {
            (BenchEnvironment::services(INTERVAL_MS)?, "worksession")
        }
    };
    let crowd = LoadUsers::gather(&scene, &chat, USERS, PROJECTS)?;
    let shots = crowd.starts(0, usize::try_from(options.rate * options.seconds)?);
    // The destinations travel as events of their own, and must arrive before the outage.
    nap(Duration::from_secs(2))?;

    chat.hang(matches!(
        scenario,
        Scenario::StandaloneHanging | Scenario::ServicesHanging
    ));
    if scenario == Scenario::ServicesBrokerDown {
        scene.broker()?.kill();
    }
    let address = scene.address("worksession")?.to_owned();
    let gap = Duration::from_secs(1) / options.rate;
    let (load, early) = std::thread::scope(|scope| -> Result<_> {
        let load = scope.spawn(|| load::fire(&address, shots, gap));
        // By then everything is warm.
        nap(Duration::from_secs(u64::from(options.seconds)) / 10)?;
        let early = scene.resident_mb(part)?;
        Ok((load.join(), early))
    })?;
    let Ok(load) = load else {
        return fail("a benchmark thread panicked");
    };
    let load = load?;
    println!(
        "{} responses in {:.1} s: {:?}",
        load.latencies.len(),
        load.time.as_secs_f64(),
        load.statuses
    );
    let grown_mb = scene.resident_mb(part)? - early;
    chat.hang(false);
    if scenario == Scenario::ServicesBrokerDown {
        scene.broker()?.resume()?;
    }
    let healed = Instant::now();
    let wanted = load.with_status(201);
    let patience = Duration::from_secs(options.patience);
    came_true(patience, Duration::from_millis(100), || {
        Ok(chat.accepted().0 >= wanted)
    })?;
    let after = healed.elapsed();
    let (delivered, twice) = chat.accepted();
    println!(
        "{delivered} of {wanted} notifications after {:.1} s, {} requests to the chat",
        after.as_secs_f64(),
        chat.requests()
    );
    Ok(OutageRow {
        load,
        grown_mb,
        delivered,
        twice,
        after,
    })
}
