//! Tasks that are programs of their own, built when they are called for.

use std::os::unix::process::CommandExt;
use std::process::Command;
use xtask_kit::cmd::{Failure, Result, cargo, output};
use xtask_kit::system;

/// A program with tasks.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    /// Its first argument says which.
    Checks,
    E2e,
    Bench,
}

/// Builds a tool, and becomes it with the arguments of this program. With `--workspace` cargo chooses the features that it
/// chooses for the product: what that compiled is not compiled again.
pub(crate) fn hand_over(tool: Tool) -> Result {
    let (program, release, read) = match tool {
        Tool::Checks => ("xtask-checks", false, 1),
        Tool::E2e => ("xtask-e2e", false, 2),
        // The load shares the machine with what it measures.
        Tool::Bench => ("xtask-bench", true, 2),
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
