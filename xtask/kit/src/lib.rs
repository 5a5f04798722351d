//! What the repository's tasks share: child processes, servers for tests, the product's programs, a small HTTP client.
//!
//! It knows the services by their programs and addresses alone, and no task is in it.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

pub mod chat;
pub mod cmd;
pub mod envs;
pub mod http;
pub mod people;
pub mod runtimes;
pub mod servers;
pub mod system;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock that a panic elsewhere does not close.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
