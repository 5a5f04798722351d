//! The second factor: codes that change with the time (RFC 6238), and recovery codes for who has lost
//! what makes them. A factor counts once its owner has shown a code of it.

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
pub(crate) use guessing::{Attempt, begin, forget_failures};
pub(crate) use queries::{is_on, remove};
pub(crate) use reseal::{Resealed, reseal};
