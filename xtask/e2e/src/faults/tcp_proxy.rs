//! A connection to a server that can be cut, stalled in one direction, or made to lose everything silently.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use xtask_fixtures::http::listen;
use xtask_fixtures::lock;
use xtask_kit::cmd::Result;

/// The direction of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToServer,
    ToClient,
}

/// Forwards a local port to a server, until the tool ends.
pub(super) struct TcpProxy {
    pub(super) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: String,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    refusing: bool,
    stalled: Option<Way>,
    pairs: Vec<Arc<Pair>>,
}

/// The two ends of a connection.
struct Pair {
    client: TcpStream,
    server: TcpStream,
    /// Whether everything is lost from now on, including the end of the connection.
    lost: AtomicBool,
    over: AtomicBool,
}

impl TcpProxy {
    /// Creates a line to a server at `HOST:PORT`.
    pub(super) fn to(server: &str) -> Result<Self> {
        let shared = Arc::new(Shared {
            server: server.to_owned(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        // An error means that the server is down: the client sees its connection closed.
        let port = listen("127.0.0.1", move |stream| accepting.connect(stream).ok())?;
        Ok(Self { port, shared })
    }

    /// Breaks every connection and lets none through until [`TcpProxy::restore`].
    pub(super) fn cut(&self) {
        let mut state = lock(&self.shared.state);
        state.refusing = true;
        for pair in state.pairs.drain(..) {
            pair.close();
        }
        self.shared.changed.notify_all();
    }

    /// Forwards nothing in this direction until [`TcpProxy::restore`]; then everything arrives.
    pub(super) fn stall(&self, way: Way) {
        lock(&self.shared.state).stalled = Some(way);
    }

    /// Loses everything on the current connections, for good. New ones work.
    pub(super) fn lose(&self) {
        for pair in lock(&self.shared.state).pairs.drain(..) {
            pair.lost.store(true, Ordering::SeqCst);
        }
    }

    /// Ends a cut or a stall.
    pub(super) fn restore(&self) {
        let mut state = lock(&self.shared.state);
        state.refusing = false;
        state.stalled = None;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn connect(self: &Arc<Self>, client: TcpStream) -> Result {
        if lock(&self.state).refusing {
            return Ok(());
        }
        let server = TcpStream::connect(&self.server)?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
        }
        let pair = Arc::new(Pair {
            client,
            server,
            lost: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        let mut state = lock(&self.state);
        state.pairs.retain(|pair| !pair.over.load(Ordering::SeqCst));
        state.pairs.push(Arc::clone(&pair));
        drop(state);
        for way in [Way::ToServer, Way::ToClient] {
            let (line, pair) = (Arc::clone(self), Arc::clone(&pair));
            std::thread::spawn(move || line.pump(&pair, way));
        }
        Ok(())
    }

    fn pump(&self, pair: &Pair, way: Way) {
        let (mut from, mut to) = match way {
            Way::ToServer => (&pair.client, &pair.server),
            Way::ToClient => (&pair.server, &pair.client),
        };
        let mut buffer = [0_u8; 16 * 1024];
        while let Ok(length) = from.read(&mut buffer) {
            let Some(bytes) = buffer.get(..length).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            self.wait_while_stalled(pair, way);
            if !pair.lost.load(Ordering::SeqCst) && to.write_all(bytes).is_err() {
                break;
            }
        }
        self.wait_while_stalled(pair, way);
        if pair.lost.load(Ordering::SeqCst) {
            from.shutdown(Shutdown::Both).ok();
        } else {
            pair.close();
        }
    }

    fn wait_while_stalled(&self, pair: &Pair, way: Way) {
        let mut state = lock(&self.state);
        while state.stalled == Some(way) && !pair.over.load(Ordering::SeqCst) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Pair {
    fn close(&self) {
        self.over.store(true, Ordering::SeqCst);
        // A failure means that this side is gone already.
        self.client.shutdown(Shutdown::Both).ok();
        self.server.shutdown(Shutdown::Both).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::{TcpProxy, Way, listen};
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    /// Starts a server that sends everything back.
    fn echo() -> String {
        let echo = |stream: TcpStream| {
            let mut back = stream.try_clone().ok()?;
            std::io::copy(&mut &stream, &mut back).ok().map(drop)
        };
        format!("127.0.0.1:{}", listen("127.0.0.1", echo).unwrap())
    }

    fn client(line: &TcpProxy) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", line.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        stream
    }

    /// Returns the length of the response: `None` for silence, 0 for a closed connection.
    fn said(stream: &mut TcpStream, word: &[u8]) -> Option<usize> {
        stream.write_all(word).ok();
        let mut buffer = [0_u8; 16];
        match stream.read(&mut buffer) {
            Ok(length) => Some(length),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            Err(_) => Some(0),
        }
    }

    #[test]
    fn a_line_is_whole_cut_and_whole_again() {
        let line = TcpProxy::to(&echo()).unwrap();
        let mut before = client(&line);
        assert_eq!(said(&mut before, b"one"), Some(3));
        line.cut();
        assert_eq!(said(&mut before, b"two"), Some(0));
        assert_eq!(said(&mut client(&line), b"two"), Some(0));
        line.restore();
        assert_eq!(said(&mut client(&line), b"three"), Some(5));
    }

    #[test]
    fn what_was_sent_while_it_stalled_arrives_and_what_was_lost_does_not() {
        let line = TcpProxy::to(&echo()).unwrap();
        let mut stream = client(&line);
        assert_eq!(said(&mut stream, b"one"), Some(3));
        for way in [Way::ToServer, Way::ToClient] {
            line.stall(way);
            assert_eq!(said(&mut stream, b"two"), None);
            line.restore();
            assert_eq!(said(&mut stream, b""), Some(3));
        }
        line.lose();
        assert_eq!(
            said(&mut stream, b"four"),
            None,
            "neither an answer nor an end"
        );
        assert_eq!(said(&mut client(&line), b"five"), Some(4));
    }
}
