//! Submits a session. It is credited once, by the server's clock. A repeated submit gets the stored response.

mod queries;
pub(crate) mod rows;
mod service;

pub(crate) use rows::SubmitBatcher;
pub(crate) use service::new_batcher;
pub(super) use service::submit;
