//! Speaking to the mail server, step by step: what an answer means depends on what was asked.

mod session;
mod url;
mod verdict;

pub(super) use session::{Session, Smtp};
pub(crate) use url::SmtpServer;
pub(super) use verdict::{Failure, Server, Step, verdict};
