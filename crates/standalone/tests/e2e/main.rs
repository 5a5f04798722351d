//! `holdfast` with real browsers, OAuth libraries and a real Matrix server. `cargo xtask e2e` installs what these tests
//! need, says where it is, and runs them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod browser;
mod browsers;
mod chat;
mod clients;
mod forms;
#[path = "../../../identity-service/tests/it/html_parser.rs"]
#[allow(dead_code, reason = "the tests of the pages use more of it")]
mod html_parser;
mod page_checks;
mod site;
mod synapse;
mod webdriver;
