//! The identity service on its own.

fn main() -> std::process::ExitCode {
    identity_service::run_cli(std::env::args_os())
}
