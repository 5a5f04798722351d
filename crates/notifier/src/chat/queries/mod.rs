//! All SQL of the chats.

mod deliveries;
mod destinations;

pub(super) use deliveries::{
    compose, count_open, forget_settled_before, insert_deliveries, list_batch, list_expired,
    list_open, list_ready, next_moments, part, plans_among, postpone, release_ends,
    reopen_abandoned, settle,
};
pub(super) use destinations::{
    configure, disable, due_destinations, expect_all, hold, let_go, lock_destination, look,
    next_due, recover,
};
