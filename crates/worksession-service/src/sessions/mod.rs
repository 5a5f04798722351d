//! Focus sessions. A start locks the plan, a submit records what was executed, and a sweeper abandons sessions that nobody
//! submits. Users can list, edit and export them. Time is the server's: a client's times can only lower the credit.

pub(crate) mod edit;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod record;
mod request_digest;
pub(crate) mod routes;
pub(crate) mod start;
pub(crate) mod submit;
pub(crate) mod sweeper;
pub(crate) mod wire;

pub(crate) use model::SessionStatus;
pub(crate) use routes::configure;
