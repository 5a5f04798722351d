//! Tasks in separate programs, which are built when they are called.

use std::os::unix::process::CommandExt;
use std::process::Command;
use xtask_kit::cmd::{Failure, Result, cargo, output};
use xtask_kit::system;

/// A program that contains tasks.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    Suite,
    Checks,
    E2e,
    Bench,
}

/// Each task, its description, and its program.
#[rustfmt::skip]
pub(crate) const TASKS: [(&str, &str, Tool); 18] = [
    ("test", "Run all tests, on SQLite and in parallel on PostgreSQL with RabbitMQ, then the API guide's tour", Tool::Suite),
    ("e2e", "Run the tests that need real browsers and third-party OAuth libraries", Tool::E2e),
    ("with-servers", "Run a command with HOLDFAST_TEST_PG and HOLDFAST_TEST_AMQP set to test servers", Tool::Suite),
    ("tour", "Run the API guide's tour against a new `holdfast` or a running one", Tool::Suite),
    ("chat-listener", "Print the chat messages that arrive at a local port", Tool::Suite),
    ("ci", "Run fmt, clippy, tidy, doc, licences, the checks of deploy, test and e2e", Tool::Suite),
    ("tidy", "Check rules that the compiler does not know: dependency directions, file lengths, where SQL is", Tool::Checks),
    ("licences", "Check the licences and sources of the dependencies", Tool::Checks),
    ("sbom", "Print the components of a program as a CycloneDX document", Tool::Checks),
    ("kubernetes", "Check deploy/kubernetes against the API schemas, itself, the paths in the code, and the programs", Tool::Checks),
    ("alerts", "Check the alert rules, their tests and the dashboard", Tool::Checks),
    ("systemd", "Check the units in deploy/systemd with systemd's own tools", Tool::Checks),
    ("production", "Check that every deployment in deploy/ has the settings that production needs", Tool::Checks),
    ("openapi", "Compare docs/openapi with the services' own OpenAPI documents", Tool::Checks),
    ("config", "Compare docs/configuration.md with the configuration types", Tool::Checks),
    ("events", "Compare docs/events with the event types", Tool::Checks),
    ("instructions", "Count the CPU instructions of a token validation and compare them with the recorded number", Tool::Checks),
    ("bench", "Measure the release build", Tool::Bench),
];

impl Tool {
    /// Builds the program, and replaces this process with it. With `--workspace`, cargo selects the same features as for the
    /// product, so that nothing is compiled twice.
    pub(crate) fn hand_over(self) -> Result {
        // A program with several tasks reads the task's name as its first argument.
        let (program, release, read) = match self {
            Self::Suite => ("xtask-suite", false, 1),
            Self::Checks => ("xtask-checks", false, 1),
            Self::E2e => ("xtask-e2e", false, 2),
            // A release build: the load generator shares the machine with the programs it measures.
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
