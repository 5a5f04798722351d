//! The order of each user's changes, and how a client follows them. Whatever changes a session, a personal project or
//! the preferences takes the user's next number first ([`bump`]) and stores it with the row, one row for each number:
//! the counter's row is locked until the transaction ends, so that the changes of a user become visible in the order of
//! their numbers, and a client that follows them misses none. It is the first lock that a change of a user's takes, so
//! that no two of them wait for each other.

mod cursor;
mod queries;
pub(crate) mod routes;
mod status;
mod wire;

pub(crate) use queries::bump;
pub(crate) use routes::configure;
