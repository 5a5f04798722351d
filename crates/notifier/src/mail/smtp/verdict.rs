use crate::delivery::Answer;

/// What was being asked of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mail) enum Step {
    /// To be there, to greet, to encrypt.
    Connect,
    /// To know us.
    SignIn,
    /// To take a mail from us.
    Sender,
    /// To take a mail for this recipient.
    Recipient,
    /// To take the mail's content now.
    Data,
    /// To have taken it.
    Content,
}

/// Why a step failed. Server's words are left out: they may hold addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mail) enum Failure {
    /// It said no, with this code and, where it has one, this enhanced code.
    Code(u16, Option<String>),
    /// The connection, or what was said on it, broke; with our own words for it.
    Broken(String),
    /// It said nothing in time.
    Silent,
    /// Its certificate, its lack of one, or of a way to sign in: nothing that passes.
    Unacceptable(String),
}

/// What a failure means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mail) struct Verdict {
    pub(in crate::mail) answer: Answer,
    pub(in crate::mail) server: Server,
}

/// Whom a failure concerns besides the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mail) enum Server {
    /// It is well: the failure is the mail's own, and the connection can be used on.
    Fine,
    /// It is not, and that may pass by itself.
    Troubled,
    /// It is not, and only the operator can mend it.
    NeedsOperator,
}

/// Answers that say that we must sign in, or may not as we are.
const ABOUT_SIGN_IN: [u16; 4] = [530, 534, 535, 538];

pub(in crate::mail) fn verdict(step: Step, failure: &Failure) -> Verdict {
    let reason = reason(step, failure);
    let later = |maybe_taken, server| Verdict {
        answer: Answer::Later {
            reason: reason.clone(),
            wait: None,
            maybe_taken,
        },
        server,
    };
    let untried = |server| Verdict {
        answer: Answer::Untried(Some(reason.clone())),
        server,
    };
    match (step, failure) {
        (Step::Content, Failure::Broken(_) | Failure::Silent) => later(true, Server::Troubled),
        (_, Failure::Unacceptable(_)) => untried(Server::NeedsOperator),
        (_, Failure::Code(code, _)) if ABOUT_SIGN_IN.contains(code) => {
            untried(Server::NeedsOperator)
        }
        (Step::Connect | Step::SignIn | Step::Sender, Failure::Code(500.., _)) => {
            untried(Server::NeedsOperator)
        }
        (Step::Connect | Step::SignIn | Step::Sender, _) => untried(Server::Troubled),
        (_, Failure::Code(500.., _)) => Verdict {
            answer: Answer::Refused(reason),
            server: Server::Fine,
        },
        // It closes the connection, whatever was asked.
        (_, Failure::Code(421, _)) => later(false, Server::Troubled),
        (_, Failure::Code(..)) => later(false, Server::Fine),
        // It may be this mail that breaks it: the mail waits longer each time, others go first.
        (_, Failure::Broken(_) | Failure::Silent) => later(false, Server::Troubled),
    }
}

fn reason(step: Step, failure: &Failure) -> String {
    let what = match step {
        Step::Connect => "to be spoken to",
        Step::SignIn => "our sign-in",
        Step::Sender => "us as the sender",
        Step::Recipient => "the recipient",
        Step::Data | Step::Content => "the mail",
    };
    match failure {
        Failure::Code(code, enhanced) => {
            let enhanced = enhanced.as_ref().map(|code| format!(" {code}"));
            let enhanced = enhanced.unwrap_or_default();
            format!("The mail server refused {what}: {code}{enhanced}")
        }
        Failure::Broken(cause) if step == Step::Connect => {
            format!("The mail server could not be reached: {cause}")
        }
        Failure::Broken(cause) => format!("The connection to the mail server broke: {cause}"),
        Failure::Silent => "The mail server did not answer in time".to_owned(),
        Failure::Unacceptable(cause) => format!("The mail server cannot be used: {cause}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: u16) -> Failure {
        Failure::Code(code, None)
    }

    fn kind(step: Step, failure: &Failure) -> (&'static str, Server) {
        let verdict = verdict(step, failure);
        let answer = match verdict.answer {
            Answer::Later {
                maybe_taken: true, ..
            } => "later, perhaps taken",
            Answer::Later { .. } => "later",
            Answer::Refused(_) => "never",
            Answer::Untried(_) => "untried",
            _ => "impossible",
        };
        (answer, verdict.server)
    }

    #[test]
    fn what_a_failure_means_depends_on_what_was_asked() {
        use Server::{Fine, NeedsOperator, Troubled};
        use Step::{Connect, Content, Data, Recipient, Sender, SignIn};
        for step in [Connect, SignIn, Sender] {
            assert_eq!(kind(step, &code(451)), ("untried", Troubled), "{step:?}");
            assert_eq!(
                kind(step, &code(550)),
                ("untried", NeedsOperator),
                "{step:?}"
            );
            assert_eq!(
                kind(step, &Failure::Silent),
                ("untried", Troubled),
                "{step:?}"
            );
        }
        for step in [Recipient, Data, Content] {
            assert_eq!(kind(step, &code(450)), ("later", Fine), "{step:?}");
            assert_eq!(kind(step, &code(550)), ("never", Fine), "{step:?}");
            assert_eq!(kind(step, &code(421)), ("later", Troubled), "{step:?}");
            assert_eq!(
                kind(step, &code(530)),
                ("untried", NeedsOperator),
                "{step:?}"
            );
        }
        let broken = Failure::Broken("reset".to_owned());
        for failure in [broken, Failure::Silent] {
            assert_eq!(kind(Recipient, &failure), ("later", Troubled));
            assert_eq!(kind(Data, &failure), ("later", Troubled));
            assert_eq!(kind(Content, &failure), ("later, perhaps taken", Troubled));
        }
        let bad = Failure::Unacceptable("no TLS".to_owned());
        assert_eq!(kind(Connect, &bad), ("untried", NeedsOperator));
    }

    #[test]
    fn a_reason_has_the_codes() {
        let failure = Failure::Code(550, Some("5.1.1".to_owned()));
        assert_eq!(
            verdict(Step::Recipient, &failure).answer,
            Answer::Refused("The mail server refused the recipient: 550 5.1.1".to_owned())
        );
    }
}
