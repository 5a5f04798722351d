//! Code that all tasks share: child processes, the environment, and the product's programs.
//!
//! It is compiled before every task: code that needs a heavy library belongs in `xtask-stand`.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool prints to standard output"
)]

pub mod cmd;
pub mod envs;
pub mod report;
pub mod system;
