//! Submits a session. It is credited once, by the server's clock. A repeated submit gets the stored response.

mod queries;
pub(crate) mod rows;
mod service;

pub(crate) use rows::SubmitBatcher;
pub(super) use service::submit;
pub(crate) use service::submits;
