//! `cargo xtask ci`: the checks that a change must pass.

use crate::suite;
use std::process::Command;
use xtask_fixtures::servers;
use xtask_kit::cmd::{Result, cargo, fail, interrupted, output, run};
use xtask_kit::env_vars;
use xtask_kit::report::Report;

#[derive(clap::Args)]
pub(crate) struct CiOptions {
    /// Skip the tests
    #[arg(long)]
    quick: bool,
}

/// Checks of the sources: the name in the table, and the arguments of cargo.
const SOURCES: [(&str, &str); 10] = [
    ("fmt", "fmt --all --check"),
    ("tidy", "xtask tidy"),
    ("config", "xtask config"),
    ("licences", "xtask licences"),
    ("production", "xtask production"),
    ("kubernetes", "xtask kubernetes --quick"),
    ("alerts", "xtask alerts"),
    ("systemd", "xtask systemd"),
    (
        "clippy",
        "clippy --workspace --all-targets --locked -- -D warnings",
    ),
    ("doc", "doc --workspace --no-deps --locked"),
];

/// Checks of the programs that the tests have built.
const PROGRAMS: [(&str, &str); 2] = [
    ("settings", "xtask kubernetes"),
    ("instructions", "xtask instructions"),
];

/// Tests with third-party programs: browsers, clients and a chat, then the compose files on a Docker engine.
const TRIALS: [(&str, &str); 2] = [("e2e", "xtask e2e"), ("containers", "xtask e2e compose")];

pub(crate) fn ci(options: &CiOptions) -> Result {
    let mut report = Report::default();
    step(&mut report, "compose", compose)?;
    for (name, words) in SOURCES {
        step(&mut report, name, || told(words))?;
    }
    let mut counts = None;
    if !options.quick {
        step(&mut report, "test", || {
            counts = Some(suite::test(&suite::TestOptions::default())?);
            Ok(())
        })?;
        for (name, words) in PROGRAMS {
            step(&mut report, name, || told(words))?;
        }
        for (name, words) in TRIALS {
            step(&mut report, name, || trial(words))?;
        }
    }
    report.print();
    if let Some(counts) = counts {
        println!("{counts}");
    }
    report.verdict()
}

fn told(words: &str) -> Result {
    run(cargo()
        .args(words.split(' '))
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// Runs a command again if it fails, and names it, as with a test that fails once.
fn trial(words: &str) -> Result {
    match told(words) {
        Err(failure) if !interrupted() => {
            println!("UNSTEADY {words}: {failure}");
            told(words)
        }
        done => done,
    }
}

/// The compose files in the combinations in which they are used.
const COMPOSE_FILES: [&str; 5] = [
    "docker-compose.yml",
    "docker-compose.yml:deploy/compose.observe.yml",
    "docker-compose.yml:deploy/compose.proxy.yml:deploy/compose.scale.yml",
    "docker-compose.yml:deploy/compose.proxy.yml:deploy/compose.production.yml",
    "docker-compose.yml:deploy/compose.proxy.yml:deploy/compose.scale.yml:deploy/compose.production.yml:deploy/compose.observe.yml",
];

/// Checks the compose files with the program that is installed. A build server installs one if there is none.
fn compose() -> Result {
    let plugin = output(Command::new("docker").args(["compose", "version"])).is_ok();
    if !plugin && env_vars::which("docker-compose").is_none() {
        if !env_vars::is_ci() {
            println!("compose: skipped, neither `docker compose` nor docker-compose is installed");
            return Ok(());
        }
        servers::install(&["docker-compose"])?;
    }
    for files in COMPOSE_FILES {
        let mut command = Command::new(if plugin { "docker" } else { "docker-compose" });
        command
            .current_dir(env_vars::root())
            .env("COMPOSE_FILE", files)
            .args(plugin.then_some("compose"));
        if files.contains("production") {
            command.args(["--env-file", "deploy/production.example.env"]);
        }
        run(command.args(["config", "-q"]))?;
    }
    Ok(())
}

/// Runs a step. If it fails, the next one runs all the same; Ctrl-C ends the run.
fn step(report: &mut Report, name: &'static str, step: impl FnOnce() -> Result) -> Result {
    // The report records the failure.
    let _ = report.step(name, || step().map(|()| "ok".to_owned()));
    if interrupted() {
        return fail("interrupted");
    }
    Ok(())
}
