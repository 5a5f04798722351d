//! The notifier as a process of its own.

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    notifier::run_cli(std::env::args_os())
}
