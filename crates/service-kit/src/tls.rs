//! One TLS configuration for every HTTP client of the process.
//!
//! Each client would otherwise read and parse the machine's certificates for itself, and in an image
//! without any it could not even be made, be it for plain http inside a network.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The configuration to give to `reqwest::ClientBuilder::tls_backend_preconfigured`.
///
/// Trusts the authorities that the machine trusts; where it names none (a minimal container image),
/// those of Mozilla's list that are compiled in. They are read when the first certificate is to be verified: that
/// takes longer than all else that a service does before it answers, and many never call anybody.
#[must_use]
pub fn client_config() -> ClientConfig {
    static SHARED: OnceLock<ClientConfig> = OnceLock::new();
    SHARED.get_or_init(|| with_roots(machine_roots)).clone()
}

/// Whether the machine names authorities; for libraries that make a configuration of their own, so that
/// they trust the same ones.
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
        log::info!("this machine names no certificate authorities; Mozilla's list is used");
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
        // What the library calls dangerous is to verify in another way than its own, which is what this one asks.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier {
            provider,
            roots,
            inner: OnceLock::new(),
        }))
        .with_no_client_auth()
}

/// The library's own verifier, made when it is first asked.
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
        // Asked before anything is verified.
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
