//! Password hashing with bcrypt. It is slow on purpose, so it runs on its own threads, one per core, behind a bounded
//! queue. No database connection is held meanwhile.

mod common;
mod password;
mod threads;

use zxcvbn::zxcvbn;

use crate::config::PasswordConfig;
use crate::error::Error;

pub(crate) use password::Password;
use threads::HashThreads;

/// Password hashing and verification at one bcrypt cost.
pub(crate) struct PasswordHasher {
    cost: u32,
    min_strength: u8,
    dummy: String,
    threads: HashThreads,
}

/// The result of a password check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PasswordCheck {
    Mismatch,
    Match,
    /// The password matches, but the stored hash has a lower cost than configured. This is its replacement.
    MatchNeedsRehash(String),
}

impl PasswordHasher {
    /// Returns a hasher with the configured cost and strength.
    pub(crate) fn new(config: &PasswordConfig) -> Self {
        Self {
            cost: config.bcrypt_cost,
            min_strength: config.min_strength,
            dummy: dummy_hash(config.bcrypt_cost),
            threads: HashThreads::new(),
        }
    }

    /// Hashes a new password. `words` are those of its owner, which add no strength (see [`own_words`]).
    ///
    /// # Errors
    /// [`Error::WeakPassword`] if it is one of the most common passwords, or easier to guess than the configuration allows.
    pub(crate) async fn hash(
        &self,
        password: Password,
        words: Vec<String>,
    ) -> Result<String, Error> {
        let (cost, min_strength) = (self.cost, self.min_strength);
        self.threads
            .run(move || {
                let is_easy = || min_strength > 0 && strength(&password, &words) < min_strength;
                if common::is_common(&password) || is_easy() {
                    return Err(Error::WeakPassword);
                }
                hash(&password, cost)
            })
            .await
    }

    /// Verifies a password against the stored hash, or against a dummy of the same cost if there is no account. A mismatch
    /// takes one full bcrypt of the configured cost, whatever is stored.
    pub(crate) async fn verify(
        &self,
        password: Password,
        stored: Option<String>,
    ) -> Result<PasswordCheck, Error> {
        let known = stored.is_some();
        let stored = stored.unwrap_or_else(|| self.dummy.clone());
        let cost = self.cost;
        self.threads
            .run(move || {
                let matches = bcrypt::verify(password.as_bytes(), &stored)
                    .map_err(|error| Error::internal("bcrypt", error))?;
                let stored_cost = stored
                    .parse::<bcrypt::HashParts>()
                    .map_or(cost, |parts| parts.get_cost());
                if !(matches && known && password.is_hashable()) {
                    spend_the_rest(&password, stored_cost, cost)?;
                    return Ok(PasswordCheck::Mismatch);
                }
                if stored_cost < cost {
                    return hash(&password, cost).map(PasswordCheck::MatchNeedsRehash);
                }
                Ok(PasswordCheck::Match)
            })
            .await
    }
}

/// Returns the words that an attacker tries first: username, e-mail address, and the parts of both.
pub(crate) fn own_words(username: &str, email: Option<&str>) -> Vec<String> {
    let email = email.unwrap_or_default();
    let local = email.split('@').next().unwrap_or_default();
    let parts = [username, local].into_iter().flat_map(|name| {
        let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
        parts.filter(|part| part.len() > 2)
    });
    [username, email, local]
        .into_iter()
        .chain(parts)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the strength, from 0 (guessed at once) to 4. The caller ensures that the password has at most 72 bytes.
fn strength(password: &Password, words: &[String]) -> u8 {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    zxcvbn(password.as_str(), &words).score().into()
}

fn hash(password: &Password, cost: u32) -> Result<String, Error> {
    // The length is checked earlier. The non-truncating call refuses exactly 72 bytes, which are allowed.
    bcrypt::hash(password.as_bytes(), cost).map_err(|error| Error::internal("bcrypt", error))
}

/// Spends the time by which a check at `cost` takes longer than the check at `spent`. Otherwise, a quick refusal would
/// reveal that an account has a hash of a lower cost. Each cost doubles the time, so the costs from `spent` to below `cost`
/// add up to the difference.
fn spend_the_rest(password: &Password, spent: u32, cost: u32) -> Result<(), Error> {
    (spent..cost).try_for_each(|cost| {
        bcrypt::verify(password.as_bytes(), &dummy_hash(cost))
            .map(drop)
            .map_err(|error| Error::internal("bcrypt", error))
    })
}

/// Returns a well-formed hash that matches no password, because salt and digest do not belong together.
fn dummy_hash(cost: u32) -> String {
    format!(
        "$2b${cost:02}${}{}",
        "K".repeat(21) + "O",
        "d".repeat(30) + "u"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn hasher(bcrypt_cost: u32) -> PasswordHasher {
        let config = PasswordConfig {
            bcrypt_cost,
            ..PasswordConfig::default()
        };
        PasswordHasher::new(&config)
    }

    #[tokio::test]
    async fn a_hash_of_a_lower_cost_is_upgraded_and_the_dummy_hash_never_matches() {
        let weak = hasher(4);
        let strong = hasher(5);
        let password = Password::parse_new("correct horse").unwrap();
        let stored = weak.hash(password.clone(), Vec::new()).await.unwrap();
        assert_eq!(
            weak.verify(password.clone(), Some(stored.clone()))
                .await
                .unwrap(),
            PasswordCheck::Match
        );
        let PasswordCheck::MatchNeedsRehash(better) =
            strong.verify(password.clone(), Some(stored)).await.unwrap()
        else {
            panic!("not upgraded");
        };
        assert_eq!(
            strong.verify(password.clone(), Some(better)).await.unwrap(),
            PasswordCheck::Match
        );
        assert_eq!(
            strong.verify(password, None).await.unwrap(),
            PasswordCheck::Mismatch
        );
    }

    #[tokio::test]
    async fn a_password_longer_than_bcrypt_reads_never_matches() {
        let hasher = hasher(4);
        let stored = hasher
            .hash(Password::parse_new(&"x".repeat(72)).unwrap(), Vec::new())
            .await
            .unwrap();
        use PasswordCheck::{Match, Mismatch};
        for (length, expected) in [(72, Match), (73, Mismatch), (71, Mismatch)] {
            let password = Password::from_input(&"x".repeat(length));
            let check = hasher.verify(password, Some(stored.clone())).await.unwrap();
            assert_eq!(check, expected, "{length}");
        }
    }

    #[test]
    fn guessable_passwords_and_the_owners_names_are_weak() {
        let of = |text: &str| {
            let words = own_words("ada-lovelace", Some("countess.a@example.com"));
            strength(&Password::parse_new(text).unwrap(), &words)
        };
        assert_eq!(of("password"), 0);
        assert!(of("ada-lovelace") < 2);
        assert!(of("lovelace1") < 2);
        assert!(of("countess.a@example.com") < 2);
        assert_eq!(of("vqzr ninth lamp oyster"), 4);
    }

    #[test]
    fn the_strength_of_the_longest_passwords_is_computed_quickly() {
        let started = std::time::Instant::now();
        for text in ["a".repeat(72), "qwerty12".repeat(9), "1l!I|0oO".repeat(9)] {
            strength(
                &Password::parse_new(&text).unwrap(),
                &own_words("ada", None),
            );
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }
}
