//! What tests and measurements need: servers, accounts, a chat, a small HTTP client, third-party programs.
//!
//! It knows the services only as programs and addresses, and contains no task.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool prints to standard output"
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

/// Creates an empty temporary folder, which is deleted on drop.
pub fn fresh_folder(name: &str) -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix(name).tempdir()?)
}

/// Creates an empty temporary folder on the disk, as in production, so that flushes are real.
pub fn fresh_folder_on_disk(name: &str) -> Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix(name)
        .tempdir_in(envs::target_dir());
    Ok(folder?)
}

/// Locks a mutex, even if another thread panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
