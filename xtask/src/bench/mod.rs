//! `cargo xtask bench`: figures of the release build, against the limits the product promises.
//!
//! The load generator shares the machine with what it measures; the figures are upper bounds.

mod backlog;
pub(crate) mod chat;
mod events;
mod growth;
mod hot;
mod load;
mod login;
mod login_timing;
mod product;
mod start;
mod startup;
mod table;
mod wrk;

use crate::cmd::{Result, fail};
use crate::http;

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// From exec to ready with existing data, and memory at rest
    Startup(startup::Options),
    /// Timer starts while the chat hangs, and while RabbitMQ is down
    Start(start::Options),
    /// Events from the outbox to the chat, beside what the broker can do by itself
    Events(events::Options),
    /// A hundred thousand starts while RabbitMQ is down, and how they arrive once it is back
    Backlog(backlog::Options),
    /// A flood of sign-ins, and validations meanwhile
    Login(login::Options),
    /// Validation, reading, starts and submits, each beside what nothing can exceed
    Hot(hot::Options),
    /// What a user reads, with a short history among few and a long one among many
    Growth(growth::Options),
    /// How long the dashboard's pages take among a million sessions
    Today(growth::TodayOptions),
    /// Whether the time of a refused sign-in tells why
    LoginTiming(login_timing::Options),
}

pub(crate) fn bench(bench: &Bench) -> Result {
    match bench {
        Bench::Startup(options) => startup::startup(options),
        Bench::Start(options) => start::start(options),
        Bench::Events(options) => events::events(options),
        Bench::Backlog(options) => backlog::backlog(options),
        Bench::Login(options) => login::login(options),
        Bench::Hot(options) => hot::hot(options),
        Bench::Growth(options) => growth::growth(options),
        Bench::Today(options) => growth::today(options),
        Bench::LoginTiming(options) => login_timing::login_timing(options),
    }
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
