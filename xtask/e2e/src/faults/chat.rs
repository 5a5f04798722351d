//! A chat server with faults on demand, which records what it did with each call.
//!
//! It has incoming webhooks `/hook/PROJECT/REVISION` in Slack's format, and Matrix rooms `!pPROJECT:…`, in which a repeated
//! transaction id shows nothing again.

use super::markers::HOOK_TOKEN;
use super::seeded_random::SeededRandom;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use xtask_fixtures::fake_chat::marked;
use xtask_fixtures::http::{self, Request, next_request};
use xtask_fixtures::lock;
use xtask_kit::cmd::Result;

/// The behaviour of a project's chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ChatFault {
    #[default]
    Well,
    /// Answers 429, with this many seconds in `Retry-After`.
    Throttling(u64),
    /// Answers 500.
    Failing,
    /// Shows nothing and sends nothing until the caller gives up.
    Hanging,
    /// Shows nothing and hangs up.
    HangingUp,
    /// Shows one message and hangs up before the response; then behaves well.
    CuttingBeforeAnswer,
    /// Shows one message and hangs up in the middle of the response; then behaves well.
    CuttingInAnswer,
}

/// A call, and what was done with it.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) came: Instant,
    pub(super) project: usize,
    /// The numbers of the planning notes in the message.
    pub(super) notes: BTreeSet<usize>,
    /// Whether users see the message.
    pub(super) shown: bool,
    /// Whether the response was sent, as far as the server knows.
    pub(super) answered: bool,
}

/// The server, which runs until the tool ends.
pub(super) struct Chat {
    pub(super) port: u16,
    shared: Arc<Mutex<State>>,
}

struct State {
    moods: BTreeMap<usize, ChatFault>,
    gone: BTreeSet<String>,
    calls: Vec<Call>,
    shown: BTreeSet<usize>,
    /// The body of each Matrix transaction, by its path.
    transactions: BTreeMap<String, String>,
    odd: Vec<String>,
    dice: SeededRandom,
}

impl Chat {
    pub(super) fn start(seed: u64) -> Result<Self> {
        let shared = Arc::new(Mutex::new(State {
            moods: BTreeMap::new(),
            gone: BTreeSet::new(),
            calls: Vec::new(),
            shown: BTreeSet::new(),
            transactions: BTreeMap::new(),
            odd: Vec::new(),
            dice: SeededRandom::new(seed, 1_000),
        }));
        let state = Arc::clone(&shared);
        let serve = move |stream| serve(&state, BufReader::new(stream));
        let port = http::listen("127.0.0.1", serve)?;
        Ok(Self { port, shared })
    }

    /// Returns the URL of a hook.
    pub(super) fn hook(&self, project: usize, revision: usize) -> String {
        format!("http://127.0.0.1:{}{}", self.port, path(project, revision))
    }

    /// Changes the behaviour of a project's chat from now on.
    pub(super) fn set(&self, project: usize, mood: ChatFault) {
        lock(&self.shared).moods.insert(project, mood);
    }

    /// Makes a hook answer 404 from now on.
    pub(super) fn remove_hook(&self, project: usize, revision: usize) {
        lock(&self.shared).gone.insert(path(project, revision));
    }

    /// Returns all calls so far.
    pub(super) fn calls(&self) -> Vec<Call> {
        lock(&self.shared).calls.clone()
    }

    /// Returns the number of planning notes that were shown.
    pub(super) fn shown(&self) -> usize {
        lock(&self.shared).shown.len()
    }

    /// Returns the calls that no caller should make.
    pub(super) fn odd(&self) -> Vec<String> {
        lock(&self.shared).odd.clone()
    }
}

fn path(project: usize, revision: usize) -> String {
    format!("/hook/{project}/{revision}")
}

/// What to do with a recorded call.
struct Verdict {
    index: usize,
    pause: Duration,
    mood: ChatFault,
    status: &'static str,
    body: String,
}

