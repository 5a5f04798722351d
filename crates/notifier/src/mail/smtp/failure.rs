use crate::delivery::AttemptOutcome;

/// The step of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mail) enum Step {
    /// Connection, greeting and encryption.
    Connect,
    /// Authentication.
    SignIn,
    /// The sender of a mail (`MAIL FROM`).
    Sender,
    /// The recipient of a mail (`RCPT TO`).
    Recipient,
    /// The start of the content (`DATA`).
    Data,
    /// The content and its acceptance.
    Content,
}

/// Why a step failed. It contains no text from the server, which may include addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mail) enum SmtpFailure {
    /// The server refused with this status code and, if there is one, this enhanced status code.
    Code(u16, Option<String>),
    /// The connection or the protocol failed; with a cause that is not the server's text.
    Broken(String),
    /// The server did not answer in time.
    Silent,
    /// The certificate or the sign-in methods are unacceptable, or there is no encryption. A retry does not help.
    Unacceptable(String),
}

/// What a failure means for the mail and for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mail) struct ClassifiedFailure {
    pub(in crate::mail) outcome: AttemptOutcome,
    pub(in crate::mail) server: ServerHealth,
}

/// What a failure says about the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mail) enum ServerHealth {
    /// The server works. The failure is about the mail, and the connection can be used again.
    Healthy,
    /// The server has a failure that may be temporary.
    Failing,
    /// The server has a failure that only the operator can fix.
    NeedsOperator,
}

/// Status codes for a missing or refused sign-in.
const ABOUT_SIGN_IN: [u16; 4] = [530, 534, 535, 538];

pub(in crate::mail) fn classify_failure(step: Step, failure: &SmtpFailure) -> ClassifiedFailure {
    use ServerHealth::{Failing, Healthy, NeedsOperator};
    let reason = reason(step, failure);
    let retry = |maybe_accepted, server| ClassifiedFailure {
        outcome: AttemptOutcome::Retry {
            reason: reason.clone(),
            wait: None,
            maybe_accepted,
        },
        server,
    };
    let untried = |server| ClassifiedFailure {
        outcome: AttemptOutcome::NotAttempted(Some(reason.clone())),
        server,
    };
    match (step, failure) {
        (Step::Content, SmtpFailure::Broken(_) | SmtpFailure::Silent) => retry(true, Failing),
        (_, SmtpFailure::Unacceptable(_)) => untried(NeedsOperator),
        (_, SmtpFailure::Code(code, _)) if ABOUT_SIGN_IN.contains(code) => untried(NeedsOperator),
        (Step::Connect | Step::SignIn | Step::Sender, SmtpFailure::Code(500.., _)) => {
            untried(NeedsOperator)
        }
        (Step::Connect | Step::SignIn | Step::Sender, _) => untried(Failing),
        (_, SmtpFailure::Code(500.., _)) => ClassifiedFailure {
            outcome: AttemptOutcome::Refused(reason),
            server: Healthy,
        },
        // The server closes the connection, whatever the step was.
        (_, SmtpFailure::Code(421, _)) => retry(false, Failing),
        (_, SmtpFailure::Code(..)) => retry(false, Healthy),
        // This mail may be what breaks the connection. It waits longer each time, and others go first.
        (_, SmtpFailure::Broken(_) | SmtpFailure::Silent) => retry(false, Failing),
    }
}

fn reason(step: Step, failure: &SmtpFailure) -> String {
    let what = match step {
        Step::Connect => "the connection",
        Step::SignIn => "our sign-in",
        Step::Sender => "us as the sender",
        Step::Recipient => "the recipient",
        Step::Data | Step::Content => "the mail",
    };
    match failure {
        SmtpFailure::Code(code, enhanced) => {
            let enhanced = enhanced.as_ref().map(|code| format!(" {code}"));
            let enhanced = enhanced.unwrap_or_default();
            format!("The mail server refused {what}: {code}{enhanced}")
        }
        SmtpFailure::Broken(cause) if step == Step::Connect => {
            format!("The mail server could not be reached: {cause}")
        }
        SmtpFailure::Broken(cause) => format!("The connection to the mail server broke: {cause}"),
        SmtpFailure::Silent => "The mail server did not answer in time".to_owned(),
        SmtpFailure::Unacceptable(cause) => format!("The mail server cannot be used: {cause}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: u16) -> SmtpFailure {
        SmtpFailure::Code(code, None)
    }

    fn kind(step: Step, failure: &SmtpFailure) -> (&'static str, ServerHealth) {
        let classified = classify_failure(step, failure);
        let outcome = match classified.outcome {
            AttemptOutcome::Retry {
                maybe_accepted: true,
                ..
            } => "retry twice",
            AttemptOutcome::Retry { .. } => "retry",
            AttemptOutcome::Refused(_) => "never",
            AttemptOutcome::NotAttempted(_) => "untried",
            _ => "impossible",
        };
        (outcome, classified.server)
    }

    #[test]
    fn the_meaning_of_a_failure_depends_on_the_step() {
        use ServerHealth::{Failing, Healthy, NeedsOperator};
        use Step::{Connect, Content, Data, Recipient, Sender, SignIn};
        for step in [Connect, SignIn, Sender] {
            assert_eq!(kind(step, &code(451)), ("untried", Failing), "{step:?}");
            assert_eq!(
                kind(step, &code(550)),
                ("untried", NeedsOperator),
                "{step:?}"
            );
            assert_eq!(
                kind(step, &SmtpFailure::Silent),
                ("untried", Failing),
                "{step:?}"
            );
        }
        for step in [Recipient, Data, Content] {
            assert_eq!(kind(step, &code(450)), ("retry", Healthy), "{step:?}");
            assert_eq!(kind(step, &code(550)), ("never", Healthy), "{step:?}");
            assert_eq!(kind(step, &code(421)), ("retry", Failing), "{step:?}");
            assert_eq!(
                kind(step, &code(530)),
                ("untried", NeedsOperator),
                "{step:?}"
            );
        }
        let broken = SmtpFailure::Broken("reset".to_owned());
        for failure in [broken, SmtpFailure::Silent] {
            assert_eq!(kind(Recipient, &failure), ("retry", Failing));
            assert_eq!(kind(Data, &failure), ("retry", Failing));
            assert_eq!(kind(Content, &failure), ("retry twice", Failing));
        }
        let bad = SmtpFailure::Unacceptable("no TLS".to_owned());
        assert_eq!(kind(Connect, &bad), ("untried", NeedsOperator));
    }

    #[test]
    fn a_reason_contains_the_reply_codes() {
        let failure = SmtpFailure::Code(550, Some("5.1.1".to_owned()));
        assert_eq!(
            classify_failure(Step::Recipient, &failure).outcome,
            AttemptOutcome::Refused("The mail server refused the recipient: 550 5.1.1".to_owned())
        );
    }
}
