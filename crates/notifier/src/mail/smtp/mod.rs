//! The SMTP client. It runs step by step, because the meaning of a response depends on the step.

mod failure;
mod session;
mod url;

pub(super) use failure::{ServerHealth, SmtpFailure, Step, classify_failure};
pub(super) use session::{SmtpClient, SmtpSession};
pub(crate) use url::SmtpServer;
