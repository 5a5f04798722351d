//! The work-session service as a process of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    worksession_service::run_cli(std::env::args_os())
}
