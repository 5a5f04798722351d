//! Who worked most, by UTC day, week, month and ever: everybody who opted in, or the members of a team on its
//! projects. The boards' rows are written with each submit; here a whole board is read at once and serves all who look
//! for a few seconds, so that a page and a rank cost the same however many are on it.

mod board;
mod kept;
mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use kept::Boards;
pub(crate) use routes::configure;
