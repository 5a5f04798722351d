//! The build's own tool: `cargo xtask up`, `test`, `ci`, and the names of all other tasks.
//!
//! Everybody compiles it first, so that it is small: what few call for is a program of its own. It knows the repository
//! and its commands, nothing of the services' code, and works while a service does not build.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

mod chat_listener;
mod ci;
mod suite;
mod tools;
mod tour;
mod up;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;
use tools::Tool;
use xtask_kit::cmd;

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
    E2e(Elsewhere),
    /// Run a command with HOLDFAST_TEST_PG and HOLDFAST_TEST_AMQP set to servers for tests
    WithServers(suite::WithServers),
    /// Run the README's tour against a fresh `holdfast`, or against a running one
    Tour(tour::Options),
    /// Print the chat messages that arrive at a local port
    ChatListener(chat_listener::Options),
    /// fmt, clippy, tidy, doc, licences, what lies in deploy, test, e2e
    Ci(ci::Options),
    /// Check what the compiler does not: directions, lengths, where SQL stands
    Tidy(Elsewhere),
    /// Check the licences of everything that is linked
    Licences(Elsewhere),
    /// Print what a program is made of, as a CycloneDX document
    Sbom(Elsewhere),
    /// Check deploy/kubernetes: against the API's schemas, itself, the code's paths, and the programs
    Kubernetes(Elsewhere),
    /// Check the alert rules, their tests and the dashboard
    Alerts(Elsewhere),
    /// Check the units in deploy/systemd with systemd's own tools
    Systemd(Elsewhere),
    /// Check that every deployment in deploy/ sets what production must set
    Production(Elsewhere),
    /// Compare docs/openapi with what the services say of themselves
    Openapi(Elsewhere),
    /// Compare docs/configuration.md with the types that the configuration is read into
    Config(Elsewhere),
    /// Compare docs/events with the types of the events
    Events(Elsewhere),
    /// Count the instructions of a validation, and compare them with what is written down
    Instructions(Elsewhere),
    /// Measure the release build
    Bench(Elsewhere),
}

// What the program that has the task reads by itself.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct Elsewhere {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    cmd::task(|| match args.task {
        Task::Up(options) => up::up(&options),
        Task::Test(options) => suite::test(&options).map(drop),
        Task::WithServers(options) => suite::with_servers(&options),
        Task::Tour(options) => tour::tour(&options),
        Task::ChatListener(options) => chat_listener::listen(&options),
        Task::Ci(options) => ci::ci(&options),
        Task::E2e(_) => tools::hand_over(Tool::E2e),
        Task::Bench(_) => tools::hand_over(Tool::Bench),
        Task::Tidy(_)
        | Task::Licences(_)
        | Task::Sbom(_)
        | Task::Kubernetes(_)
        | Task::Alerts(_)
        | Task::Systemd(_)
        | Task::Production(_)
        | Task::Openapi(_)
        | Task::Config(_)
        | Task::Events(_)
        | Task::Instructions(_) => tools::hand_over(Tool::Checks),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn every_task_can_be_asked_for() {
        super::Args::command().debug_assert();
    }
}
