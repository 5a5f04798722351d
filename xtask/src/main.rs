//! The build's own tool: `cargo xtask up`, `test`, `ci` and what they are made of.
//!
//! It knows the repository and its commands, nothing of the services' code: it compiles in
//! seconds and works while a service does not build.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

mod bench;
mod chat_listener;
mod ci;
mod cmd;
mod config_reference;
mod e2e;
mod envs;
mod events;
mod http;
mod instructions;
mod kubernetes;
mod licences;
mod observe;
mod openapi;
mod production;
mod sbom;
mod servers;
mod spdx;
mod suite;
mod system;
mod systemd;
mod tidy;
mod tour;
mod up;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Everything this repository does to itself"
)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build and run everything in one process on embedded SQLite
    Up(up::Options),
    /// Run all tests: on SQLite, again on PostgreSQL with RabbitMQ, then the README's tour
    Test(suite::Options),
    /// Run the tests that need real browsers and other people's OAuth libraries
    E2e(e2e::Options),
    /// Run a command with HOLDFAST_TEST_PG and HOLDFAST_TEST_AMQP set to servers for tests
    WithServers(suite::WithServers),
    /// Run the README's tour against a fresh `holdfast`, or against a running one
    Tour(tour::Options),
    /// Print the chat messages that arrive at a local port
    ChatListener(chat_listener::Options),
    /// fmt, clippy, tidy, doc, licences, what lies in deploy, test, e2e
    Ci(ci::Options),
    /// Check what the compiler does not: directions, lengths, where SQL stands
    Tidy,
    /// Check the licences of everything that is linked
    Licences,
    /// Print what a program is made of, as a CycloneDX document
    Sbom(sbom::Options),
    /// Check deploy/kubernetes: against the API's schemas, itself, the code's paths, and the programs
    Kubernetes(kubernetes::Options),
    /// Check the alert rules, their tests and the dashboard
    Alerts(observe::Options),
    /// Check the units in deploy/systemd with systemd's own tools
    Systemd,
    /// Check that every deployment in deploy/ sets what production must set
    Production,
    /// Compare docs/openapi with what the services say of themselves
    Openapi(openapi::Options),
    /// Compare docs/configuration.md with the types that the configuration is read into
    Config(config_reference::Options),
    /// Compare docs/events with the types of the events
    Events(events::Options),
    /// Count the instructions of a validation, and compare them with what is written down
    Instructions,
    /// Measure the release build
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = cmd::watch_signals().and_then(|()| match args.task {
        Task::Up(options) => up::up(&options),
        Task::Test(options) => suite::test(&options).map(drop),
        Task::E2e(options) => e2e::e2e(&options),
        Task::WithServers(options) => suite::with_servers(&options),
        Task::Tour(options) => tour::tour(&options),
        Task::ChatListener(options) => chat_listener::listen(&options),
        Task::Ci(options) => ci::ci(&options),
        Task::Tidy => tidy::tidy(&envs::root()),
        Task::Licences => licences::licences(),
        Task::Sbom(options) => sbom::sbom(&options),
        Task::Kubernetes(options) => kubernetes::kubernetes(&options),
        Task::Systemd => systemd::check(),
        Task::Production => production::production(),
        Task::Instructions => instructions::check(),
        Task::Bench(bench) => bench::bench(&bench),
        Task::Config(options) => config_reference::config(&options),
        Task::Events(options) => events::events(&options),
        Task::Alerts(options) => observe::alerts(&options),
        Task::Openapi(options) => openapi::openapi(&options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn every_task_can_be_asked_for() {
        super::Args::command().debug_assert();
    }
}
