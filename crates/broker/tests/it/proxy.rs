use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use test_kit::TestBroker;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Stands between a client and RabbitMQ and can be cut, as a network or a broker can.
pub(crate) struct Proxy {
    address: SocketAddr,
    open: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Proxy {
    pub(crate) async fn before(kit: &TestBroker) -> Self {
        let url = url::Url::parse(kit.url()).unwrap();
        let behind = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5672));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap(),
            open: Arc::new(AtomicBool::new(true)),
            streams: Arc::default(),
        };
        let (open, streams) = (Arc::clone(&proxy.open), Arc::clone(&proxy.streams));
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let behind = behind.clone();
                let stream = tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(behind).await {
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
                streams.lock().unwrap().push(stream);
            }
        });
        proxy
    }

    /// The broker's URL, through the proxy.
    pub(crate) fn url(&self, kit: &TestBroker) -> String {
        let mut url = url::Url::parse(kit.url()).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }

    /// Cuts every connection; new ones are cut at once while `open` is false.
    pub(crate) fn cut(&self, open: bool) {
        self.open.store(open, Ordering::SeqCst);
        for stream in self.streams.lock().unwrap().drain(..) {
            stream.abort();
        }
    }
}
