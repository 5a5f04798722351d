use std::{future::pending, sync::Arc, time::Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::mail::{MailFault, MailStage, ReceivedMail, Shared};

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// One connection of a client.
struct SmtpConversation {
    stream: BufReader<Box<dyn Stream>>,
    shared: Arc<Shared>,
    connection: usize,
    encrypted: bool,
    user: Option<String>,
    from: Option<String>,
    to: Vec<String>,
    mails: usize,
}

/// Whether the conversation continues.
type Continue = Option<()>;

/// Talks with a client until one of the two ends the connection.
pub(crate) async fn converse(stream: TcpStream, shared: Arc<Shared>, connection: usize) {
    let conversation = SmtpConversation {
        stream: BufReader::new(Box::new(stream)),
        shared,
        connection,
        encrypted: false,
        user: None,
        from: None,
        to: Vec::new(),
        mails: 0,
    };
    conversation.run().await;
}

impl SmtpConversation {
    async fn run(mut self) -> Continue {
        if self.is_accepted(MailStage::Greeting, "").await? {
            self.reply("220 fake.example ESMTP").await?;
        }
        loop {
            let line = self.line().await?;
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match verb.to_ascii_uppercase().as_str() {
                "EHLO" => self.hello().await?,
                "STARTTLS" => self = self.encrypt().await?,
                "AUTH" => self.sign_in(rest).await?,
                "MAIL" => self.sender(rest).await?,
                "RCPT" => self.recipient(rest).await?,
                "DATA" => self.data().await?,
                "RSET" => {
                    self.reset();
                    self.reply("250 2.0.0 forgotten").await?;
                }
                "NOOP" => self.reply("250 2.0.0 fine").await?,
                "QUIT" => {
                    self.reply("221 2.0.0 bye").await?;
                    return None;
                }
                _ => self.reply("502 5.5.1 unknown").await?,
            }
        }
    }

    async fn hello(&mut self) -> Continue {
        if !self.is_accepted(MailStage::Hello, "").await? {
            return Some(());
        }
        let mut offers = vec!["fake.example", "8BITMIME", "SMTPUTF8"];
        if !self.encrypted && self.shared.tls().is_some() {
            offers.push("STARTTLS");
        }
        if self.shared.account().is_some() {
            offers.push("AUTH PLAIN");
        }
        let (last, first) = offers.split_last()?;
        for offer in first {
            self.reply(&format!("250-{offer}")).await?;
        }
        self.reply(&format!("250 {last}")).await
    }

    async fn encrypt(mut self) -> Option<Self> {
        let acceptor = self.shared.tls()?;
        self.reply("220 2.0.0 go on").await?;
        let encrypted = acceptor.accept(self.stream.into_inner()).await.ok()?;
        Some(Self {
            stream: BufReader::new(Box::new(encrypted)),
            encrypted: true,
            ..self
        })
    }

    async fn sign_in(&mut self, parameters: &str) -> Continue {
        if !self.is_accepted(MailStage::SignIn, "").await? {
            return Some(());
        }
        let parameters = parameters.strip_prefix("PLAIN ").unwrap_or_default();
        let decoded = STANDARD.decode(parameters).unwrap_or_default();
        let (user, password) = self.shared.account()?;
        if decoded == format!("\0{user}\0{password}").into_bytes() {
            self.user = Some(user);
            self.reply("235 2.7.0 welcome").await
        } else {
            self.reply("535 5.7.8 wrong").await
        }
    }

    async fn sender(&mut self, parameters: &str) -> Continue {
        if self.shared.is_enough(self.mails) {
            self.reply("421 4.7.0 enough for one connection").await?;
            return None;
        }
        if self.user.is_none() && self.shared.account().is_some() {
            return self.reply("530 5.7.0 sign in first").await;
        }
        if self.is_accepted(MailStage::Sender, "").await? {
            self.from = Some(address(parameters));
            self.reply("250 2.1.0 fine").await?;
        }
        Some(())
    }

    async fn recipient(&mut self, parameters: &str) -> Continue {
        let address = address(parameters);
        if self.is_accepted(MailStage::Recipient, &address).await? {
            self.to.push(address);
            self.reply("250 2.1.5 fine").await?;
        }
        Some(())
    }

    async fn data(&mut self) -> Continue {
        if self.from.is_none() || self.to.is_empty() {
            return self.reply("503 5.5.1 for whom").await;
        }
        if !self.is_accepted(MailStage::Data, "").await? {
            return Some(());
        }
        self.reply("354 go on").await?;
        let mut raw = Vec::new();
        loop {
            let mut line = Vec::new();
            if self.stream.read_until(b'\n', &mut line).await.ok()? == 0 {
                return None;
            }
            if line == b".\r\n" {
                break;
            }
            // RFC 5321 section 4.5.2: the dot at the start of a line was added by the client.
            raw.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
        }
        self.mails += 1;
        let mail = ReceivedMail {
            from: self.from.take().unwrap_or_default(),
            to: std::mem::take(&mut self.to),
            user: self.user.clone(),
            encrypted: self.encrypted,
            connection: self.connection,
            at: Instant::now(),
            raw,
        };
        // A refused mail is not recorded: only mails that were accepted, or may have been, are.
        match self.shared.reach(MailStage::Content, "") {
            Some(MailFault::Refuse(line)) => self.reply(&line).await,
            Some(MailFault::Hang) => {
                self.shared.record(mail);
                pending().await
            }
            Some(MailFault::Drop) => {
                self.shared.record(mail);
                None
            }
            None => {
                self.shared.record(mail);
                self.reply("250 2.0.0 taken").await
            }
        }
    }

    fn reset(&mut self) {
        self.from = None;
        self.to.clear();
    }

    /// Returns true if this stage has no fault, and performs the fault otherwise.
    async fn is_accepted(&mut self, stage: MailStage, recipient: &str) -> Option<bool> {
        match self.shared.reach(stage, recipient) {
            None => Some(true),
            Some(MailFault::Refuse(line)) => {
                self.reply(&line).await?;
                // RFC 5321 section 3.8: a server that sends 421 closes the connection.
                (!line.starts_with("421")).then_some(false)
            }
            Some(MailFault::Hang) => pending().await,
            Some(MailFault::Drop) => None,
        }
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.stream.read_line(&mut line).await.ok()?;
        (length > 0).then(|| line.trim_end().to_owned())
    }

    async fn reply(&mut self, line: &str) -> Continue {
        let stream = self.stream.get_mut();
        stream
            .write_all(format!("{line}\r\n").as_bytes())
            .await
            .ok()?;
        stream.flush().await.ok()
    }
}

fn address(parameters: &str) -> String {
    let bracketed = parameters
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'));
    bracketed.map_or_else(String::new, |(address, _)| address.to_owned())
}
