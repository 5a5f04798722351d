//! Accounts and teams that are gone for good. Whoever hears of one notes it ([`note`], in the transaction
//! of the inbox) and wakes `eraser`, which takes away what belonged to it in small transactions, so
//! that nobody waits long for a lock, and goes on after a crash where it was: the note goes last.
//!
//! A request that was let in just before may still write just after: a second look, once no such request
//! can be left, finds that. So starts and submits need not ask who is gone.

pub(crate) mod eraser;
mod model;
mod queries;

pub(crate) use model::Departure;
pub(crate) use queries::note;
