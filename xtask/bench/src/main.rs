//! `cargo xtask bench`: figures of the release build, against the limits the product promises.
//!
//! The load generator shares the machine with what it measures; the figures are upper bounds.

#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

mod crowd;
mod goals;
mod hostile_uploads;
mod load;
mod login_timing;
mod outage;
mod scene;
mod table;
mod wrk;

use clap::Parser;
use goals::Work;
use std::process::ExitCode;
use xtask_kit::cmd::{self, Result, fail};

/// Measure the release build
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask bench",
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
struct Bench {
    /// What has goals
    work: Option<Work>,
    #[command(flatten)]
    options: goals::Options,
    #[command(subcommand)]
    trial: Option<Trial>,
}

#[derive(clap::Subcommand)]
enum Trial {
    /// Timer starts while the chat hangs, and while RabbitMQ is down: nothing is lost
    Outage(outage::Options),
    /// Whether the time of a refused sign-in tells why
    LoginTiming(login_timing::Options),
    /// A hundred hostile uploads at a time in 256 MiB of memory, and validations meanwhile
    HostileUploads(hostile_uploads::Options),
}

fn main() -> ExitCode {
    let bench = Bench::parse();
    cmd::task(|| match (bench.trial, bench.work) {
        (Some(Trial::Outage(options)), _) => outage::outage(&options),
        (Some(Trial::LoginTiming(options)), _) => login_timing::login_timing(&options),
        (Some(Trial::HostileUploads(options)), _) => hostile_uploads::hostile_uploads(&options),
        (None, Some(work)) => goals::goals(work, &bench.options),
        (None, None) => fail("which work?"),
    })
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
