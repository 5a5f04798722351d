//! All SQL of the webhooks.

mod calls;
mod targets;

pub(super) use calls::{
    count_open, delete_calls, delete_calls_about, exists, find_next, forget_before, insert_call,
    list_expired, list_open, next_moments, postpone, reopen, reopen_abandoned, settle,
    start_sending,
};
pub(super) use targets::{configure, expect, keep, list_due, lock, next_due, switch_off};
