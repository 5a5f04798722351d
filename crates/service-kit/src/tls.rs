//! One TLS configuration for all HTTP clients of the process.
//!
//! Otherwise each client would read and parse the machine's certificates itself. In an image without any, not even a client for
//! plain http inside a network could be created.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Returns the configuration for `reqwest::ClientBuilder::tls_backend_preconfigured`.
///
/// It trusts the authorities that the machine trusts. If there are none (a minimal container image), it trusts Mozilla's list,
/// which is compiled in. The authorities are read when the first certificate is verified: this takes longer than the rest of a
/// service's start, and many services never call anybody.
#[must_use]
pub fn client_config() -> ClientConfig {
    static SHARED: OnceLock<ClientConfig> = OnceLock::new();
    SHARED.get_or_init(|| with_roots(machine_roots)).clone()
}

/// Whether the machine has certificate authorities. Libraries that create a configuration of their own use this to trust the same
/// ones.
#[must_use]
pub fn machine_names_authorities() -> bool {
    !native_roots().is_empty()
}

fn native_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn machine_roots() -> RootCertStore {
    let mut roots = native_roots();
    if roots.is_empty() {
        log::info!("this machine has no certificate authorities; Mozilla's list is used");
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

fn with_roots(roots: fn() -> RootCertStore) -> ClientConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    #[expect(
        clippy::expect_used,
        reason = "the provider knows the default protocol versions; any test shows it"
    )]
    ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("TLS 1.2 and 1.3")
        // The library calls every verifier but its own dangerous. This one delegates to the library's own.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier {
            provider,
            roots,
            inner: OnceLock::new(),
        }))
        .with_no_client_auth()
}

/// A verifier that creates the library's own one at its first use.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    roots: fn() -> RootCertStore,
    inner: OnceLock<Result<Arc<WebPkiServerVerifier>, String>>,
}

impl Verifier {
    fn inner(&self) -> Result<&WebPkiServerVerifier, Error> {
        let make = || {
            let (roots, provider) = (Arc::new((self.roots)()), Arc::clone(&self.provider));
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            verifier.map_err(|error| error.to_string())
        };
        match self.inner.get_or_init(make) {
            Ok(verifier) => Ok(verifier),
            Err(why) => Err(Error::General(why.clone())),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.inner()?
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner()?.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner()?.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        // The library asks for these before it verifies anything.
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_client_can_be_made_whatever_the_machine_trusts() {
        let nothing = super::with_roots(rustls::RootCertStore::empty);
        for config in [nothing, super::client_config()] {
            #[expect(clippy::disallowed_methods, reason = "the client is only made")]
            let client = reqwest::Client::builder()
                .tls_backend_preconfigured(config)
                .build();
            assert!(client.is_ok(), "{client:?}");
        }
    }
}
