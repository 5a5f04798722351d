use std::error::Error as _;
use std::time::Duration;

use lettre::Address;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::DEFAULT_MECHANISMS;
use lettre::transport::smtp::client::{
    AsyncSmtpConnection, CertificateStore, TlsParameters, TlsParametersBuilder,
};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use service_kit::tls;
use tokio::time::timeout;

use super::failure::{SmtpFailure, Step};
use super::url::{SmtpServer, TlsMode};
use crate::mail::message::ComposedMail;

/// How long the server may take for steps on which no mail depends.
const SHORT_TIMEOUT: Duration = Duration::from_secs(2);

/// Opens sessions with one mail server.
pub(in crate::mail) struct SmtpClient {
    server: SmtpServer,
    tls: TlsParameters,
    hello: ClientId,
    step_timeout: Duration,
}

/// A connection over which mails are sent, one after the other.
pub(in crate::mail) struct SmtpSession {
    connection: AsyncSmtpConnection,
    step_timeout: Duration,
}

type StepResult<T> = Result<T, (Step, SmtpFailure)>;

impl SmtpClient {
    /// Prepares a client. `domain` is the name in the greeting, and each step with the server may take `step_timeout`.
    ///
    /// # Errors
    /// A sentence, when TLS cannot be set up.
    pub(in crate::mail) fn new(
        server: SmtpServer,
        domain: &str,
        step_timeout: Duration,
    ) -> Result<Self, String> {
        let roots = if tls::machine_names_authorities() {
            CertificateStore::Default
        } else {
            CertificateStore::WebpkiRoots
        };
        let any = server.security == TlsMode::Offered;
        let tls = TlsParametersBuilder::new(server.host.clone())
            .certificate_store(roots)
            .dangerous_accept_invalid_certs(any)
            .dangerous_accept_invalid_hostnames(any)
            .build()
            .map_err(|error| describe_error(&error))?;
        Ok(Self {
            server,
            tls,
            hello: ClientId::Domain(domain.to_owned()),
            step_timeout,
        })
    }

    /// Returns the longest duration of opening a session and offering a mail, together.
    pub(in crate::mail) fn offer_timeout(&self) -> Duration {
        self.step_timeout * 2
    }

    /// Connects, encrypts and signs in.
    pub(in crate::mail) async fn open(&self) -> StepResult<SmtpSession> {
        let connection = within(self.step_timeout, Step::Connect, self.connect()).await?;
        let signed_in = self.sign_in(connection);
        let connection = within(self.step_timeout, Step::SignIn, signed_in).await?;
        Ok(SmtpSession {
            connection,
            step_timeout: self.step_timeout,
        })
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, SmtpFailure> {
        let SmtpServer {
            host,
            port,
            security,
            ..
        } = &self.server;
        let wrapped = (*security == TlsMode::Wrapped).then(|| self.tls.clone());
        let address = (host.as_str(), *port);
        let step_timeout = Some(self.step_timeout);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(address, step_timeout, &self.hello, wrapped, None)
                .await?;
        let upgrade = match security {
            TlsMode::Required if !connection.can_starttls() => {
                let cause = "it offers no STARTTLS, and unencrypted mail is not allowed";
                return Err(SmtpFailure::Unacceptable(cause.to_owned()));
            }
            TlsMode::Required => true,
            TlsMode::Offered => connection.can_starttls(),
            TlsMode::Wrapped | TlsMode::Never => false,
        };
        if upgrade {
            connection.starttls(self.tls.clone(), &self.hello).await?;
        }
        Ok(connection)
    }

    async fn sign_in(
        &self,
        mut connection: AsyncSmtpConnection,
    ) -> Result<AsyncSmtpConnection, SmtpFailure> {
        if let Some(credentials) = &self.server.credentials {
            connection
                .auth(DEFAULT_MECHANISMS, credentials)
                .await
                .map_err(|error| {
                    if error.is_client() {
                        let cause = "it offers no supported authentication method";
                        SmtpFailure::Unacceptable(cause.to_owned())
                    } else {
                        error.into()
                    }
                })?;
        }
        Ok(connection)
    }
}

impl SmtpSession {
    /// Offers a mail to the server. No content is sent before the server has accepted it.
    pub(in crate::mail) async fn offer(&mut self, mail: &ComposedMail) -> StepResult<()> {
        let mut parameters = Vec::new();
        if !is_ascii(&mail.from) || !is_ascii(&mail.to) {
            let server = self.connection.server_info();
            if !server.supports_feature(Extension::SmtpUtfEight) {
                // RFC 6531 section 3.2, as if the server had answered so.
                return Err((
                    Step::Recipient,
                    SmtpFailure::Code(553, Some("5.6.7".to_owned())),
                ));
            }
            let eight_bit = MailParameter::Body(MailBodyParameter::EightBitMime);
            parameters.extend([MailParameter::SmtpUtfEight, eight_bit]);
        }
        let sender = Mail::new(Some(mail.from.clone()), parameters);
        self.command(Step::Sender, sender.to_string()).await?;
        let recipient = Rcpt::new(mail.to.clone(), Vec::new());
        self.command(Step::Recipient, recipient.to_string()).await?;
        let code = self.command(Step::Data, Data.to_string()).await?;
        if code != 354 {
            return Err((Step::Data, unexpected_response()));
        }
        Ok(())
    }

