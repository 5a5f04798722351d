//! The work-session service as a program of its own.

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    worksession_service::run_cli(std::env::args_os())
}
