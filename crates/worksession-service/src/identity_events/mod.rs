//! What the identity area tells: accounts and teams that are gone, teams that were renamed, and users about
//! whom nothing remembered holds any more. What changes something here is taken in once, through the inbox.

mod change;
mod consumer;
mod queries;

pub(crate) use consumer::spawn;
