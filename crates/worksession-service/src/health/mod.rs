//! The health report of the contract: whether the service and its dependencies work together. Orchestrators use
//! `/health/live` and `/health/ready`, which call no other service.

mod checks;
mod findings;
pub(crate) mod routes;
mod uptime;
mod wire;

pub(crate) use findings::HealthCache;
pub(crate) use routes::configure;
