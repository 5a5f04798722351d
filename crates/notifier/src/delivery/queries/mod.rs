//! All SQL that the media share.

pub(crate) mod deliveries;
pub(crate) mod destinations;
