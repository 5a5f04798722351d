//! A chat that hangs as long as it is told to, and counts what reaches it.

use crate::http::{self, next_request};
use crate::lock;
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use xtask_kit::cmd::Result;

/// What stands before a number in every planning note.
pub const MARK: &str = "bench-";
/// How many digits follow.
pub const DIGITS: usize = 6;

/// A number as it stands in a planning note.
pub fn mark(number: usize) -> String {
    format!("{MARK}{number:0DIGITS$}")
}

/// The marked numbers in a message. It may say the same note twice, for clients that show less.
pub fn marked(text: &str) -> BTreeSet<usize> {
    // Names of users and projects may begin with the same word.
    let numbers = text
        .split(MARK)
        .skip(1)
        .filter_map(|rest| rest.get(..DIGITS));
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// A chat server on this machine. It lives until the tool ends.
pub struct Chat {
    /// Where it listens.
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    hanging: AtomicBool,
    requests: AtomicUsize,
    notes: Mutex<Notes>,
}

/// What was accepted.
#[derive(Default)]
struct Notes {
    /// When each planning note came first, by its number.
    arrived: BTreeMap<usize, Instant>,
    again: usize,
}

impl Notes {
    fn add(&mut self, note: usize) {
        match self.arrived.entry(note) {
            Entry::Vacant(first) => drop(first.insert(Instant::now())),
            Entry::Occupied(_) => self.again += 1,
        }
    }
}

impl Chat {
    /// On the loopback address.
    pub fn start() -> Result<Self> {
        Self::listen("127.0.0.1")
    }

    /// On another address of this machine than the loopback one: for callers in containers.
    pub fn listen(address: &str) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        let port = http::listen(address, move |stream| state.serve(stream))?;
        Ok(Self { port, shared })
    }

    /// From now on requests get no answer, or get one again.
    pub fn hang(&self, hanging: bool) {
        self.shared.hanging.store(hanging, Ordering::SeqCst);
    }

    /// Requests that came, answered or not.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Which of these notes were not accepted yet.
    pub fn missing(&self, wanted: &[usize]) -> Vec<usize> {
        let notes = lock(&self.shared.notes);
        let is_missing = |note: &usize| !notes.arrived.contains_key(note);
        wanted.iter().copied().filter(is_missing).collect()
    }

    /// When each of the first `count` notes, all of which were accepted, came first.
    pub fn arrivals(&self, count: usize) -> Vec<Instant> {
        let notes = lock(&self.shared.notes);
        notes.arrived.values().copied().take(count).collect()
    }

    /// Different notes that were accepted, and how many were accepted again.
    pub fn accepted(&self) -> (usize, usize) {
        let notes = lock(&self.shared.notes);
        (notes.arrived.len(), notes.again)
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let body = next_request(&mut stream)?.body;
            self.requests.fetch_add(1, Ordering::SeqCst);
            if self.hanging.load(Ordering::SeqCst) {
                // Longer than any caller waits; the connection ends without an answer.
                std::thread::sleep(Duration::from_secs(30));
                return None;
            }
            for note in marked(&body) {
                lock(&self.notes).add(note);
            }
            stream
                .get_mut()
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn a_message_counts_once_for_each_note_in_it() {
        let notes = marked("a bench-000001 b bench-000002, again bench-000001");
        assert_eq!(notes.into_iter().collect::<Vec<_>>(), [1, 2]);
        assert!(marked("bench-12 bench-user-1").is_empty());
    }
}
