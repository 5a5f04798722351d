//! The paths that everything else waits for, each beside what nothing can exceed on the same machine.

mod identity;
mod limits;
mod scene;
mod worksession;

use super::table::{self, Row, Sample};
use super::wrk;
use crate::cmd::{Result, cargo, fail, run};
use crate::system;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Some work only
    #[arg(long)]
    only: Vec<Work>,
    /// Interleaved rounds of each
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of a round
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Live tokens of the crowd that no memory holds
    #[arg(long, default_value_t = 100_000)]
    tokens: usize,
    /// Write the figures into this file, for a later comparison
    #[arg(long)]
    json: Option<PathBuf>,
    /// Say what each ratio was in a file that --json wrote
    #[arg(long)]
    against: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Work {
    /// Validation of a thousand live tokens
    Validate,
    /// Validation of a hundred thousand, at random
    ValidateMany,
    /// Validation that reads the database each time
    ValidateUnremembered,
    /// A request to worksession-service that checks a token and little more
    Check,
    /// What a client shows of a user
    UserData,
    /// Timer starts
    Start,
    /// Submits, with everything that counts them
    Submit,
}

const ALL: [Work; 7] = [
    Work::Validate,
    Work::ValidateMany,
    Work::ValidateUnremembered,
    Work::Check,
    Work::UserData,
    Work::Start,
    Work::Submit,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backend {
    Postgres,
    Sqlite,
}

const BACKENDS: [Backend; 2] = [Backend::Postgres, Backend::Sqlite];

impl Backend {
    fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Sqlite => "SQLite",
        }
    }
}

pub(crate) fn hot(options: &Options) -> Result {
    let before = options.against.as_deref().map(table::read).transpose()?;
    system::build(true, &["identity-service", "worksession-service"])?;
    run(cargo().args(["build", "--workspace", "--release"]).args([
        "--example",
        "responder",
        "--example",
        "bare_sqlite",
    ]))?;
    wrk::obtain()?;
    let mut rows = Vec::new();
    for work in ALL {
        if options.only.is_empty() || options.only.contains(&work) {
            rows.extend(measure(work, options)?);
        }
    }
    table::print(&rows, before.as_ref());
    if let Some(file) = &options.json {
        table::write(&rows, file)?;
    }
    match table::missed(&rows).as_slice() {
        [] => Ok(()),
        missed => fail(format!("goals that are not reached: {}", missed.join(", "))),
    }
}

fn measure(work: Work, options: &Options) -> Result<Vec<Row>> {
    match work {
        Work::Validate => both(|backend| identity::validate(backend, options)),
        Work::ValidateMany => Ok(vec![identity::validate_many(options)?]),
        Work::ValidateUnremembered => Ok(vec![identity::validate_unremembered(options)?]),
        Work::Check => [1000, 0]
            .map(|remember_ms| worksession::check(remember_ms, options))
            .into_iter()
            .collect(),
        Work::UserData => both(|backend| worksession::user_data(backend, options)),
        Work::Start => both(|backend| worksession::start(backend, options)),
        Work::Submit => both(|backend| worksession::submit(backend, options)),
    }
}

fn both(measure: impl Fn(Backend) -> Result<Row>) -> Result<Vec<Row>> {
    BACKENDS.into_iter().map(measure).collect()
}

/// Rounds of ours and of the limit by turns, each announced as it ends.
fn rounds(
    work: &str,
    options: &Options,
    mut ours: impl FnMut(Duration) -> Result<Sample>,
    mut limit: impl FnMut(Duration) -> Result<f64>,
) -> Result<Vec<Sample>> {
    let time = Duration::from_secs(options.seconds);
    let mut samples = Vec::new();
    for round in 1..=options.rounds {
        let mut sample = ours(time)?;
        sample.limit = limit(time)?;
        println!(
            "{work}, round {round}: {:.0}/s of {:.0}/s",
            sample.ours, sample.limit
        );
        samples.push(sample);
    }
    Ok(samples)
}

/// As fast as it is answered, with what the service's process used meanwhile.
fn asked(program: u32, url: &str, tokens: &Path, time: Duration) -> Result<Sample> {
    let before = system::cpu_time(program)?;
    let asked = wrk::ask(url, tokens, time)?;
    let used = system::cpu_time(program)? - before;
    Ok(Sample {
        ours: asked.rate,
        limit: f64::NAN,
        p50_ms: asked.p50_ms,
        p99_ms: asked.p99_ms,
        cpu_us: used.as_secs_f64() * 1e6 / asked.requests,
    })
}
