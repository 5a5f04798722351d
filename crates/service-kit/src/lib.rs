//! The base of every service: layered configuration, a clock that tests can move, errors in one shape per area, an HTTP server
//! with probes and metrics, a graceful stop, sealed secrets, rate limits, and the guarded client for addresses that users give.
//!
//! It knows no feature of any service, and contains nothing of the domain.

mod clock;
mod problem;
mod shutdown;
mod ttl_cache;

pub mod cli;
pub mod config;
pub mod crypto;
pub mod data_dir;
pub mod guard;
pub mod http;
pub mod logging;
pub mod memory_budget;
pub mod metrics;
pub mod names;
pub mod openapi;
pub mod rate_limit;
pub mod seal;
pub mod server;
pub mod start;
pub mod time_zone;
pub mod tls;

pub use clock::{Clock, ManualClock};
pub use problem::{Problem, RenderPage, RenderProblem};
pub use shutdown::termination;
pub use ttl_cache::TtlCache;
