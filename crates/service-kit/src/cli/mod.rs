//! The parts of the command line that every binary has.

pub mod output;

use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::server::on_this_machine;

/// Options that stand before or after any command.
#[derive(Debug, Clone, Default, Args)]
pub struct CommonArgs {
    /// Configuration file (TOML, one table per part)
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder for SQLite files, keys that were not configured, and mails without SMTP
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// Ends a command: an error becomes one line on standard error and exit code 1.
pub fn finish<E: std::fmt::Display>(outcome: Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(
                clippy::print_stderr,
                reason = "the command's own error, for whoever typed it"
            )]
            {
                eprintln!("error: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Prints what a command was asked for. That whoever reads it has seen enough, as `head` has, is no error.
///
/// # Errors
/// A sentence when it cannot be written.
pub fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("the output cannot be written: {error}"))
        }
        _ => Ok(()),
    }
}

/// Asks a running service on this machine whether it is ready, for containers without curl.
///
/// # Errors
/// A sentence when it is not.
pub async fn healthcheck(listen: SocketAddr) -> Result<(), String> {
    let addr = on_this_machine(listen);
    #[expect(clippy::disallowed_methods, reason = "calls this machine only")]
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(crate::tls::client_config())
        .no_proxy()
        .timeout(Duration::from_secs(5))
        .build()
        .map_err(|error| error.to_string())?;
    let answer = client
        .get(format!("http://{addr}/health/ready"))
        .send()
        .await
        .map_err(|_| format!("nothing answers on {addr}"))?;
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(format!(
            "not ready: {}",
            answer.text().await.unwrap_or_default()
        ))
    }
}
