//! Tasks that are in programs of their own, built when they are called for.

use std::os::unix::process::CommandExt;
use std::process::Command;
use xtask_kit::cmd::{Failure, Result, cargo, output};
use xtask_kit::system;

/// A program with tasks.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    Suite,
    Checks,
    E2e,
    Bench,
}

/// Each task, what it does, and where.
#[rustfmt::skip]
pub(crate) const TASKS: [(&str, &str, Tool); 18] = [
    ("test", "Run all tests, on SQLite and on PostgreSQL with RabbitMQ at once, then the API guide's tour", Tool::Suite),
    ("e2e", "Run the tests that need real browsers and other people's OAuth libraries", Tool::E2e),
    ("with-servers", "Run a command with HOLDFAST_TEST_PG and HOLDFAST_TEST_AMQP set to servers for tests", Tool::Suite),
    ("tour", "Run the API guide's tour against a fresh `holdfast`, or against a running one", Tool::Suite),
    ("chat-listener", "Print the chat messages that arrive at a local port", Tool::Suite),
    ("ci", "fmt, clippy, tidy, doc, licences, what lies in deploy, test, e2e", Tool::Suite),
    ("tidy", "Check what the compiler does not: directions, lengths, where SQL stands", Tool::Checks),
    ("licences", "Check the licences and sources of the dependencies", Tool::Checks),
    ("sbom", "Print what a program is made of, as a CycloneDX document", Tool::Checks),
    ("kubernetes", "Check deploy/kubernetes: against the API's schemas, itself, the code's paths, and the programs", Tool::Checks),
    ("alerts", "Check the alert rules, their tests and the dashboard", Tool::Checks),
    ("systemd", "Check the units in deploy/systemd with systemd's own tools", Tool::Checks),
    ("production", "Check that every deployment in deploy/ sets what production must set", Tool::Checks),
    ("openapi", "Compare docs/openapi with what the services say of themselves", Tool::Checks),
    ("config", "Compare docs/configuration.md with the types that the configuration is read into", Tool::Checks),
    ("events", "Compare docs/events with the types of the events", Tool::Checks),
    ("instructions", "Count the instructions of a validation, and compare them with what is written down", Tool::Checks),
    ("bench", "Measure the release build", Tool::Bench),
];

impl Tool {
    /// Builds it, and becomes it with the arguments of this program. With `--workspace` cargo chooses the features that it
    /// chooses for the product: what that compiled is not compiled again.
    pub(crate) fn hand_over(self) -> Result {
        // Those with several tasks read which.
        let (program, release, read) = match self {
            Self::Suite => ("xtask-suite", false, 1),
            Self::Checks => ("xtask-checks", false, 1),
            Self::E2e => ("xtask-e2e", false, 2),
            // The load shares the machine with what it measures.
            Self::Bench => ("xtask-bench", true, 2),
        };
        let mut build = cargo();
        build.args(["build", "--quiet", "--workspace", "--bin", program]);
        build.args(release.then_some("--release"));
        output(&mut build)?;
        let mut command = Command::new(system::binary(release, program));
        Err(Failure::from(
            command.args(std::env::args_os().skip(read)).exec(),
        ))
    }
}
