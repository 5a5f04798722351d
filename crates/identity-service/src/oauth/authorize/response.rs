//! The responses of the authorization endpoint, which the browser brings to the client.

use std::borrow::Cow;

use url::Url;

/// The error that a client gets instead of a code (RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthorizationError {
    pub(crate) code: &'static str,
    pub(crate) description: Cow<'static, str>,
}

impl AuthorizationError {
    pub(super) fn new(code: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        let description = description.into();
        Self { code, description }
    }

    pub(super) fn login_required() -> Self {
        Self::new("login_required", "a new sign-in is required")
    }

    pub(super) fn invalid(description: impl Into<Cow<'static, str>>) -> Self {
        Self::new("invalid_request", description)
    }
}

/// The target of the responses to a request, once its client and redirect URI are known to be valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseRedirect {
    pub(super) redirect_uri: Url,
    pub(super) state: Option<String>,
}

impl ResponseRedirect {
    pub(super) fn code(&self, code: &str, issuer: &str) -> Url {
        self.address(&[("code", code)], issuer)
    }

    pub(super) fn refusal(&self, refusal: AuthorizationError, issuer: &str) -> Url {
        let AuthorizationError { code, description } = refusal;
        self.address(
            &[("error", code), ("error_description", &description)],
            issuer,
        )
    }

    /// Appends to the query that the redirect URI already has (RFC 6749 section 3.1.2). `iss` keeps a client of several
    /// providers from mixing up their responses (RFC 9207).
    fn address(&self, answer: &[(&str, &str)], issuer: &str) -> Url {
        let mut address = self.redirect_uri.clone();
        let mut query = address.query_pairs_mut();
        query.extend_pairs(answer);
        if let Some(state) = &self.state {
            query.append_pair("state", state);
        }
        query.append_pair("iss", issuer);
        drop(query);
        address
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use proptest::prelude::*;

    use super::*;

    const ISSUER: &str = "https://id.example.com";

    #[test]
    fn the_redirect_uri_keeps_its_own_query_and_scheme() {
        let redirect = ResponseRedirect {
            redirect_uri: Url::parse("https://app.example.com/cb?a=%2F+b").unwrap(),
            state: None,
        };
        assert_eq!(
            redirect.code("c", ISSUER).as_str(),
            "https://app.example.com/cb?a=%2F+b&code=c&iss=https%3A%2F%2Fid.example.com"
        );
        let native = ResponseRedirect {
            redirect_uri: Url::parse("com.example.app:/cb").unwrap(),
            state: Some("x".to_owned()),
        };
        assert_eq!(
            native
                .refusal(AuthorizationError::new("access_denied", "No"), ISSUER)
                .as_str(),
            "com.example.app:/cb?error=access_denied&error_description=No&state=x&iss=https%3A%2F%2Fid.example.com"
        );
    }

    proptest! {
        #[test]
        fn a_state_is_returned_unchanged_and_affects_nothing_else(state in "\\PC{1,60}") {
            let redirect = ResponseRedirect {
                redirect_uri: Url::parse("https://app.example.com/cb").unwrap(),
                state: Some(state.clone()),
            };
            let address = redirect.code("c", ISSUER);
            let pairs: Vec<(String, String)> = address.query_pairs().into_owned().collect();
            let expected = [("code", "c"), ("state", state.as_str()), ("iss", ISSUER)];
            prop_assert_eq!(pairs, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec());
            prop_assert_eq!(address.origin(), redirect.redirect_uri.origin());
            prop_assert_eq!((address.path(), address.fragment()), ("/cb", None));
        }
    }
}
