//! `cargo xtask`: builds and starts the product, or runs the program that has the task.
//!
//! It is compiled before every task, so it depends on little more than the argument parser. It works even if a service
//! does not build.

mod tasks;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use tasks::TASKS;
use xtask_kit::cmd::{self, Failure, Result};
use xtask_kit::{env_vars, system};

fn main() -> ExitCode {
    let matches = command().get_matches();
    cmd::task(|| match matches.subcommand() {
        Some(("up", options)) => up(options),
        Some((name, _)) => match TASKS.iter().find(|(task, ..)| *task == name) {
            Some((_, _, tool)) => tool.hand_over(),
            None => cmd::fail("no such task"),
        },
        None => cmd::fail("no task given; see `cargo xtask --help`"),
    })
}

fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .help(help)
            .action(ArgAction::SetTrue)
    };
    let data_dir = Arg::new("data-dir")
        .long("data-dir")
        .value_name("DATA_DIR")
        .help("Folder for the databases and keys")
        .value_parser(value_parser!(PathBuf))
        .default_value("data");
    let more = |help: &'static str| {
        let more = Arg::new("more")
            .value_name("MORE")
            .action(ArgAction::Append);
        more.help(help).num_args(1..)
    };
    let up = Command::new("up")
        .about("Build and run everything in one process on embedded SQLite")
        .arg(flag(
            "release",
            "Build with optimisations: slower to build, faster to run",
        ))
        .arg(flag(
            "demo",
            "Add a user, a team, projects and 90 days of sessions, and print how to sign in",
        ))
        .arg(data_dir)
        .arg(more("More arguments for `holdfast serve`").last(true));
    let elsewhere = TASKS.map(|(task, about, _)| {
        // That program parses the arguments, `--help` included.
        let more = more("").trailing_var_arg(true).allow_hyphen_values(true);
        let command = Command::new(task).about(about).disable_help_flag(true);
        command.arg(more.hide(true))
    });
    Command::new("cargo xtask")
        .bin_name("cargo xtask")
        .about("Build, run, test and check Holdfast")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(up)
        .subcommands(elsewhere)
}

/// Builds the product, then replaces this process with `holdfast serve`, so that Ctrl-C reaches it directly.
fn up(options: &ArgMatches) -> Result {
    let release = options.get_flag("release");
    system::build(release, &["holdfast"])?;
    let mut command = std::process::Command::new(system::binary(release, "holdfast"));
    command.arg("serve");
    if let Some(folder) = options.get_one::<PathBuf>("data-dir") {
        command.arg("--data-dir").arg(folder);
    }
    command.args(options.get_flag("demo").then_some("--demo"));
    command.args(options.get_many::<String>("more").into_iter().flatten());
    for (name, value) in system::LOCAL_HOOKS {
        if env_vars::var(name).is_none() {
            command.env(name, value);
        }
    }
    Err(Failure::from(command.exec()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_task_can_be_asked_for() {
        super::command().debug_assert();
    }
}
