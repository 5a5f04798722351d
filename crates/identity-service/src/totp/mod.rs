//! The second factor: time-based codes (RFC 6238), and recovery codes for an owner without their app. A factor takes
//! effect once its owner has confirmed it with a code.

mod check;
mod factor;
mod guessing;
mod queries;
mod recovery;
mod reseal;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;

pub(crate) use check::{CodeCheck, check};
pub(crate) use guessing::{CodeAttempt, begin, forget_failures};
pub(crate) use queries::{is_on, remove};
pub(crate) use reseal::{ResealedFactors, reseal};
