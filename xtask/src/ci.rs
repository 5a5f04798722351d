//! `cargo xtask ci`: what a change must pass.

use crate::cmd::{Result, cargo, fail, interrupted, output, run};
use crate::{
    config_reference, e2e, envs, instructions, kubernetes, licences, observe, production, servers,
    suite, systemd, tidy,
};
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// All but the tests
    #[arg(long)]
    quick: bool,
}

/// Whether a dozen faults belong to every change: some 90 s, most of them a minute that people work. Not
/// before many runs in a row have shown that nothing but a loss makes it fail.
const FAULTS: bool = false;

/// A check: its name in the table, and what it does.
type Step = (&'static str, fn() -> Result);

const STEPS: [Step; 11] = [
    ("fmt", || run(cargo().args(["fmt", "--all", "--check"]))),
    ("tidy", || tidy::tidy(&envs::root())),
    ("config", || {
        config_reference::config(&config_reference::Options { write: false })
    }),
    ("licences", licences::licences),
    ("production", production::production),
    ("compose", compose),
    ("kubernetes", kubernetes::manifests),
    ("alerts", observe::check),
    ("systemd", systemd::check),
    ("clippy", || {
        run(cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]))
    }),
    ("doc", || {
        run(cargo()
            .args(["doc", "--workspace", "--no-deps", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings"))
    }),
];

pub(crate) fn ci(options: &Options) -> Result {
    let mut report = Report::default();
    for (name, step) in STEPS {
        report.step(name, step)?;
    }
    let mut counts = None;
    if !options.quick {
        report.step("test", || {
            counts = Some(suite::test(&suite::Options::whole())?);
            Ok(())
        })?;
        // With the programs that the tests have built.
        report.step("settings", kubernetes::settings)?;
        report.step("instructions", instructions::check)?;
        report.step("e2e", || e2e::e2e(&e2e::Options::whole()))?;
        report.step("containers", containers)?;
        if FAULTS {
            report.step("faults", e2e::faults::short)?;
        }
    }
    report.print();
    if let Some(counts) = counts {
        println!("{counts}");
    }
    report.verdict()
}

/// The compose files on an engine. As a test that fails once, a run that fails once is named and run again.
fn containers() -> Result {
    let whole = e2e::compose::ComposeOptions::whole();
    match e2e::compose::compose(&whole) {
        Err(failure) if !interrupted() => {
            println!("UNSTEADY containers: {failure}");
            e2e::compose::compose(&whole)
        }
        done => done,
    }
}

/// The compose files as they are used together.
const COMPOSE_FILES: [&str; 5] = [
    "docker-compose.yml",
    "docker-compose.yml:deploy/compose.observe.yml",
    "docker-compose.yml:deploy/compose.proxy.yml:deploy/compose.scale.yml",
    "docker-compose.yml:deploy/compose.proxy.yml:deploy/compose.production.yml",
    "docker-compose.yml:deploy/compose.proxy.yml:deploy/compose.scale.yml:deploy/compose.production.yml:deploy/compose.observe.yml",
];

/// Checks the compose files with whichever program reads them; a build server installs one.
fn compose() -> Result {
    let plugin = output(Command::new("docker").args(["compose", "version"])).is_ok();
    if !plugin && envs::which("docker-compose").is_none() {
        if !envs::is_ci() {
            println!("compose: skipped, there is neither `docker compose` nor docker-compose here");
            return Ok(());
        }
        servers::install(&["docker-compose"])?;
    }
    for files in COMPOSE_FILES {
        let mut command = Command::new(if plugin { "docker" } else { "docker-compose" });
        command
            .current_dir(envs::root())
            .env("COMPOSE_FILE", files)
            .args(plugin.then_some("compose"));
        if files.contains("production") {
            command.args(["--env-file", "deploy/production.example.env"]);
        }
        run(command.args(["config", "-q"]))?;
    }
    Ok(())
}

/// What each step came to, in order.
#[derive(Default)]
struct Report {
    rows: Vec<(&'static str, Duration, Option<String>)>,
}

impl Report {
    /// Runs a step. One that fails does not keep the next from running; Ctrl-C does.
    fn step(&mut self, name: &'static str, step: impl FnOnce() -> Result) -> Result {
        println!("== {name}");
        let started = Instant::now();
        let failure = step().err().map(|failure| failure.to_string());
        if let Some(failure) = &failure {
            println!("{name}: {failure}");
        }
        self.rows.push((name, started.elapsed(), failure));
        if interrupted() {
            fail("interrupted")
        } else {
            Ok(())
        }
    }

    fn print(&self) {
        println!("\n{:<10} {:>9}  result", "step", "seconds");
        for (name, time, failure) in &self.rows {
            let result = failure.as_deref().unwrap_or("ok");
            println!("{name:<10} {:>9.1}  {result}", time.as_secs_f64());
        }
        let total: Duration = self.rows.iter().map(|(_, time, _)| *time).sum();
        println!("{:<10} {:>9.1}", "all", total.as_secs_f64());
    }

    fn verdict(&self) -> Result {
        let failed: Vec<&str> = self
            .rows
            .iter()
            .filter(|(_, _, failure)| failure.is_some())
            .map(|(name, ..)| *name)
            .collect();
        if failed.is_empty() {
            Ok(())
        } else {
            fail(format!("failed: {}", failed.join(", ")))
        }
    }
}
