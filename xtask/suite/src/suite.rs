//! `cargo xtask test`: all tests on both databases, then the tour of the API guide.

mod unsteady;

use crate::tour;
use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};
use xtask_fixtures::servers::{Servers, Source};
use xtask_kit::cmd::{CapturedOutput, Result, cargo, fail, interrupted, run};
use xtask_kit::env_vars;

#[derive(Default, clap::Args)]
pub(crate) struct TestOptions {
    /// Test this crate only, without the tour
    #[arg(value_name = "CRATE")]
    package: Option<String>,
    /// Run only the tests whose path contains this text
    pattern: Option<String>,
    /// Run one part only
    #[arg(long)]
    only: Option<Part>,
    /// Where to find PostgreSQL and RabbitMQ
    #[arg(long, default_value = "auto")]
    servers: Source,
    /// More arguments for `cargo test`, such as `--lib`
    #[arg(last = true)]
    more: Vec<String>,
}

#[derive(clap::Args)]
pub(crate) struct WithServers {
    /// Where to find PostgreSQL and RabbitMQ
    #[arg(long, default_value = "auto")]
    servers: Source,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// SQLite and the memory broker
    Sqlite,
    /// PostgreSQL and RabbitMQ
    Postgres,
    /// The blocks of docs/api.md
    Tour,
}

impl TestOptions {
    fn includes(&self, part: Part) -> bool {
        let by_default = part != Part::Tour || self.package.is_none();
        self.only.map_or(by_default, |only| only == part)
    }

    /// Returns `cargo test` for the chosen crate, or for all.
    fn cargo_test(&self) -> Command {
        let mut command = cargo();
        command.arg("test");
        match &self.package {
            Some(package) => command.args(["--package", package]),
            None => command.arg("--workspace"),
        };
        command
    }
}

pub(crate) fn test(options: &TestOptions) -> Result<Counts> {
    let started = Instant::now();
    run(options.cargo_test().arg("--no-run"))?;
    // Tests of the whole system also start programs of other crates.
    if matches!(options.package.as_deref(), None | Some("standalone")) {
        run(cargo().args(["build", "--workspace", "--bins"]))?;
    }
    let mut counts = Counts::default();
    let mut broken = both_databases(options, &mut counts)?;
    if options.includes(Part::Tour) {
        println!("the tour of docs/api.md");
        match tour::tour_of_built() {
            Ok(()) => counts.passed += 1,
            Err(failure) => {
                counts.failed += 1;
                broken.push(format!("the tour: {failure}"));
            }
        }
    }
    counts.time = started.elapsed();
    println!("{counts}");
    if broken.is_empty() {
        Ok(counts)
    } else {
        fail(broken.join("; "))
    }
}

pub(crate) fn with_servers(options: &WithServers) -> Result {
    let servers = Servers::obtain(options.servers)?;
    let Some((program, args)) = options.command.split_first() else {
        return fail("no command");
    };
    let mut command = Command::new(program);
    run(servers.name_in(command.args(args)))
}

/// Runs all tests on both databases in parallel, and prints the two outputs one after the other. Then repeats failed tests
/// alone. Returns the failures.
fn both_databases(options: &TestOptions, counts: &mut Counts) -> Result<Vec<String>> {
    let servers = options
        .includes(Part::Postgres)
        .then(|| Servers::obtain(options.servers))
        .transpose()?;
    let on_sqlite = ("SQLite and the memory broker", None);
    let sqlite = options.includes(Part::Sqlite).then_some(on_sqlite);
    let on_postgres = |servers| ("PostgreSQL and RabbitMQ", Some(servers));
    let postgres = servers.as_ref().map(on_postgres);
    let wanted: Vec<_> = sqlite.into_iter().chain(postgres).collect();
    let started: Vec<CapturedOutput> = wanted
        .iter()
        .map(|(_, servers)| {
            let mut command = tests_on(*servers, options);
            CapturedOutput::start(command.args(&options.pattern).args(&options.more))
        })
        .collect::<Result<_>>()?;
    let mut ended = Vec::new();
    for ((name, _), running) in wanted.iter().zip(started) {
        println!("tests on {name}");
        let mut read = unsteady::Reading::default();
        let outcome = running.finish(|line| read.add(line));
        ended.push((read, outcome));
    }
    let mut broken = Vec::new();
    for ((name, servers), (mut read, mut outcome)) in wanted.into_iter().zip(ended) {
        if outcome.is_err() && !interrupted() {
            outcome = unsteady::try_alone(&mut read, &mut tests_on(servers, options));
        }
        *counts += read.counts;
        match outcome {
            Err(_) if interrupted() => return fail("interrupted"),
            outcome => broken.extend(outcome.err().map(|failure| format!("on {name}: {failure}"))),
        }
    }
    Ok(broken)
}

/// Returns the command that runs the chosen tests on these servers, or on SQLite without any.
fn tests_on(servers: Option<&Servers>, options: &TestOptions) -> Command {
    let mut command = options.cargo_test();
    command.arg("--no-fail-fast");
    if env_vars::var("RUST_TEST_THREADS").is_none() {
        // Tests wait more than they compute: with twice as many at once, all of them take a quarter less time.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.env("RUST_TEST_THREADS", (cores * 2).to_string());
    }
    match servers {
        Some(servers) => servers.name_in(&mut command),
        None => command.env("HOLDFAST_TEST_BACKEND", "sqlite"),
    };
    command
}

/// The sum of cargo's `test result:` lines, printed in the same form.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
    filtered: u64,
    time: Duration,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.measured += other.measured;
        self.filtered += other.filtered;
        self.time += other.time;
    }
}

impl Counts {
    fn add(&mut self, line: &str) {
        let Some((_, numbers)) = line.split_once("test result: ") else {
            return;
        };
        let numbers = numbers.split_once(". ").map_or("", |(_, numbers)| numbers);
        for part in numbers.split(';') {
            let Some((number, what)) = part.trim().split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                "measured" => self.measured += number,
                "filtered out" => self.filtered += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.failed == 0 { "ok" } else { "FAILED" };
        write!(
            f,
            "test result: {word}. {} passed; {} failed; {} ignored; {} measured; {} filtered out; finished in {:.2}s",
            self.passed,
            self.failed,
            self.ignored,
            self.measured,
            self.filtered,
            self.time.as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn the_lines_of_cargo_are_summed() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
        ] {
            counts.add(line);
        }
        assert_eq!(
            counts.to_string(),
            "test result: FAILED. 7 passed; 2 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s"
        );
    }
}
