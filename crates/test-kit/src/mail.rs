use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Instant,
};

use mail_parser::MessageParser;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use crate::{loopback::ReceivedQueue, smtp_conversation::converse, tls};

/// A mail server on loopback that speaks SMTP. It accepts every mail, and fails as the test tells it.
#[derive(Debug)]
pub struct MailServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

/// The stages of an SMTP session, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MailStage {
    /// The greeting of the server.
    Greeting,
    /// The client introduces itself (`EHLO`).
    Hello,
    /// The client signs in (`AUTH`).
    SignIn,
    /// The sender of a mail (`MAIL`).
    Sender,
    /// A recipient of a mail (`RCPT`).
    Recipient,
    /// The start of the content (`DATA`).
    Data,
    /// The end of the content. The mail is recorded before the fault.
    Content,
}

/// What the server does instead of accepting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailFault {
    /// Responds with this line, such as `550 5.1.1 unknown`.
    Refuse(String),
    /// Responds no more.
    Hang,
    /// Closes the connection.
    Drop,
}

/// A mail that the server accepted.
#[derive(Debug, Clone)]
pub struct ReceivedMail {
    /// The envelope's sender.
    pub from: String,
    /// The envelope's recipients.
    pub to: Vec<String>,
    /// The user who had signed in.
    pub user: Option<String>,
    /// Whether the connection was encrypted.
    pub encrypted: bool,
    /// The number of the connection, from 1.
    pub connection: usize,
    /// When it arrived.
    pub at: Instant,
    /// The mail as it arrived.
    pub raw: Vec<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    mails: ReceivedQueue<ReceivedMail>,
}

#[derive(Debug, Default)]
struct State {
    script: HashMap<MailStage, VecDeque<MailFault>>,
    defaults: HashMap<MailStage, MailFault>,
    for_recipients: HashMap<String, MailFault>,
    account: Option<(String, String)>,
    tls: Option<Tls>,
    mails_per_connection: Option<usize>,
    reached: HashMap<MailStage, usize>,
    connections: usize,
}

#[derive(Clone)]
struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl MailFault {
    /// Creates a [`MailFault::Refuse`].
    pub fn refuse(line: &str) -> Self {
        Self::Refuse(line.to_owned())
    }
}

impl MailServer {
    /// Starts on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            shared: Arc::default(),
            listener: Mutex::new(None),
        };
        server.listen(listener);
        server
    }

    /// Returns the URL in the form of the configuration.
    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// Returns the URL with a user name and password.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        format!("smtp://{user}:{password}@{}", self.address)
    }

    /// Closes the port and every connection.
    pub async fn go_down(&self) {
        let listener = self.listener.lock().unwrap().take();
        if let Some(task) = listener {
            task.abort();
            // Its connections end with it.
            let _ = task.await;
        }
    }

    /// Listens again, on the same port.
    pub async fn come_back(&self) {
        self.listen(TcpListener::bind(self.address).await.unwrap());
    }

    /// Answers the next requests of this stage with these faults, one each.
    pub fn script(&self, stage: MailStage, faults: impl IntoIterator<Item = MailFault>) {
        let mut state = self.shared.state.lock().unwrap();
        state.script.entry(stage).or_default().extend(faults);
    }

    /// Answers requests of this stage with this fault from now on, or with none.
    pub fn usually(&self, stage: MailStage, fault: impl Into<Option<MailFault>>) {
        let mut state = self.shared.state.lock().unwrap();
        match fault.into() {
            Some(fault) => state.defaults.insert(stage, fault),
            None => state.defaults.remove(&stage),
        };
    }

    /// Answers every mail for this address with this fault.
    pub fn for_recipient(&self, address: &str, fault: MailFault) {
        let mut state = self.shared.state.lock().unwrap();
        state.for_recipients.insert(address.to_owned(), fault);
    }

    /// Accepts mails only from a client that signs in as this user.
    pub fn require_sign_in(&self, user: &str, password: &str) {
        self.shared.state.lock().unwrap().account = Some((user.to_owned(), password.to_owned()));
    }

    /// Offers STARTTLS with a self-signed certificate.
    pub fn offer_tls(&self) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let acceptor = tls::acceptor(made.cert.der().clone(), &made.signing_key);
        self.shared.state.lock().unwrap().tls = Some(Tls(acceptor));
    }

    /// Accepts no more than this many mails on one connection.
    pub fn at_most(&self, mails: usize) {
        self.shared.state.lock().unwrap().mails_per_connection = Some(mails);
    }

    /// Counts how often clients have reached this stage.
    pub fn reached(&self, stage: MailStage) -> usize {
        let state = self.shared.state.lock().unwrap();
        state.reached.get(&stage).copied().unwrap_or_default()
    }

    /// Counts the connections so far.
    pub fn connections(&self) -> usize {
        self.shared.state.lock().unwrap().connections
    }

    /// Returns everything received so far.
    pub fn mails(&self) -> Vec<ReceivedMail> {
        self.shared.mails.all()
    }

    /// Waits for the next mail that this has not returned before; panics after 15 s.
    pub async fn next_mail(&self) -> ReceivedMail {
        self.shared.mails.next().await
    }

    fn listen(&self, listener: TcpListener) {
        let shared = Arc::clone(&self.shared);
        let task = tokio::spawn(async move {
            // This is dropped with the task, and ends the connections.
            let mut conversations = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let number = shared.connected();
                conversations.spawn(converse(stream, Arc::clone(&shared), number));
                while conversations.try_join_next().is_some() {}
            }
        });
        *self.listener.lock().unwrap() = Some(task);
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        if let Some(task) = self.listener.lock().unwrap().take() {
            task.abort();
        }
    }
}

