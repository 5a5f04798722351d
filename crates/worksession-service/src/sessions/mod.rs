//! Focus sessions: started with a plan that is locked from then on, submitted with what was executed,
//! given up by a sweeper when nobody submits them. Time is the server's; what a client says can only
//! lower what is credited.

mod digest;
mod events;
mod model;
pub(crate) mod queries;
pub(crate) mod routes;
mod start;
mod submit;
mod sweeper;
mod wire;

pub(crate) use routes::configure;
pub(crate) use sweeper::Sweeper;
