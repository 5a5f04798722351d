//! What all tasks share: child processes, the environment, the product's programs.
//!
//! Everybody compiles it before anything else: what needs a heavy library is in `xtask-stand`.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

pub mod cmd;
pub mod envs;
pub mod report;
pub mod system;
