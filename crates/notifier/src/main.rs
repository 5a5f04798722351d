//! The notifier as a process of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    notifier::run_cli(std::env::args_os())
}
