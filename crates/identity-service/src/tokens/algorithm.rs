use std::fmt::Display;

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::{Algorithm, EncodingKey};
use secrecy::{ExposeSecret as _, SecretString};

use crate::error::Error;

/// The algorithm of a signing key (RFC 7518 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SigningAlgorithm {
    /// Signs access tokens, and ID tokens of clients that are registered so.
    Es256,
    /// Signs ID tokens by default (OpenID Connect Dynamic Client Registration section 2).
    Rs256,
}

impl SigningAlgorithm {
    /// Both, the one for access tokens first.
    pub(crate) const ALL: [Self; 2] = [Self::Es256, Self::Rs256];

    /// Returns the name in headers, metadata and the database.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }

    /// Parses the text of [`SigningAlgorithm::as_str`].
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    pub(crate) fn jwt(self) -> Algorithm {
        match self {
            Self::Es256 => Algorithm::ES256,
            Self::Rs256 => Algorithm::RS256,
        }
    }

    pub(super) fn generate(self) -> Result<EncodingKey, Error> {
        match self {
            Self::Es256 => {
                let random = SystemRandom::new();
                EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
                    .map(|pkcs8| EncodingKey::from_ec_der(pkcs8.as_ref()))
                    .map_err(failed)
            }
            Self::Rs256 => generate_rsa(),
        }
    }

    /// Parses a private key from the bytes of [`EncodingKey::as_bytes`].
    pub(super) fn read(self, der: &[u8]) -> EncodingKey {
        match self {
            Self::Es256 => EncodingKey::from_ec_der(der),
            Self::Rs256 => EncodingKey::from_rsa_der(der),
        }
    }
}

/// Generates an RSA key. The signing library needs it as in RFC 8017, the generating one exports only PKCS #8.
fn generate_rsa() -> Result<EncodingKey, Error> {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).map_err(failed)?;
    let pkcs8: Pkcs8V1Der<'_> = pair.as_der().map_err(failed)?;
    let text = SecretString::from(STANDARD.encode(pkcs8.as_ref()));
    let pem = SecretString::from(format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        text.expose_secret()
    ));
    EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes()).map_err(failed)
}

fn failed(error: impl Display) -> Error {
    Error::internal("creating a signing key", error)
}
