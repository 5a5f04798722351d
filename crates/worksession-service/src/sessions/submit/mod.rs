//! Submitting a session: found or refused, measured by the server's clock, credited once, and answered
//! from what is stored when it is asked again.

mod choose;
mod facts;
mod late;
mod queries;
mod service;
mod settle;

pub(super) use service::submit;
