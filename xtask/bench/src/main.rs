//! `cargo xtask bench`: measures the release build against the goals of the product.
//!
//! The load generator shares the machine with what it measures: the times are upper bounds.

#![expect(
    clippy::print_stdout,
    reason = "a command-line tool prints to standard output"
)]

mod environment;
mod goals;
mod hostile_uploads;
mod load;
mod login_timing;
mod outage;
mod percentile;
mod results_table;
mod users;
mod wrk;

use clap::Parser;
use goals::Work;
use std::process::ExitCode;
use xtask_kit::cmd::{self, fail};

/// Measure the release build
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask bench",
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
struct Bench {
    /// The work to measure
    work: Option<Work>,
    #[command(flatten)]
    options: goals::GoalOptions,
    #[command(subcommand)]
    trial: Option<Trial>,
}

#[derive(clap::Subcommand)]
enum Trial {
    /// Timer starts while the chat hangs and while RabbitMQ is down: nothing may be lost
    Outage(outage::OutageOptions),
    /// Whether the time of a rejected sign-in reveals the reason
    LoginTiming(login_timing::LoginTimingOptions),
    /// A hundred concurrent hostile uploads in 256 MiB of memory, and validations during them
    HostileUploads(hostile_uploads::HostileUploadsOptions),
}

fn main() -> ExitCode {
    let bench = Bench::parse();
    cmd::task(|| match (bench.trial, bench.work) {
        (Some(Trial::Outage(options)), _) => outage::outage(&options),
        (Some(Trial::LoginTiming(options)), _) => login_timing::login_timing(&options),
        (Some(Trial::HostileUploads(options)), _) => hostile_uploads::hostile_uploads(&options),
        (None, Some(work)) => goals::goals(work, &bench.options),
        (None, None) => fail("no work given"),
    })
}
