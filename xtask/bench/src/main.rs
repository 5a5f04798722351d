//! `cargo xtask bench`: figures of the release build, against the limits the product promises.
//!
//! The load generator shares the machine with what it measures; the figures are upper bounds.

#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

mod backlog;
mod goals;
mod hostile_uploads;
mod load;
mod login_timing;
mod outage;
mod product;
mod table;
mod wrk;

use clap::Parser;
use goals::Work;
use std::process::ExitCode;
use xtask_kit::cmd::{self, Result, fail};

/// Measure the release build
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench")]
enum Bench {
    /// Everything that has a goal, in one table
    All(goals::Options),
    /// Whose access token it is
    Validate(goals::Options),
    /// What a token is worth, asked by an OAuth client
    Introspect(goals::Options),
    /// A request to worksession-service that checks a token and little more
    Check(goals::Options),
    /// What a client shows of a user
    Userdata(goals::Options),
    /// Timer starts, with a broker and without
    Start(goals::Options),
    /// Submits, with everything that counts them
    Submit(goals::Options),
    /// A flood of sign-ins, and validations meanwhile
    Login(goals::Options),
    /// New tokens for old
    Refresh(goals::Options),
    /// Events from the outbox to the chat
    Events(goals::Options),
    /// From exec to ready with existing data
    Startup(goals::Options),
    /// What is resident at rest, and after load
    Memory(goals::Options),
    /// What a user reads, with a short history among few and a long one among many
    Growth(goals::Options),
    /// Statements of the database that requests need
    Queries(goals::Options),
    /// Other people's programs that do such work, by themselves
    Peers(goals::Options),
    /// Timer starts while the chat hangs, and while RabbitMQ is down: nothing is lost
    Outage(outage::Options),
    /// A hundred thousand starts while RabbitMQ is down, and how they arrive once it is back
    Backlog(backlog::Options),
    /// How long the dashboard's pages take among a million sessions
    Today(goals::TodayOptions),
    /// Whether the time of a refused sign-in tells why
    LoginTiming(login_timing::Options),
    /// A hundred hostile uploads at a time in 256 MiB of memory, and validations meanwhile
    HostileUploads(hostile_uploads::Options),
}

fn main() -> ExitCode {
    let bench = Bench::parse();
    cmd::task(|| measure(&bench))
}

fn measure(bench: &Bench) -> Result {
    let (work, options) = match bench {
        Bench::All(options) => return goals::goals(&goals::all(options), options),
        Bench::Outage(options) => return outage::outage(options),
        Bench::Backlog(options) => return backlog::backlog(options),
        Bench::Today(options) => return goals::today(options),
        Bench::LoginTiming(options) => return login_timing::login_timing(options),
        Bench::HostileUploads(options) => return hostile_uploads::hostile_uploads(options),
        Bench::Validate(options) => (Work::Validate, options),
        Bench::Introspect(options) => (Work::Introspect, options),
        Bench::Check(options) => (Work::Check, options),
        Bench::Userdata(options) => (Work::Userdata, options),
        Bench::Start(options) => (Work::Start, options),
        Bench::Submit(options) => (Work::Submit, options),
        Bench::Login(options) => (Work::Login, options),
        Bench::Refresh(options) => (Work::Refresh, options),
        Bench::Events(options) => (Work::Events, options),
        Bench::Startup(options) => (Work::Startup, options),
        Bench::Memory(options) => (Work::Memory, options),
        Bench::Growth(options) => (Work::Growth, options),
        Bench::Queries(options) => (Work::Queries, options),
        Bench::Peers(options) => (Work::Peers, options),
    };
    goals::goals(&[work], options)
}

/// The value below or at which so many thousandths of the sorted values lie (nearest rank).
fn per_mille(sorted: &[f64], thousandths: usize) -> f64 {
    let index = (sorted.len() * thousandths)
        .div_ceil(1000)
        .saturating_sub(1);
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// What each thread came to.
fn join<T>(threads: Vec<std::thread::ScopedJoinHandle<'_, Result<T>>>) -> Result<Vec<T>> {
    let results = threads.into_iter().map(|thread| match thread.join() {
        Ok(result) => result,
        Err(_) => fail("a thread of the bench failed"),
    });
    results.collect()
}

#[cfg(test)]
mod tests {
    use super::per_mille;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(per_mille(&values, 500), 100.0);
        assert_eq!(per_mille(&values, 990), 198.0);
        assert_eq!(per_mille(&values, 1000), 200.0);
        assert!(per_mille(&[], 500).is_nan());
    }
}
