//! The second factor: time-based codes (RFC 6238), and recovery codes for an owner without their app. A factor takes
//! effect once its owner has confirmed it with a code.

mod code_attempts;
mod code_check;
mod queries;
mod recovery_code;
mod reseal;
pub(crate) mod routes;
mod secret;
pub(crate) mod service;
pub(crate) mod wire;

pub(crate) use code_attempts::{CodeAttempt, reset_failures, start_attempt};
pub(crate) use code_check::{CodeCheck, check};
pub(crate) use queries::{is_on, remove};
pub(crate) use reseal::{ResealedFactors, reseal};
