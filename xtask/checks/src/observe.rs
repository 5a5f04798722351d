//! `cargo xtask alerts`: the alert rules and the dashboard under deploy/observe.
//!
//! promtool says whether they are right in themselves. What it cannot know is checked here: that each figure they
//! name is one that the sources register, that each alert is shown firing and silent, and that docs/operations.md
//! says what to do. `--against` asks a Prometheus that scrapes running services.

mod files;
mod live;
mod names;

use crate::verdict::verdict;
use files::{FOLDER, Files};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask_kit::cmd::{Result, run};
use xtask_kit::envs;
use xtask_stand::servers;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run every expression on the Prometheus at this address too, and name the figures it has not
    #[arg(long, value_name = "URL")]
    against: Option<String>,
}

pub(crate) fn alerts(options: &Options) -> Result {
    check()?;
    match &options.against {
        Some(prometheus) => against(prometheus),
        None => Ok(()),
    }
}

/// All that needs no running service.
pub(crate) fn check() -> Result {
    let root = envs::root();
    let files = Files::read(&root)?;
    let mut complaints = names::check(&files.expressions, &names::registered(&root)?);
    complaints.extend(files.untold());
    let (rules, all) = (files.alerts.len(), files.expressions.len());
    let good = format!("{rules} rules and {all} expressions in all, of figures that there are");
    verdict("alerts", &complaints, &good)?;
    promtool(&root.join(FOLDER))
}

/// Runs every expression on a Prometheus, by its base URL. Fails when one cannot be run, or when a figure has no
/// series there at all.
pub(crate) fn against(prometheus: &str) -> Result {
    let files = Files::read(&envs::root())?;
    let complaints = live::silent(prometheus, &files.expressions)?;
    let count = files.expressions.len();
    let good = format!("{count} expressions run on {prometheus}, each of figures that it has");
    verdict("alerts", &complaints, &good)
}

/// Has promtool check the configuration with the rules, and run their tests.
fn promtool(folder: &Path) -> Result {
    let Some(program) = program()? else {
        println!("alerts: rules and their tests are skipped, there is no promtool here");
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

/// The one in `PATH`; a build server takes it out of Debian's package of Prometheus, whose installation would also
/// start a server.
fn program() -> Result<Option<PathBuf>> {
    if let Some(found) = envs::which("promtool") {
        return Ok(Some(found));
    }
    if !envs::is_ci() {
        return Ok(None);
    }
    let folder = envs::target_dir().join("prometheus");
    let program = folder.join("usr/bin/promtool");
    if !program.is_file() {
        servers::unpack("prometheus", &folder)?;
    }
    Ok(Some(program))
}
