//! Whom to tell by mail that a project's chat or a webhook was switched off: who configured it last, if that
//! person's address was proven then. Name and address are kept sealed, and only until the mail is asked for, the
//! hook changes hands or goes, the person manages the team no more, or the account is gone.

mod model;
mod queries;
mod service;

pub(crate) use model::Hook;
pub(crate) use queries::{forget, forget_manager};
pub(crate) use service::{keep, mail, tell};
