//! `cargo xtask alerts`: checks the alert rules and the dashboard in deploy/observe.
//!
//! promtool checks the files themselves. This module checks what promtool cannot know: that the sources register each metric
//! that the files name, that the tests show each alert firing and silent, and that docs/operations.md says what to do.
//! `--against` queries a Prometheus that scrapes running services.

mod files;
mod live;
mod names;

use crate::check_result::verdict;
use files::{FOLDER, Files};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask_fixtures::servers;
use xtask_kit::cmd::{Result, run};
use xtask_kit::env_vars;

#[derive(clap::Args)]
pub(crate) struct AlertsOptions {
    /// Also run every expression on the Prometheus at this address, and report metrics without series
    #[arg(long, value_name = "URL")]
    against: Option<String>,
}

pub(crate) fn alerts(options: &AlertsOptions) -> Result {
    check()?;
    match &options.against {
        Some(prometheus) => against(prometheus),
        None => Ok(()),
    }
}

/// Checks everything that needs no running service.
pub(crate) fn check() -> Result {
    let root = env_vars::root();
    let files = Files::read(&root)?;
    let mut complaints = names::check(&files.expressions, &names::registered(&root)?);
    complaints.extend(files.untold());
    let (rules, all) = (files.alerts.len(), files.expressions.len());
    let good = format!("{rules} rules, {all} expressions, all metrics are registered");
    verdict("alerts", &complaints, &good)?;
    promtool(&root.join(FOLDER))
}

/// Runs every expression on the Prometheus with this base URL. Fails if one cannot be run, or if a metric has no series at
/// all.
pub(crate) fn against(prometheus: &str) -> Result {
    let files = Files::read(&env_vars::root())?;
    let complaints = live::silent(prometheus, &files.expressions)?;
    let count = files.expressions.len();
    let good = format!("{count} expressions run on {prometheus}, all metrics have series");
    verdict("alerts", &complaints, &good)
}

/// Runs promtool on the configuration with the rules, and on their tests.
fn promtool(folder: &Path) -> Result {
    let Some(program) = program()? else {
        println!("alerts: rules and their tests are skipped, promtool is not installed");
        return Ok(());
    };
    let promtool = || {
        let mut command = Command::new(&program);
        command.current_dir(folder);
        command
    };
    run(promtool().args(["check", "config", "prometheus.yml"]))?;
    run(promtool().args(["check", "rules", "alerts.yml"]))?;
    run(promtool().args(["test", "rules", "alerts_test.yml"]))
}

/// Returns promtool from `PATH`. A build server extracts it from Debian's package of Prometheus, which would start a server
/// if it were installed.
fn program() -> Result<Option<PathBuf>> {
    if let Some(found) = env_vars::which("promtool") {
        return Ok(Some(found));
    }
    if !env_vars::is_ci() {
        return Ok(None);
    }
    let folder = env_vars::target_dir().join("prometheus");
    let program = folder.join("usr/bin/promtool");
    if !program.is_file() {
        servers::unpack("prometheus", &folder)?;
    }
    Ok(Some(program))
}
