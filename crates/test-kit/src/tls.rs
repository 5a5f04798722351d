use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

/// A proxy that speaks TLS for a server that does not, like that of an operator. Its certificate is signed by an authority of its
/// own.
#[derive(Debug)]
pub struct TlsProxy {
    host: &'static str,
    address: SocketAddr,
    authority: String,
    server: Arc<OnceLock<SocketAddr>>,
    accepting: JoinHandle<()>,
}

impl TlsProxy {
    /// Starts on a free port of `localhost`. It closes every connection until it knows the server.
    pub async fn start() -> Self {
        Self::named("localhost").await
    }

    /// Starts like [`Self::start`], with a certificate for another name of this machine.
    pub async fn named(host: &'static str) -> Self {
        let (authority, acceptor) = certified(host);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Arc::new(OnceLock::new());
        let behind = Arc::clone(&server);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Some(server) = behind.get().copied() else {
                    continue;
                };
                let acceptor = acceptor.clone();
                // A caller that does not trust the certificate closes the connection; the caller has to report that.
                tokio::spawn(async move {
                    let mut outside = acceptor.accept(stream).await?;
                    let mut inside = TcpStream::connect(server).await?;
                    copy_bidirectional(&mut outside, &mut inside).await
                });
            }
        });
        Self {
            host,
            address,
            authority,
            server,
            accepting,
        }
    }

    /// Returns its URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("https://{}:{}", self.host, self.address.port())
    }

    /// Returns the certificate of the authority, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Forwards connections to this server from now on.
    pub fn lead_to(&self, server: SocketAddr) {
        self.server.set(server).unwrap();
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Creates the TLS side of a server with this certificate.
pub(crate) fn acceptor(certificate: CertificateDer<'static>, key: &KeyPair) -> TlsAcceptor {
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn certified(host: &str) -> (String, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    // With the same name, the two certificates would be mistaken for a self-signed one.
    params
        .distinguished_name
        .push(DnType::CommonName, "An authority for tests");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();

    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &authority).unwrap();
    let acceptor = acceptor(certificate.der().clone(), &key);
    (authority.pem(), acceptor)
}
