//! The SMTP client. It runs step by step, because the meaning of a response depends on the step.

mod session;
mod url;
mod verdict;

pub(super) use session::{SmtpClient, SmtpSession};
pub(crate) use url::SmtpServer;
pub(super) use verdict::{ServerHealth, SmtpFailure, Step, verdict};
