//! The order of each user's changes, and how clients follow it. A change of a session, a personal project or the preferences
//! first takes the user's next number ([`bump`]). It stores the number with the row, one row per number. The counter's row
//! stays locked until the transaction ends. A user's changes therefore become visible in the order of their numbers, and a
//! client misses none. This is the first lock of every change, so that no two of them deadlock.

mod cursor;
mod queries;
pub(crate) mod routes;
mod status;
mod wire;

pub(crate) use queries::bump;
pub(crate) use routes::configure;
