//! One TLS configuration for every HTTP client of the process.
//!
//! Each client would otherwise read and parse the machine's certificates for itself, and in an image
//! without any it could not even be made, be it for plain http inside a network.

use std::sync::{Arc, OnceLock};

use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};

/// The configuration to give to `reqwest::ClientBuilder::tls_backend_preconfigured`.
///
/// Trusts the authorities that the machine trusts; where it names none (a minimal container image),
/// those of Mozilla's list that are compiled in.
#[must_use]
pub fn client_config() -> ClientConfig {
    static SHARED: OnceLock<ClientConfig> = OnceLock::new();
    SHARED.get_or_init(|| with_roots(machine_roots())).clone()
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

fn with_roots(roots: RootCertStore) -> ClientConfig {
    #[expect(
        clippy::expect_used,
        reason = "the provider knows the default protocol versions; any test shows it"
    )]
    ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_client_can_be_made_whatever_the_machine_trusts() {
        let nothing = super::with_roots(rustls::RootCertStore::empty());
        for config in [nothing, super::client_config()] {
            #[expect(clippy::disallowed_methods, reason = "the client is only made")]
            let client = reqwest::Client::builder()
                .tls_backend_preconfigured(config)
                .build();
            assert!(client.is_ok(), "{client:?}");
        }
    }
}
