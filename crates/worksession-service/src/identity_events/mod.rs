//! Events of the identity service: deleted accounts and teams, renamed teams, and users whose cached data is outdated. The
//! inbox makes each event that changes stored data count once.

mod consumer;
mod event;
mod queries;

pub(crate) use consumer::spawn;
