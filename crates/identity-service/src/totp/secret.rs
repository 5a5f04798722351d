use auth_types::UserId;
use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret as _, SecretString};
use service_kit::crypto::random_bytes;
use service_kit::seal::Sealer;
use totp_rs::{Algorithm, Builder, Totp};

use crate::error::Error;

/// All authenticator apps support these values. Some accept others and then show wrong codes.
const ALGORITHM: Algorithm = Algorithm::SHA1;
const DIGITS: u8 = 6;
const STEP_SECONDS: u64 = 30;
/// Accepted time steps before and after the current one, for inaccurate clocks.
const SKEW: u16 = 1;
/// The length that RFC 4226 section 4 recommends.
const SECRET_BYTES: usize = 20;

/// A secret shared with an authenticator app.
pub(super) struct TotpSecret(Totp);

impl TotpSecret {
    pub(super) fn generate(username: &str) -> Result<Self, Error> {
        Self::new(random_bytes::<SECRET_BYTES>().to_vec(), username)
    }

    fn new(secret: Vec<u8>, username: &str) -> Result<Self, Error> {
        Builder::new()
            .with_algorithm(ALGORITHM)
            .with_digits(DIGITS)
            .with_skew(SKEW)
            .with_step_duration(STEP_SECONDS)
            .with_secret(secret)
            .with_issuer(Some("Holdfast"))
            .with_account_name(username)
            .build()
            .map(Self)
            .map_err(|error| Error::internal("second factor", error))
    }

    /// Returns the stored form, which opens only for this account.
    pub(super) fn seal(&self, sealer: &Sealer, user_id: UserId) -> Result<String, Error> {
        sealer
            .seal(&place(user_id), self.0.secret().as_bytes())
            .map_err(|error| Error::internal("sealing a second factor", error))
    }

    pub(super) fn open(sealer: &Sealer, user_id: UserId, sealed: &str) -> Result<Self, Error> {
        let secret = sealer
            .open(&place(user_id), sealed)
            .map_err(|error| Error::internal("opening a second factor", error))?;
        Self::new(secret.expose_secret().to_vec(), "")
    }

    /// Seals the secret with the current key. `None` if `sealed` does not open.
    pub(super) fn reseal(sealer: &Sealer, user_id: UserId, sealed: &str) -> Option<String> {
        Self::open(sealer, user_id, sealed)
            .and_then(|factor| factor.seal(sealer, user_id))
            .ok()
    }

    /// Returns the time step of the code, if the code is valid at `now`.
    pub(super) fn step_of(&self, code: &str, now: DateTime<Utc>) -> Option<i64> {
        let seconds = u64::try_from(now.timestamp()).ok()?;
        self.0
            .check(code, seconds)
            .and_then(|step| i64::try_from(step).ok())
    }

    /// Returns the secret in base32, for typing.
    pub(super) fn secret(&self) -> SecretString {
        self.0.secret().to_base32().into()
    }

    /// Returns the URL for a QR code.
    pub(super) fn url(&self) -> Result<SecretString, Error> {
        self.0
            .to_url()
            .map(SecretString::from)
            .map_err(|error| Error::internal("second factor", error))
    }
}

/// Returns the context that binds a sealed secret to its account.
fn place(user_id: UserId) -> String {
    format!("totp:{user_id}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use service_kit::seal::{Purpose, SealingKeys};

    use super::*;

    #[test]
    fn a_code_matches_rfc_6238_and_is_valid_for_three_steps() {
        // RFC 6238 appendix B lists eight digits, of which these are the last six.
        let factor = TotpSecret::new(b"12345678901234567890".to_vec(), "ada").unwrap();
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        assert_eq!(factor.step_of("287082", at(59)), Some(1));
        assert_eq!(
            factor.step_of("050471", at(1_111_111_111)),
            Some(37_037_037)
        );
        assert_eq!(factor.step_of("287082", at(89)), Some(1));
        assert_eq!(factor.step_of("287082", at(0)), Some(1));
        assert_eq!(factor.step_of("287082", at(90)), None);
        for bad in ["", "28708", "2870820", "28708a", "+28708", "２８７０８２"] {
            assert_eq!(factor.step_of(bad, at(59)), None, "{bad}");
        }
    }

    #[test]
    fn a_sealed_secret_opens_only_for_its_account() {
        let keys = SealingKeys::new(&[7; 32], []);
        let sealer = keys.sealer(Purpose::SecondFactors).unwrap();
        let (ada, bob) = ("1".parse().unwrap(), "2".parse().unwrap());
        let factor = TotpSecret::generate("ada").unwrap();
        let sealed = factor.seal(&sealer, ada).unwrap();
        let opened = TotpSecret::open(&sealer, ada, &sealed).unwrap();
        assert_eq!(
            opened.secret().expose_secret(),
            factor.secret().expose_secret()
        );
        assert!(TotpSecret::open(&sealer, bob, &sealed).is_err());
        let url = factor.url().unwrap();
        assert!(
            url.expose_secret()
                .starts_with("otpauth://totp/Holdfast:ada?secret=")
        );
    }
}
