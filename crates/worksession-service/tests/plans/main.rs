//! Query plans of the statements that the service sends. They need a program of their own, because the recorder
//! sees every connection of its process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking"
)]
#![allow(dead_code, reason = "only some helpers of the other tests are used")]

#[path = "../it/identity.rs"]
mod identity;
#[path = "../it/person.rs"]
mod person;
#[path = "../it/rows.rs"]
mod rows;
#[path = "../it/sign_in.rs"]
mod sign_in;

mod crowd;
mod explain;
mod recorder;
mod walk;
