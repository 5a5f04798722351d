//! Erasure of deleted accounts and teams. The consumer that learns of a deletion records it ([`record`], in the transaction
//! of the inbox) and wakes the `eraser`. That deletes the data in small transactions, to keep locks short. The record is
//! deleted last, so a crash only interrupts the erasure.
//!
//! A request that was authenticated just before the deletion can still write just after it. A second pass deletes those
//! rows once no such request can remain. Starts and submits therefore need no check for deleted users.

pub(crate) mod eraser;
mod model;
mod queries;

pub(crate) use model::Erasure;
pub(crate) use queries::record;