    /// Sends the content of the offered mail.
    pub(in crate::mail) async fn send_content(&mut self, mail: &ComposedMail) -> StepResult<()> {
        let content = self.connection.message(&mail.bytes);
        let response = within(self.step_timeout, Step::Content, content).await?;
        if response.has_code(354) {
            return Err((Step::Content, unexpected_response()));
        }
        Ok(())
    }

    /// Resets the session after a refused mail. Returns false when the connection is unusable.
    pub(in crate::mail) async fn reset(&mut self) -> bool {
        let reset = timeout(SHORT_TIMEOUT, self.command(Step::Sender, Rset.to_string())).await;
        matches!(reset, Ok(Ok(_)))
    }

    /// Closes the session.
    pub(in crate::mail) async fn close(mut self) {
        // The mails are delivered, whether or not this succeeds.
        let _ = timeout(SHORT_TIMEOUT, self.connection.quit()).await;
    }

    async fn command(&mut self, step: Step, command: String) -> StepResult<u16> {
        let response = within(self.step_timeout, step, self.connection.command(command)).await?;
        Ok(response.code().into())
    }
}

async fn within<T, E: Into<SmtpFailure>>(
    step_timeout: Duration,
    step: Step,
    work: impl Future<Output = Result<T, E>>,
) -> StepResult<T> {
    match timeout(step_timeout, work).await {
        Ok(done) => done.map_err(|error| (step, error.into())),
        Err(_) => Err((step, SmtpFailure::Silent)),
    }
}

fn is_ascii(address: &Address) -> bool {
    AsRef::<str>::as_ref(address).is_ascii()
}

fn unexpected_response() -> SmtpFailure {
    SmtpFailure::Broken("an unexpected response".to_owned())
}

impl From<Error> for SmtpFailure {
    fn from(error: Error) -> Self {
        if let Some(code) = error.status() {
            let words = error.source().map(ToString::to_string).unwrap_or_default();
            let enhanced = words
                .split_whitespace()
                .next()
                .filter(|word| is_enhanced(word));
            return Self::Code(code.into(), enhanced.map(str::to_owned));
        }
        if error.is_timeout() {
            return Self::Silent;
        }
        if mentions_certificate(&error) {
            return Self::Unacceptable(describe_error(&error));
        }
        Self::Broken(describe_error(&error))
    }
}

/// Whether a word is an enhanced status code, such as `5.1.1` (RFC 3463).
fn is_enhanced(word: &str) -> bool {
    let mut parts = word.split('.');
    let numbers = parts.by_ref().take(3).filter(|part| {
        (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    });
    numbers.count() == 3 && parts.next().is_none()
}

fn mentions_certificate(error: &Error) -> bool {
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.any(|cause| cause.to_string().contains("certificate"))
}

/// Returns the innermost cause, unless it is text from the server.
fn describe_error(error: &Error) -> String {
    if error.is_response() {
        return "a response that is not SMTP, or no response".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    crate::text::line(&cause.to_string(), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enhanced_code_is_three_short_numbers() {
        for good in ["5.1.1", "4.7.28", "2.0.0"] {
            assert!(is_enhanced(good), "{good}");
        }
        for bad in [
            "",
            "5",
            "5.1",
            "5.1.1.1",
            "5.1.ada",
            "5..1",
            "5.1.1000",
            "<ada@example.com>",
        ] {
            assert!(!is_enhanced(bad), "{bad}");
        }
    }
}