fn serve(shared: &Mutex<State>, mut stream: BufReader<TcpStream>) -> Option<()> {
    loop {
        let request = next_request(&mut stream)?;
        let verdict = lock(shared).judge(&request);
        std::thread::sleep(verdict.pause);
        let retry = match verdict.mood {
            ChatFault::Well | ChatFault::Failing => String::new(),
            ChatFault::Throttling(seconds) => format!("Retry-After: {seconds}\r\n"),
            ChatFault::Hanging => return http::hang(&mut stream),
            ChatFault::HangingUp | ChatFault::CuttingBeforeAnswer => return None,
            ChatFault::CuttingInAnswer => {
                let half = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"o";
                stream.get_mut().write_all(half).ok();
                return None;
            }
        };
        let answer = format!(
            "HTTP/1.1 {}\r\n{retry}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            verdict.status,
            verdict.body.len(),
            verdict.body
        );
        stream.get_mut().write_all(answer.as_bytes()).ok()?;
        if let Some(call) = lock(shared).calls.get_mut(verdict.index) {
            call.answered = true;
        }
    }
}

impl State {
    /// Decides what to do with a call, and records it.
    fn judge(&mut self, request: &Request) -> Verdict {
        let is_matrix = request.path.starts_with("/_matrix/");
        let project = project(&request.path).unwrap_or(usize::MAX);
        let mut mood = self.moods.get(&project).copied().unwrap_or_default();
        let mut status = match mood {
            ChatFault::Throttling(_) => "429 Too Many Requests",
            ChatFault::Failing => "500 Internal Server Error",
            _ => "200 OK",
        };
        let is_gone = self.gone.contains(&request.path);
        if is_gone || project == usize::MAX {
            (mood, status) = (ChatFault::Well, "404 Not Found");
        }
        let wrong = if project == usize::MAX {
            Some("an unknown path")
        } else if is_matrix
            && (request.method != "PUT" || request.authorization != format!("Bearer {HOOK_TOKEN}"))
        {
            Some("a Matrix call that is not a PUT or has no token")
        } else if !is_matrix && request.method != "POST" {
            Some("a hook call that is not a POST")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            self.odd
                .push(format!("{wrong}: {} {}", request.method, request.path));
        }
        let takes = matches!(
            mood,
            ChatFault::Well | ChatFault::CuttingBeforeAnswer | ChatFault::CuttingInAnswer
        ) && !is_gone
            && wrong.is_none();
        let mut shown = takes;
        if takes && is_matrix {
            let (path, body) = (request.path.clone(), request.body.clone());
            if let Some(earlier) = self.transactions.insert(path, body) {
                shown = false;
                if earlier != request.body {
                    let path = &request.path;
                    let odd = format!("the transaction {path} was repeated with another body");
                    self.odd.push(odd);
                }
            }
        }
        if takes && mood != ChatFault::Well {
            self.moods.insert(project, ChatFault::Well);
        }
        let notes = marked(&request.body);
        if shown {
            self.shown.extend(&notes);
        }
        self.calls.push(Call {
            came: Instant::now(),
            project,
            notes,
            shown,
            answered: false,
        });
        Verdict {
            index: self.calls.len() - 1,
            pause: self.dice.millis(0, 8),
            mood,
            status,
            body: answer(is_matrix, status, mood),
        }
    }
}

fn answer(is_matrix: bool, status: &str, mood: ChatFault) -> String {
    match (is_matrix, mood) {
        (true, ChatFault::Throttling(seconds)) => format!(
            "{{\"errcode\":\"M_LIMIT_EXCEEDED\",\"error\":\"slower\",\"retry_after_ms\":{}}}",
            seconds * 1_000
        ),
        (true, ChatFault::Failing) => "{\"errcode\":\"M_UNKNOWN\",\"error\":\"failed\"}".to_owned(),
        (true, _) => "{\"event_id\":\"$event\"}".to_owned(),
        (false, _) if status.starts_with("200") => "ok".to_owned(),
        (false, _) => "no_service".to_owned(),
    }
}

/// Returns the project's number in a path: `/hook/N/…`, or a room `!pN:…`.
fn project(path: &str) -> Option<usize> {
    let rest = path
        .strip_prefix("/hook/")
        .or_else(|| path.split_once("/rooms/%21p").map(|(_, rest)| rest))
        .or_else(|| path.split_once("/rooms/!p").map(|(_, rest)| rest))?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::project;

    #[test]
    fn a_path_tells_its_project() {
        assert_eq!(project("/hook/3/0"), Some(3));
        let room = "/_matrix/client/v3/rooms/%21p4%3Alocalhost/send/m.room.message/x";
        assert_eq!(project(room), Some(4));
        assert_eq!(project("/hook/x"), None);
        assert_eq!(project("/other"), None);
    }
}
