//! The identity service as a program of its own.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> std::process::ExitCode {
    identity_service::run_cli(std::env::args_os())
}
