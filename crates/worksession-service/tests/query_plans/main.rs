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

#[path = "../it/caller.rs"]
mod caller;
#[path = "../it/database.rs"]
mod database;
#[path = "../it/fake_identity.rs"]
mod fake_identity;
#[path = "../it/fake_sign_in.rs"]
mod fake_sign_in;
#[path = "../it/service_fixture.rs"]
mod service_fixture;

mod explain;
mod filled_database;
mod frequent_requests;
mod statement_recorder;
