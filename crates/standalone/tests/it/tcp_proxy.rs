//! A proxy in front of a server, which a test can cut.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

/// Forwards a port to a server. While it is cut, new connections close at once.
pub struct TcpProxy {
    address: SocketAddr,
    whole: Arc<watch::Sender<bool>>,
}

impl TcpProxy {
    /// Starts a proxy to the server of a URL, and returns the URL that goes through it too.
    pub async fn to(url: &str) -> (Self, String) {
        let mut url = Url::parse(url).unwrap();
        let port = url
            .port()
            .unwrap_or(if url.scheme() == "amqp" { 5672 } else { 5432 });
        let server = format!("{}:{port}", url.host_str().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let whole = Arc::new(watch::Sender::new(true));
        tokio::spawn(forward(listener, server, Arc::clone(&whole)));
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(address.port())).unwrap();
        (Self { address, whole }, url.into())
    }

    /// Breaks every connection and lets no new ones through.
    pub fn cut(&self) {
        assert!(
            self.whole.send_replace(false),
            "the line {} was whole",
            self.address
        );
    }

    /// Lets connections through again.
    pub fn restore(&self) {
        self.whole.send_replace(true);
    }
}

async fn forward(listener: TcpListener, server: String, whole: Arc<watch::Sender<bool>>) {
    while let Ok((mut from, _)) = listener.accept().await {
        let mut whole = whole.subscribe();
        if !*whole.borrow() {
            continue;
        }
        let server = server.clone();
        tokio::spawn(async move {
            let mut to = TcpStream::connect(server).await?;
            tokio::select! {
                done = copy_bidirectional(&mut from, &mut to) => done.map(drop),
                _ = whole.wait_for(|whole| !whole) => Ok(()),
            }
        });
    }
}
