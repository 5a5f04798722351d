//! All SQL of the chats.

mod arriving;
mod deliveries;
mod destinations;
mod ends;

pub(super) use arriving::insert_deliveries;
pub(super) use deliveries::{
    count_open, forget_settled_before, list_batch, list_expired, list_open, list_ready,
    next_moments, part, postpone, record_abandoned, settle,
};
pub(super) use destinations::{
    configure, disable, due_destinations, expect_all, lock_destinations, look, next_due, place,
    recover, sweep,
};
pub(super) use ends::{plans_among, release_ends, release_missed};
