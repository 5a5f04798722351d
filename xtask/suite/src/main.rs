//! Runs all tests, the tour of the API guide, and the checks that a change must pass.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool prints to standard output"
)]

mod chat_listener;
mod ci;
mod suite;
mod tour;

use clap::Parser;
use std::process::ExitCode;
use xtask_kit::cmd;

#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Task {
    /// Run all tests, on SQLite and in parallel on PostgreSQL with RabbitMQ, then the API guide's tour
    Test(suite::TestOptions),
    /// Run a command with HOLDFAST_TEST_PG and HOLDFAST_TEST_AMQP set to test servers
    WithServers(suite::WithServers),
    /// Run the API guide's tour against a new `holdfast` or a running one
    Tour(tour::TourOptions),
    /// Print the chat messages that arrive at a local port
    ChatListener(chat_listener::ChatListenerOptions),
    /// Run fmt, clippy, tidy, doc, licences, the checks of deploy, test and e2e
    Ci(ci::CiOptions),
}

fn main() -> ExitCode {
    let task = Task::parse();
    cmd::task(|| match task {
        Task::Test(options) => suite::test(&options).map(drop),
        Task::WithServers(options) => suite::with_servers(&options),
        Task::Tour(options) => tour::tour(&options),
        Task::ChatListener(options) => chat_listener::listen(&options),
        Task::Ci(options) => ci::ci(&options),
    })
}
