//! The identity service on its own.

fn main() -> std::process::ExitCode {
    identity_service::cli::run()
}
