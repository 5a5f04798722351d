//! The parameters of an authorization request, before validation.

use chrono::{DateTime, Utc};
use url::form_urlencoded;

/// A parameter of this server: the earliest sign-in that is accepted, in milliseconds since the epoch. In the address to
/// which the sign-in page returns, it replaces `prompt=login` and `max_age`, which would demand a sign-in again and again.
/// Callers who set it themselves demand no more than `max_age` can.
pub(super) const SIGNED_IN_AFTER: &str = "signed_in_after";

/// An ID token of the user who is expected to be signed in.
pub(super) const ID_TOKEN_HINT: &str = "id_token_hint";

/// The parameters that this endpoint reads. All others are ignored (RFC 6749 section 3.1), even if repeated.
const KNOWN: [&str; 17] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "nonce",
    "prompt",
    "max_age",
    "login_hint",
    ID_TOKEN_HINT,
    "request",
    "request_uri",
    "registration",
    SIGNED_IN_AFTER,
];

/// The known parameters of a request, in their original order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

/// Why a parameter cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterError {
    /// The parameter is repeated, and programs could read different values (RFC 6749 section 3.1).
    Doubled,
    /// The value has control characters or is not valid UTF-8.
    Garbled,
}

impl Parameters {
    /// Parses a query string or the body of a form.
    pub(crate) fn parse(query: impl AsRef<[u8]>) -> Self {
        Self::parse_known(query, &KNOWN)
    }

    /// Parses the parameters with these names.
    pub(crate) fn parse_known(query: impl AsRef<[u8]>, known: &[&str]) -> Self {
        let known = form_urlencoded::parse(query.as_ref())
            .filter(|(name, _)| known.contains(&name.as_ref()));
        Self(
            known
                .map(|(k, v)| (k.into_owned(), v.into_owned()))
                .collect(),
        )
    }

    /// Returns the value of a parameter. A parameter without a value counts as omitted (RFC 6749 section 3.1).
    pub(super) fn get(&self, name: &str) -> Result<Option<&str>, ParameterError> {
        let mut given = self.0.iter().filter(|(known, _)| known == name);
        let Some((_, value)) = given.next() else {
            return Ok(None);
        };
        if given.next().is_some() {
            return Err(ParameterError::Doubled);
        }
        if value.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER) {
            return Err(ParameterError::Garbled);
        }
        Ok(Some(value.as_str()).filter(|value| !value.is_empty()))
    }

    /// Returns the value of a parameter, or `None` if it is missing or cannot be read.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.get(name).ok().flatten()
    }

    /// Returns the first parameter that cannot be read.
    pub(crate) fn unreadable(&self) -> Option<(&str, ParameterError)> {
        self.0
            .iter()
            .find_map(|(name, _)| Some((name.as_str(), self.get(name).err()?)))
    }

    /// Serializes the parameters as a query string.
    pub(crate) fn query(&self) -> String {
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.0)
            .finish()
    }

    /// Adds `prompt=consent`, so that the user is asked.
    pub(super) fn asking(mut self) -> Self {
        match self.0.iter_mut().find(|(name, _)| name == "prompt") {
            Some((_, words)) if words.split(' ').any(|word| word == "consent") => {}
            Some((_, words)) => *words = format!("{words} consent").trim_start().to_owned(),
            None => self.0.push(("prompt".to_owned(), "consent".to_owned())),
        }
        self
    }

    /// Removes `select_account` from `prompt`, once the user has confirmed their account.
    pub(super) fn with_selected_account(mut self) -> Self {
        for (name, value) in &mut self.0 {
            if name == "prompt" {
                *value = without_words(value, &["select_account"]);
            }
        }
        self
    }

    /// Returns the parameters with which the sign-in or registration page returns. If the user must sign in again, only a
    /// sign-in from `now` on is accepted.
    pub(super) fn after_sign_in(&self, anew: bool, now: DateTime<Utc>) -> Self {
        if !anew {
            return self.clone();
        }
        let kept = self
            .0
            .iter()
            .filter_map(|(name, value)| match name.as_str() {
                "max_age" | SIGNED_IN_AFTER => None,
                "prompt" => {
                    let done = ["login", "select_account", "create"];
                    Some((name.clone(), without_words(value, &done)))
                }
                _ => Some((name.clone(), value.clone())),
            });
        let after = now.timestamp_millis().to_string();
        let kept = kept.chain([(SIGNED_IN_AFTER.to_owned(), after)]);
        Self(kept.collect())
    }
}

fn without_words(text: &str, words: &[&str]) -> String {
    let left = text.split(' ').filter(|word| !words.contains(word));
    left.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_repeated_parameter_is_refused_and_an_empty_one_is_absent() {
        let given =
            Parameters::parse("state=&scope=openid&client_id=a&client_id=a&foo=1&foo=2&nonce=%00");
        assert_eq!(given.get("state"), Ok(None));
        assert_eq!(given.get("scope"), Ok(Some("openid")));
        assert_eq!(given.get("client_id"), Err(ParameterError::Doubled));
        assert_eq!(given.get("nonce"), Err(ParameterError::Garbled));
        assert_eq!(given.get("foo"), Ok(None));
        assert_eq!(
            given.unreadable(),
            Some(("client_id", ParameterError::Doubled))
        );
        let blank_and_not = Parameters::parse("state=&state=x");
        assert_eq!(blank_and_not.get("state"), Err(ParameterError::Doubled));
    }

    #[test]
    fn a_new_sign_in_is_required_only_once() {
        let now = DateTime::from_timestamp_millis(5_000).unwrap_or_default();
        let given =
            Parameters::parse("prompt=login+create+consent&max_age=0&signed_in_after=1&state=x");
        assert_eq!(
            given.after_sign_in(true, now).query(),
            "prompt=consent&state=x&signed_in_after=5000"
        );
        assert_eq!(given.after_sign_in(false, now), given);
        let given = Parameters::parse("prompt=select_account+consent&max_age=0&state=x");
        assert_eq!(
            given.with_selected_account().query(),
            "prompt=consent&max_age=0&state=x"
        );
    }

    proptest! {
        #[test]
        fn the_query_string_round_trips_and_is_plain_ascii(query in "\\PC{0,80}") {
            let query = format!("state={query}&nonce=1");
            let given = Parameters::parse(&query);
            prop_assert_eq!(&Parameters::parse(given.query()), &given);
            prop_assert!(given.query().bytes().all(|b| b.is_ascii_graphic() && b != b'\\'));
        }
    }
}
