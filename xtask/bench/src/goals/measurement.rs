//! How work is measured: on which database, and in rounds that alternate with its limit.

use crate::load::LoadResult;
use crate::results_table::{ResultRow, Sample};
use crate::wrk;
use std::path::PathBuf;
use std::time::Duration;
use xtask_kit::cmd::{Result, fail};
use xtask_kit::system;

#[derive(clap::Args)]
pub(crate) struct GoalOptions {
    /// Rounds of each measurement, in turns with those of its limit
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: usize,
    /// Seconds of a round
    #[arg(long, default_value_t = 4)]
    pub(super) seconds: u64,
    /// Live tokens, from which validations choose at random
    #[arg(long, default_value_t = 100_000)]
    pub(super) tokens: usize,
    /// Events of a round
    #[arg(long, default_value_t = 100_000)]
    pub(super) events: usize,
    #[command(flatten)]
    pub(super) hooks: Hooks,
    /// Print PostgreSQL's costliest statements after events, starts, submits and user/data
    #[arg(long)]
    pub(super) statements: bool,
    /// Sessions of the large database on PostgreSQL
    #[arg(long, default_value_t = 10_000_000)]
    pub(super) sessions: u64,
    /// Also measure third-party programs in the same run, installed from registries at pinned versions
    #[arg(long)]
    pub(super) peers: bool,
    /// Measure only rows whose name contains this
    #[arg(long)]
    pub(super) only: Option<String>,
    /// Write the results to this file, for a later comparison
    #[arg(long)]
    pub(super) json: Option<PathBuf>,
    /// Compare the results with those in a file that --json wrote
    #[arg(long)]
    pub(super) against: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(super) struct Hooks {
    /// Projects, each with its own hook, that the events notify. A hook takes one message of at most twenty events in each
    /// interval: fewer projects would limit the result
    #[arg(long, default_value_t = 800)]
    pub(super) projects: usize,
    /// Milliseconds between two messages to one hook; events in between are joined into one message
    #[arg(long, default_value_t = 1_000)]
    pub(super) interval_ms: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Backend {
    Postgres,
    Sqlite,
}

pub(super) const BACKENDS: [Backend; 2] = [Backend::Postgres, Backend::Sqlite];

impl Backend {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Sqlite => "SQLite",
        }
    }
}

/// Measures a row on each database.
pub(super) fn both(
    options: &GoalOptions,
    name: &str,
    measure: impl Fn(Backend, String) -> Result<ResultRow>,
) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for backend in BACKENDS {
        let work = format!("{name}, {}", backend.name());
        if options.wants(&work) {
            rows.push(measure(backend, work)?);
        }
    }
    Ok(rows)
}

impl GoalOptions {
    /// Whether a row is wanted.
    pub(super) fn wants(&self, row: &str) -> bool {
        self.only.as_ref().is_none_or(|only| row.contains(only))
    }
}

/// Runs rounds of the product and of the limit in turns, and prints each result.
pub(super) fn rounds(
    work: &str,
    options: &GoalOptions,
    mut ours: impl FnMut(Duration) -> Result<Sample>,
    mut limit: impl FnMut(Duration) -> Result<f64>,
) -> Result<Vec<Sample>> {
    let time = Duration::from_secs(options.seconds);
    let mut samples = Vec::new();
    for round in 1..=options.rounds {
        let mut sample = ours(time)?;
        sample.limit = limit(time)?;
        let beside = match sample.limit.is_nan() {
            true => String::new(),
            false => format!(" of {:.0}/s", sample.limit),
        };
        println!("{work}, round {round}: {:.0}/s{beside}", sample.ours);
        samples.push(sample);
    }
    Ok(samples)
}

/// Sends requests as fast as they are answered, and measures the processor time of the service.
pub(super) fn asked(program: u32, request: &wrk::Request<'_>, time: Duration) -> Result<Sample> {
    let before = system::cpu_time(program)?;
    let asked = wrk::ask(request, time)?;
    let used = system::cpu_time(program)? - before;
    Ok(Sample {
        p50_ms: asked.p50_ms,
        p99_ms: asked.p99_ms,
        cpu_us: used.as_secs_f64() * 1e6 / asked.requests,
        ..Sample::new(asked.rate, f64::NAN)
    })
}

/// Returns the rate and the latencies of a load. Fails unless all responses have this status.
pub(super) fn told(outcome: &LoadResult, status: u16) -> Result<Sample> {
    if outcome.with_status(status) != outcome.latencies.len() {
        return fail(format!("not all returned {status}: {:?}", outcome.statuses));
    }
    let count = f64::from(u32::try_from(outcome.latencies.len())?);
    let (p50_ms, p99_ms, _) = outcome.summary();
    Ok(Sample {
        p50_ms,
        p99_ms,
        ..Sample::new(count / outcome.time.as_secs_f64(), f64::NAN)
    })
}

/// Runs a load whose responses must all have this status, and adds the processor time for each request.
pub(super) fn written(
    process: u32,
    status: u16,
    load: impl FnOnce() -> Result<LoadResult>,
) -> Result<(Sample, LoadResult)> {
    let before = system::cpu_time(process)?;
    let outcome = load()?;
    let used = system::cpu_time(process)? - before;
    let mut sample = told(&outcome, status)?;
    let count = f64::from(u32::try_from(outcome.latencies.len())?);
    sample.cpu_us = used.as_secs_f64() * 1e6 / count;
    Ok((sample, outcome))
}
