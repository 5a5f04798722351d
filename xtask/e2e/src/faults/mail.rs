//! A mail server with faults on demand, which counts the mails that it accepted for each recipient.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use xtask_fixtures::http::{self, hang};
use xtask_fixtures::lock;
use xtask_kit::cmd::Result;

/// The behaviour of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MailFault {
    #[default]
    Well,
    /// Answers 421 instead of a greeting.
    Closed,
    /// Answers 451 to each sender.
    RefusingSenders,
    /// Answers 451 to each message.
    RefusingContent,
    /// Stops answering.
    Hanging,
    /// Hangs up when a mail begins.
    HangingUp,
    /// Accepts one mail and hangs up without confirming it; then behaves well.
    CuttingAnswer,
}

/// The server, which runs until the tool ends.
pub(crate) struct Mail {
    pub(crate) port: u16,
    shared: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    mood: MailFault,
    /// How many mails were accepted for each recipient.
    taken: BTreeMap<String, usize>,
}

impl Mail {
    /// Starts a server on a free port of this address.
    pub(crate) fn start(address: &str) -> Result<Self> {
        let shared = Arc::new(Mutex::new(State::default()));
        let state = Arc::clone(&shared);
        let port = http::listen(address, move |stream| {
            converse(&state, BufReader::new(stream))
        })?;
        Ok(Self { port, shared })
    }

    /// Changes the behaviour from now on.
    pub(super) fn set(&self, mood: MailFault) {
        lock(&self.shared).mood = mood;
    }

    /// Returns how many mails were accepted for each recipient.
    pub(crate) fn taken(&self) -> BTreeMap<String, usize> {
        lock(&self.shared).taken.clone()
    }
}

fn converse(shared: &Mutex<State>, mut stream: BufReader<TcpStream>) -> Option<()> {
    match lock(shared).mood {
        MailFault::Closed => return say(&mut stream, "421 4.3.2 closed"),
        MailFault::Hanging => return hang(&mut stream),
        _ => say(&mut stream, "220 mail.test ESMTP")?,
    }
    let mut recipient = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mood = lock(shared).mood;
        if mood == MailFault::Hanging {
            return hang(&mut stream);
        }
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        match (verb.as_str(), mood) {
            ("MAIL", MailFault::RefusingSenders) => say(&mut stream, "451 4.3.0 not now")?,
            ("MAIL", MailFault::HangingUp) => return None,
            ("RCPT", _) => {
                let address = line.split(['<', '>']).nth(1).unwrap_or_default();
                address.clone_into(&mut recipient);
                say(&mut stream, "250 2.1.5 fine")?;
            }
            ("DATA", _) => {
                say(&mut stream, "354 go on")?;
                content(&mut stream)?;
                let word = take(&mut lock(shared), &recipient)?;
                say(&mut stream, word)?;
            }
            ("QUIT", _) => return say(&mut stream, "221 2.0.0 bye"),
            _ => say(&mut stream, "250 2.0.0 fine")?,
        }
    }
}

/// Returns the reply to a complete mail; `None` to hang up.
fn take(state: &mut State, recipient: &str) -> Option<&'static str> {
    match state.mood {
        MailFault::RefusingContent => return Some("451 4.3.0 not now"),
        MailFault::HangingUp => return None,
        _ => {}
    }
    *state.taken.entry(recipient.to_owned()).or_default() += 1;
    if state.mood == MailFault::CuttingAnswer {
        state.mood = MailFault::Well;
        return None;
    }
    Some("250 2.0.0 taken")
}

fn content(stream: &mut BufReader<TcpStream>) -> Option<()> {
    let mut line = Vec::new();
    while line != b".\r\n" {
        line.clear();
        if stream.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
    }
    Some(())
}

fn say(stream: &mut BufReader<TcpStream>, line: &str) -> Option<()> {
    stream
        .get_mut()
        .write_all(format!("{line}\r\n").as_bytes())
        .ok()
}
