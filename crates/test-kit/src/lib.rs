//! What the tests of all crates share: a database and a broker for each test, a chat server and a mail server that fail on
//! request, an HTTP client that shows everything, and real processes to kill.
//!
//! `HOLDFAST_TEST_BACKEND` selects what the tests run on: `sqlite` (the default, with the broker in memory) or `postgres` (with
//! RabbitMQ as the broker). `HOLDFAST_TEST_PG` and `HOLDFAST_TEST_AMQP` name the servers. Everything created on a server has a
//! name of its own and is deleted again; nothing else there is touched. A helper that fails panics, which makes the test fail.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "only tests depend on this crate, and they fail by panicking"
)]

mod api;
mod backend;
mod broker;
mod chat;
mod check_config;
mod closed_output;
mod database;
pub mod images;
mod loopback;
mod mail;
mod process;
mod schema;
mod smtp_conversation;
mod strict_chats;
mod tls;
mod wait;
mod web;

pub use crate::api::{ApiClient, ApiRequest, ApiResponse, raw_request};
pub use crate::backend::{TestBackend, setting};
pub use crate::broker::TestBroker;
pub use crate::chat::{ChatMessage, ChatReply, FakeChat};
pub use crate::check_config::{assert_check_config_reports, assert_check_config_writes_nothing};
pub use crate::closed_output::assert_ends_quietly_if_output_closes;
pub use crate::database::TestDb;
pub use crate::mail::{MailFault, MailServer, MailStage, ReceivedMail};
pub use crate::process::Process;
pub use crate::schema::assert_same_schema;
pub use crate::strict_chats::{chat_digest, chat_response, chat_settings, chat_wait};
pub use crate::tls::TlsProxy;
pub use crate::wait::wait_until;
pub use crate::web::{FakePage, FakeWebServer};
