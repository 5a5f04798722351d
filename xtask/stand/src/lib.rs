//! What the product is tested with: servers, accounts, a chat, a small HTTP client, other people's programs.
//!
//! It knows the services by their programs and addresses alone, and no task is in it.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

pub mod chat;
pub mod http;
pub mod people;
pub mod runtimes;
pub mod servers;

use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;
use xtask_kit::cmd::Result;
use xtask_kit::envs;

/// An empty folder that goes when it is dropped.
pub fn fresh_folder(name: &str) -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix(name).tempdir()?)
}

/// The same on the disk, as in production: what is flushed is flushed.
pub fn fresh_folder_on_disk(name: &str) -> Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix(name)
        .tempdir_in(envs::target_dir());
    Ok(folder?)
}

/// A lock that a panic elsewhere does not close.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
