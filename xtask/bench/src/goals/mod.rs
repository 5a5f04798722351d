//! What the product promises of its speed, each beside what nothing can exceed on the same machine, or beside itself.

mod events;
mod growth;
mod identity;
mod limits;
mod login;
mod memory;
mod peers;
mod queries;
mod refreshing;
mod rounds;
mod startup;
mod statements;
mod worksession;

use super::table::{self, Row};
use super::wrk;
use clap::ValueEnum;
use std::time::Instant;
use xtask_kit::cmd::{Result, cargo, fail, run};
use xtask_kit::system;

pub(super) use rounds::{Backend, Options};

/// A piece of work that has goals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Work {
    /// Everything, in one table
    All,
    /// Whose access token it is
    Validate,
    /// What a token is worth, asked by an OAuth client
    Introspect,
    /// A request to worksession-service that checks a token and little more
    Check,
    /// What a client shows of a user
    Userdata,
    /// Timer starts, with a broker and without
    Start,
    /// Submits, with everything that counts them
    Submit,
    /// A flood of sign-ins, and validations meanwhile
    Login,
    /// New tokens for old
    Refresh,
    /// Events from the outbox to the chat
    Events,
    /// From exec to ready with existing data
    Startup,
    /// What is resident at rest, and after load
    Memory,
    /// What a user reads, with a short history among few and a long one among many
    Growth,
    /// Statements of the database that requests need
    Queries,
    /// Records written by TimeTagger, which nothing of ours stands beside
    Peers,
}

impl Work {
    /// The programs that it measures.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Validate | Self::Introspect | Self::Login | Self::Refresh => {
                &["identity-service"]
            }
            Self::Check
            | Self::Userdata
            | Self::Start
            | Self::Submit
            | Self::Growth
            | Self::Queries => &["identity-service", "worksession-service"],
            Self::Events => &["identity-service", "worksession-service", "notifier"],
            Self::Startup | Self::Memory => &[
                "identity-service",
                "worksession-service",
                "notifier",
                "holdfast",
            ],
            Self::All | Self::Peers => &[],
        }
    }

    fn measure(self, options: &Options) -> Result<Vec<Row>> {
        match self {
            Self::Validate => identity::validate(options),
            Self::Introspect => identity::introspect(options),
            Self::Refresh => identity::refresh(options),
            Self::Login => login::login(options),
            Self::Check => worksession::check(options),
            Self::Userdata => worksession::user_data(options),
            Self::Start => worksession::start(options),
            Self::Submit => worksession::submit(options),
            Self::Events => events::events(options),
            Self::Startup => startup::startup(options),
            Self::Memory => memory::memory(options),
            Self::Growth => growth::growth(options),
            Self::Queries => queries::queries(options),
            Self::Peers => peers::timetagger::rows(options),
            Self::All => Ok(Vec::new()),
        }
    }
}

/// Measures some work and prints one table of it.
pub(super) fn goals(work: Work, options: &Options) -> Result {
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
    let works = works.as_slice();
    let before = options.against.as_deref().map(table::read).transpose()?;
    build(works)?;
    wrk::obtain()?;
    let (mut rows, begun) = (Vec::new(), Instant::now());
    for (n, work) in works.iter().enumerate() {
        println!(
            "== {work:?}, {} of {}, after {:.0} s",
            n + 1,
            works.len(),
            begun.elapsed().as_secs_f64()
        );
        rows.extend(work.measure(options)?);
        if let Some(file) = &options.json {
            table::write(&rows, file)?;
        }
    }
    table::print(&rows, before.as_ref());
    match table::missed(&rows).as_slice() {
        [] => Ok(()),
        missed => fail(format!("goals that are not reached: {}", missed.join(", "))),
    }
}

/// The programs, and the yardsticks beside them; nothing for work that needs none of ours.
fn build(works: &[Work]) -> Result {
    let mut programs: Vec<&str> = works
        .iter()
        .flat_map(|work| work.programs())
        .copied()
        .collect();
    programs.sort_unstable();
    programs.dedup();
    // Without a name cargo would build them all.
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
