//! A chat that hangs as long as it is told to, and counts what reaches it.

use crate::cmd::Result;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What stands before a number in every planning note of the bench.
pub const MARK: &str = "bench-";
/// How many digits follow.
pub const DIGITS: usize = 6;

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
    /// How often each planning note was, by its number.
    times: Vec<u32>,
    /// When each came first.
    arrived: Vec<Instant>,
    different: usize,
    again: usize,
}

impl Notes {
    fn add(&mut self, note: usize) {
        let now = Instant::now();
        if self.times.len() <= note {
            self.times.resize(note + 1, 0);
            self.arrived.resize(note + 1, now);
        }
        if let Some(times) = self.times.get_mut(note) {
            match (*times, self.arrived.get_mut(note)) {
                (0, Some(arrived)) => {
                    *arrived = now;
                    self.different += 1;
                }
                _ => self.again += 1,
            }
            *times += 1;
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
        let listener = TcpListener::bind((address, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                std::thread::spawn(move || state.serve(stream));
            }
        });
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
        let notes = self.shared.notes.lock();
        let notes = notes.unwrap_or_else(PoisonError::into_inner);
        let is_missing = |note: &usize| notes.times.get(*note).is_none_or(|times| *times == 0);
        wanted.iter().copied().filter(is_missing).collect()
    }

    /// When each of the first `count` notes, all of which were accepted, came first.
    pub fn arrivals(&self, count: usize) -> Vec<Instant> {
        let notes = self.shared.notes.lock();
        let notes = notes.unwrap_or_else(PoisonError::into_inner);
        notes.arrived.iter().copied().take(count).collect()
    }

    /// Different notes that were accepted, and how many were accepted again.
    pub fn accepted(&self) -> (usize, usize) {
        let notes = self.shared.notes.lock();
        let notes = notes.unwrap_or_else(PoisonError::into_inner);
        (notes.different, notes.again)
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let body = request(&mut stream)?;
            self.requests.fetch_add(1, Ordering::SeqCst);
            if self.hanging.load(Ordering::SeqCst) {
                // Longer than any caller waits; the connection ends without an answer.
                std::thread::sleep(Duration::from_secs(30));
                return None;
            }
            {
                let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
                for note in marked(&body) {
                    notes.add(note);
                }
            }
            stream
                .get_mut()
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .ok()?;
        }
    }
}

fn request(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok()?;
            }
            _ if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// The marked numbers in a message. It may say the same note twice, for clients that show less.
fn marked(text: &[u8]) -> BTreeSet<usize> {
    // What it costs to look is part of no product.
    memchr::memmem::find_iter(text, MARK)
        .filter_map(|at| text.get(at + MARK.len()..at + MARK.len() + DIGITS))
        // Names of users and projects may begin with the same word.
        .filter(|number| number.iter().all(u8::is_ascii_digit))
        .filter_map(|number| std::str::from_utf8(number).ok()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn a_message_counts_once_for_each_note_in_it() {
        let notes = marked(b"a bench-000001 b bench-000002, again bench-000001");
        assert_eq!(notes.into_iter().collect::<Vec<_>>(), [1, 2]);
        assert!(marked(b"bench-12 bench-user-1").is_empty());
    }
}
