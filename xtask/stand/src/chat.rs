//! A fake chat that can be made to hang, and counts the messages that reach it.

use crate::http::{self, next_request};
use crate::lock;
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use xtask_kit::cmd::Result;

/// The text before the number in each planning note.
pub const MARK: &str = "bench-";
/// The number of digits after it.
pub const DIGITS: usize = 6;

/// Returns a number as it appears in a planning note.
pub fn mark(number: usize) -> String {
    format!("{MARK}{number:0DIGITS$}")
}

/// Returns the marked numbers in a message. A message may contain a note twice, for clients that show less.
pub fn marked(text: &str) -> BTreeSet<usize> {
    // Names of users and projects may begin with the mark, too, but no six digits follow.
    let numbers = text
        .split(MARK)
        .skip(1)
        .filter_map(|rest| rest.get(..DIGITS));
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// A chat server on this machine that runs until the tool ends.
pub struct Chat {
    /// The port on which it listens.
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    hanging: AtomicBool,
    requests: AtomicUsize,
    notes: Mutex<AcceptedNotes>,
}

/// The accepted notes.
#[derive(Default)]
struct AcceptedNotes {
    /// The time at which each planning note first arrived, by its number.
    arrived: BTreeMap<usize, Instant>,
    again: usize,
}

impl AcceptedNotes {
    fn add(&mut self, note: usize) {
        match self.arrived.entry(note) {
            Entry::Vacant(first) => drop(first.insert(Instant::now())),
            Entry::Occupied(_) => self.again += 1,
        }
    }
}

impl Chat {
    /// Starts a server on the loopback address.
    pub fn start() -> Result<Self> {
        Self::listen("127.0.0.1")
    }

    /// Starts a server on another address of this machine, which callers in containers can reach.
    pub fn listen(address: &str) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        let port = http::listen(address, move |stream| state.serve(stream))?;
        Ok(Self { port, shared })
    }

    /// Makes the server stop or resume answering.
    pub fn hang(&self, hanging: bool) {
        self.shared.hanging.store(hanging, Ordering::SeqCst);
    }

    /// The number of requests, answered or not.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Returns those of the notes that have not been accepted yet.
    pub fn missing(&self, wanted: &[usize]) -> Vec<usize> {
        let notes = lock(&self.shared.notes);
        let is_missing = |note: &usize| !notes.arrived.contains_key(note);
        wanted.iter().copied().filter(is_missing).collect()
    }

    /// Returns the times at which the first `count` notes first arrived. All of them must have been accepted.
    pub fn arrivals(&self, count: usize) -> Vec<Instant> {
        let notes = lock(&self.shared.notes);
        notes.arrived.values().copied().take(count).collect()
    }

    /// The number of different notes that were accepted, and the number of repetitions.
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
                // Longer than the timeout of any caller; the connection ends without a response.
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