impl ReceivedMail {
    /// Returns the decoded subject.
    pub fn subject(&self) -> String {
        self.parsed(|mail| mail.subject().unwrap_or_default().to_owned())
    }

    /// Returns the decoded text part.
    pub fn text(&self) -> String {
        self.parsed(|mail| mail.body_text(0).unwrap_or_default().into_owned())
    }

    /// Returns the decoded HTML part.
    pub fn html(&self) -> String {
        self.parsed(|mail| mail.body_html(0).unwrap_or_default().into_owned())
    }

    /// Returns a header as it arrived, without surrounding spaces; "" if it is missing.
    pub fn header(&self, name: &str) -> String {
        self.parsed(|mail| mail.header_raw(name).unwrap_or_default().trim().to_owned())
    }

    /// Returns the names of all headers, in order.
    pub fn header_names(&self) -> Vec<String> {
        let headers = |mail: &mail_parser::Message<'_>| {
            let names = mail.headers_raw().map(|(name, _)| name.to_owned());
            names.collect()
        };
        self.parsed(headers)
    }

    fn parsed<T>(&self, read: impl FnOnce(&mail_parser::Message<'_>) -> T) -> T {
        let mail = MessageParser::default().parse(&self.raw);
        read(&mail.expect("a mail"))
    }
}

impl Shared {
    fn connected(&self) -> usize {
        let mut state = self.state.lock().unwrap();
        state.connections += 1;
        state.connections
    }

    /// Counts that a client reached this stage, and returns the fault for it.
    pub(crate) fn reach(&self, stage: MailStage, recipient: &str) -> Option<MailFault> {
        let mut state = self.state.lock().unwrap();
        *state.reached.entry(stage).or_default() += 1;
        let for_recipient = (stage == MailStage::Recipient)
            .then(|| state.for_recipients.get(recipient).cloned())
            .flatten();
        let scripted = || state.script.get_mut(&stage).and_then(VecDeque::pop_front);
        for_recipient
            .or_else(scripted)
            .or_else(|| state.defaults.get(&stage).cloned())
    }

    pub(crate) fn account(&self) -> Option<(String, String)> {
        self.state.lock().unwrap().account.clone()
    }

    pub(crate) fn tls(&self) -> Option<TlsAcceptor> {
        let state = self.state.lock().unwrap();
        state.tls.as_ref().map(|tls| tls.0.clone())
    }

    pub(crate) fn is_enough(&self, mails: usize) -> bool {
        let most = self.state.lock().unwrap().mails_per_connection;
        most.is_some_and(|most| mails >= most)
    }

    pub(crate) fn record(&self, mail: ReceivedMail) {
        self.mails.push(mail);
    }
}
