//! The parts of the command line that every binary shares.

pub mod output;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser};
use serde::Serialize;

use crate::logging;
use crate::server::local_address;
use crate::time_zone;

/// Options that every command takes, before or after its name.
#[derive(Debug, Clone, Default, Args)]
pub struct CommonArgs {
    /// Configuration file (TOML, one table per part)
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory for SQLite files, generated keys, and mails if there is no SMTP server
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// Parses the command line, whose first argument is the program's name, and executes it. An error becomes one line on standard
/// error and exit code 1. A command line that cannot be parsed ends with exit code 2.
pub fn run<A: Parser, E: Display>(
    args: impl IntoIterator<Item = OsString>,
    execute: impl FnOnce(A) -> Result<ExitCode, E>,
) -> ExitCode {
    match A::try_parse_from(args) {
        Ok(args) => {
            logging::init();
            execute(args).unwrap_or_else(|error| fail(&error, false))
        }
        Err(message) => {
            // Help and version arrive here too; clap knows which stream each belongs to.
            let printed = message.print().is_ok();
            match printed && !message.use_stderr() {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(2),
            }
        }
    }
}

/// Creates a runtime with two threads, because the HTTP workers and the databases have threads of their own.
///
/// # Errors
/// When the system provides no threads.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}

/// Prints on standard error why a command failed, as JSON if `json` is set, and returns its exit code.
pub fn fail(why: &impl Display, json: bool) -> ExitCode {
    // libpq reports some errors on several lines.
    let why = why.to_string().replace("\n\t", " ").replace('\n', " ");
    let text = match json {
        true => serde_json::json!({ "error": why }).to_string(),
        false => format!("error: {why}"),
    };
    #[expect(
        clippy::print_stderr,
        reason = "the command's own error, for its caller"
    )]
    {
        eprintln!("{text}");
    }
    ExitCode::FAILURE
}

/// Prints the migrations that a command applied.
///
/// # Errors
/// Those of [`print()`].
pub fn print_applied(migrations: &[String]) -> Result<(), String> {
    match migrations {
        [] => print("nothing to apply"),
        names => print(&format!("applied {}", names.join(", "))),
    }
}

/// Prints which rules of time zones the process would use, as `check-config` does.
///
/// # Errors
/// Those of [`print()`].
pub fn print_time_zones() -> Result<(), String> {
    let (version, source) = (time_zone::version(), time_zone::source());
    print(&format!("time zone rules: {version} ({source})"))
}

/// Prints the outcome of a command, as JSON for programs or as text for people.
///
/// # Errors
/// Those of [`print()`].
pub fn show<T: Serialize>(
    json: bool,
    outcome: &T,
    text: impl FnOnce(&T) -> String,
) -> Result<(), String> {
    match json {
        true => print(&serde_json::to_string_pretty(outcome).map_err(|cause| cause.to_string())?),
        false => print(&text(outcome)),
    }
}

/// Prints the output of a command. A reader that stops early, such as `head`, is not an error.
///
/// # Errors
/// A sentence when the output cannot be written.
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

/// Checks whether a service on this machine is ready, for containers without curl.
///
/// # Errors
/// A sentence when it is not ready.
pub async fn healthcheck(listen: SocketAddr) -> Result<(), String> {
    let addr = local_address(listen);
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
        .map_err(|_| format!("no response from {addr}"))?;
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(format!(
            "not ready: {}",
            answer.text().await.unwrap_or_default()
        ))
    }
}
