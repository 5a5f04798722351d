//! The performance goals of the product, each relative to a limit on the same machine or to the product itself.

mod events;
mod growth;
mod identity;
mod limits;
mod login;
mod measurement;
mod memory;
mod peers;
mod queries;
mod startup;
mod statements;
mod token_refresh;
mod worksession;

use super::results_table::{self as table, ResultRow};
use super::wrk;
use clap::ValueEnum;
use std::time::Instant;
use xtask_kit::cmd::{Result, cargo, fail, run};
use xtask_kit::system;

pub(super) use measurement::{Backend, GoalOptions};

/// A piece of work that has goals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Work {
    /// Everything, in one table
    All,
    /// Validation of access tokens
    Validate,
    /// Introspection of tokens by an OAuth client
    Introspect,
    /// A request to worksession-service that checks a token and does little more
    Check,
    /// The data of a user that clients show
    Userdata,
    /// Timer starts, with and without a broker
    Start,
    /// Submits, with everything that they update
    Submit,
    /// A flood of sign-ins, and validations during it
    Login,
    /// Exchange of refresh tokens
    Refresh,
    /// Events from the outbox to the chat
    Events,
    /// Start-up with existing data, from exec to ready
    Startup,
    /// Resident memory, idle and after load
    Memory,
    /// The reads of a user, with a short history among few users and a long one among many
    Growth,
    /// Database statements and flushes of requests
    Queries,
    /// Records written by TimeTagger, to which nothing of the product is compared
    Peers,
}

/// Measures some work.
type GoalMeasure = fn(&GoalOptions) -> Result<Vec<ResultRow>>;

const IDENTITY: &[&str] = &["identity-service"];
const BOTH: &[&str] = &["identity-service", "worksession-service"];
const SERVICES: &[&str] = &["identity-service", "worksession-service", "notifier"];
pub(super) const ALL: &[&str] = &[
    "identity-service",
    "worksession-service",
    "notifier",
    "holdfast",
];

impl Work {
    /// Returns the function that measures the work, and the programs that it measures.
    fn parts(self) -> (GoalMeasure, &'static [&'static str]) {
        match self {
            Self::All => (|_| Ok(Vec::new()), &[]),
            Self::Validate => (identity::validate, IDENTITY),
            Self::Introspect => (identity::introspect, IDENTITY),
            Self::Refresh => (identity::refresh, IDENTITY),
            Self::Login => (login::login, IDENTITY),
            Self::Check => (worksession::check, BOTH),
            Self::Userdata => (worksession::user_data, BOTH),
            Self::Start => (worksession::start, BOTH),
            Self::Submit => (worksession::submit, BOTH),
            Self::Growth => (growth::growth, BOTH),
            Self::Queries => (queries::queries, BOTH),
            Self::Events => (events::events, SERVICES),
            Self::Startup => (startup::startup, ALL),
            Self::Memory => (memory::memory, ALL),
            Self::Peers => (peers::timetagger::rows, &[]),
        }
    }
}

/// Measures some work and prints the results in one table.
pub(super) fn goals(work: Work, options: &GoalOptions) -> Result {
    let is_meant = |each: &&Work| match work {
        Work::All => {
            !matches!(each, Work::All | Work::Peers) || options.peers && **each == Work::Peers
        }
        one => **each == one,
    };
    let works: Vec<Work> = Work::value_variants()
        .iter()
        .filter(is_meant)
        .copied()
        .collect();
    let before = options.against.as_deref().map(table::read).transpose()?;
    build(&works)?;
    wrk::obtain()?;
    let (mut rows, begun) = (Vec::new(), Instant::now());
    for (n, work) in works.iter().enumerate() {
        println!(
            "== {work:?}, {} of {}, after {:.0} s",
            n + 1,
            works.len(),
            begun.elapsed().as_secs_f64()
        );
        let (measure, _) = work.parts();
        rows.extend(measure(options)?);
        if let Some(file) = &options.json {
            table::write(&rows, file)?;
        }
    }
    table::print(&rows, before.as_ref());
    match table::missed(&rows).as_slice() {
        [] => Ok(()),
        missed => fail(format!("goals not reached: {}", missed.join(", "))),
    }
}

/// Builds the programs and the reference programs; nothing for work that needs none of the product's.
fn build(works: &[Work]) -> Result {
    let mut programs: Vec<&str> = works
        .iter()
        .flat_map(|work| work.parts().1)
        .copied()
        .collect();
    programs.sort_unstable();
    programs.dedup();
    // Without a name, cargo would build all of them.
    if programs.is_empty() {
        return Ok(());
    }
    system::build(true, &programs)?;
    let mut yardsticks = cargo();
    yardsticks.args(["build", "--workspace", "--release"]);
    for example in ["responder", "bare_sqlite", "bare"] {
        yardsticks.args(["--example", example]);
    }
    run(&mut yardsticks)
}
