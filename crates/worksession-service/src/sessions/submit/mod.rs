//! Submitting a session: found or refused, measured by the server's clock, credited once, and answered
//! from what is stored when it is asked again.

mod choose;
mod late;
mod queries;
mod service;
mod settle;
mod store;

pub(super) use service::submit;
pub(crate) use store::Submits;
