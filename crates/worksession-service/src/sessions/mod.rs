//! Focus sessions: started with a plan that is locked from then on, submitted with what was executed,
//! given up by a sweeper when nobody submits them, and looked at afterwards. Time is the server's; what a client
//! says can only lower what is credited.

mod digest;
pub(crate) mod edit;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod record;
pub(crate) mod routes;
pub(crate) mod start;
pub(crate) mod submit;
pub(crate) mod sweeper;
pub(crate) mod wire;

pub(crate) use model::Status;
pub(crate) use routes::configure;
