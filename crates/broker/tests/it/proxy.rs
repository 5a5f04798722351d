use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use test_kit::TestBroker;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A proxy before RabbitMQ. It can cut connections, as a network or a broker may, and stop reading: with a notice, as a
/// broker does that is short of memory, or without one.
pub(crate) struct Proxy {
    address: SocketAddr,
    open: Arc<AtomicBool>,
    mode: watch::Sender<ProxyMode>,
    streams: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyMode {
    /// Everything passes.
    Passing,
    /// Nothing from the client passes, and the client gets a notice.
    Blocked,
    /// Nothing passes.
    Silent,
}

impl Proxy {
    pub(crate) async fn before(kit: &TestBroker) -> Self {
        let url = url::Url::parse(kit.url()).unwrap();
        let behind = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5672));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap(),
            open: Arc::new(AtomicBool::new(true)),
            mode: watch::Sender::new(ProxyMode::Passing),
            streams: Arc::default(),
        };
        let (open, streams) = (Arc::clone(&proxy.open), Arc::clone(&proxy.streams));
        let mode = proxy.mode.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let (behind, mode) = (behind.clone(), mode.clone());
                let stream = tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(behind).await {
                        let ((from_client, to_client), (from_server, to_server)) =
                            (client.into_split(), server.into_split());
                        tokio::select! {
                            _ = pass(from_client, to_server, mode.clone()) => {}
                            _ = pass_frames(from_server, to_client, mode) => {}
                        }
                    }
                });
                streams.lock().unwrap().push(stream);
            }
        });
        proxy
    }

    /// Returns the broker's URL, through the proxy.
    pub(crate) fn url(&self, kit: &TestBroker) -> String {
        let mut url = url::Url::parse(kit.url()).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }

    /// Cuts every connection; while `open` is false, new ones are cut at once.
    pub(crate) fn cut(&self, open: bool) {
        self.open.store(open, Ordering::SeqCst);
        for stream in self.streams.lock().unwrap().drain(..) {
            stream.abort();
        }
    }

    pub(crate) fn set_mode(&self, mode: ProxyMode) {
        self.mode.send_replace(mode);
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<ProxyMode>,
) -> std::io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let _ = mode.wait_for(|mode| *mode == ProxyMode::Passing).await;
        let count = from.read(&mut bytes).await?;
        let _ = mode.wait_for(|mode| *mode == ProxyMode::Passing).await;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..count]).await?;
    }
}

/// Passes whole frames, so that others fit between them.
async fn pass_frames(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<ProxyMode>,
) -> std::io::Result<()> {
    let (mut bytes, mut waiting) = (vec![0; 16 * 1024], Vec::new());
    let mut notified = *mode.borrow_and_update();
    loop {
        tokio::select! {
            count = from.read(&mut bytes) => {
                let _ = mode.wait_for(|mode| *mode != ProxyMode::Silent).await;
                match count? {
                    0 => return Ok(()),
                    count => waiting.extend_from_slice(&bytes[..count]),
                }
                while let Some(end) = frame(&waiting) {
                    to.write_all(&waiting[..end]).await?;
                    waiting.drain(..end);
                }
            }
            _ = mode.changed() => {
                let now = *mode.borrow_and_update();
                match (notified, now) {
                    (ProxyMode::Passing, ProxyMode::Blocked) => to.write_all(&method(60, b"\x0alow memory")).await?,
                    (ProxyMode::Blocked, ProxyMode::Passing) => to.write_all(&method(61, b"")).await?,
                    _ => {}
                }
                notified = now;
            }
        }
    }
}

/// Returns the end of the first frame, once it is complete: a type, a channel, a length, as many bytes, an end mark.
fn frame(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_be_bytes(bytes.get(3..7)?.try_into().unwrap());
    let end = 7 + usize::try_from(length).unwrap() + 1;
    (bytes.len() >= end).then_some(end)
}

/// Returns a frame with a method of class 10, connection.
fn method(id: u8, arguments: &[u8]) -> Vec<u8> {
    let length = u8::try_from(4 + arguments.len()).unwrap();
    let mut frame = vec![1, 0, 0, 0, 0, 0, length, 0, 10, 0, id];
    frame.extend_from_slice(arguments);
    frame.push(0xCE);
    frame
}
