//! Holdfast in one process.

use std::process::ExitCode;

fn main() -> ExitCode {
    standalone::run_cli(std::env::args_os())
}
