//! Submitting a session: found or refused, measured by the server's clock, credited once, and answered
//! from what is stored when it is asked again.

mod queries;
pub(crate) mod rows;
mod service;

pub(crate) use rows::Submits;
pub(super) use service::submit;
pub(crate) use service::submits;
