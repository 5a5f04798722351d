//! All data of a standalone: backed up, restored and moved to PostgreSQL with the commands of operators, beside servers
//! that are real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod backup;
mod filled_data_dir;
mod move_to_postgres;
#[path = "../it/processes.rs"]
#[allow(dead_code, reason = "the tests of the whole product use more of it")]
mod processes;
mod restore;
