//! Code that all tasks share: child processes, the environment, and the product's programs.
//!
//! It is compiled before every task: code that needs a heavy library belongs in `xtask-fixtures`.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool prints to standard output"
)]

pub mod cmd;
pub mod env_vars;
pub mod report;
pub mod system;
