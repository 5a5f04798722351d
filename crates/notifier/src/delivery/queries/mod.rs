//! The SQL that all media share.

pub(crate) mod deliveries;
pub(crate) mod destinations;

#[cfg(test)]
mod plan_tests;
