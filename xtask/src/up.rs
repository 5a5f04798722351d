//! `cargo xtask up`: everything in one process, on this machine.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use xtask_kit::cmd::{Failure, Result};
use xtask_kit::{envs, system};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build with optimisation: slower to build, faster to run
    #[arg(long)]
    release: bool,
    /// Add a user, a team, projects and 90 days of sessions, and print the sign-in
    #[arg(long)]
    demo: bool,
    /// Where the databases and the keys are kept
    #[arg(long, default_value = "data")]
    data_dir: PathBuf,
    /// More arguments for `holdfast serve`
    #[arg(last = true)]
    more: Vec<String>,
}

/// Builds, then becomes `holdfast serve`: Ctrl-C reaches it as if it had been started by hand.
pub(crate) fn up(options: &Options) -> Result {
    system::build(options.release, &["holdfast"])?;
    let mut command = Command::new(system::binary(options.release, "holdfast"));
    command
        .arg("serve")
        .arg("--data-dir")
        .arg(&options.data_dir);
    if options.demo {
        command.arg("--demo");
    }
    command.args(&options.more);
    for (name, value) in system::LOCAL_HOOKS {
        if envs::var(name).is_none() {
            command.env(name, value);
        }
    }
    Err(Failure::from(command.exec()))
}
