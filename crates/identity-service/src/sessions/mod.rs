//! Sign-in sessions: login, logout, refresh, validation. A session is one sign-in and all tokens that
//! come from it; it is revoked as a whole.

pub(crate) mod ending;
mod list;
pub(crate) mod login;
pub(crate) mod model;
mod notice;
pub(crate) mod opening;
pub(crate) mod queries;
pub(crate) mod refresh;
pub(crate) mod routes;
pub(crate) mod second_step;
pub(crate) mod service;
pub(crate) mod wire;

pub(crate) use ending::end_all;
pub(crate) use model::NewSession;
