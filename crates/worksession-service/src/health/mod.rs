//! The contract's health report: whether the service and those it needs work together. Orchestrators
//! use `/health/live` and `/health/ready`, which ask no other service.

mod findings;
mod probe;
pub(crate) mod routes;
mod uptime;
mod wire;

pub(crate) use findings::Probe;
pub(crate) use routes::configure;
