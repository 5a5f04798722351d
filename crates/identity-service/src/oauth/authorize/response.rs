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

/// How a response travels to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseMode {
    Query,
    /// A form that the browser posts (OAuth 2.0 Form Post Response Mode).
    FormPost,
}

/// A response for a client: a code, an ID token or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthorizationResponse {
    pub(super) redirect_uri: Url,
    pub(super) mode: ResponseMode,
    pub(super) fields: Vec<(&'static str, String)>,
}

impl AuthorizationResponse {
    /// Appends the fields to the query that the redirect URI already has (RFC 6749 section 3.1.2).
    pub(super) fn url(&self) -> Url {
        let mut url = self.redirect_uri.clone();
        url.query_pairs_mut().extend_pairs(&self.fields);
        url
    }
}

/// The target of the responses to a request, once its client and redirect URI are known to be valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseRedirect {
    pub(super) redirect_uri: Url,
    pub(super) state: Option<String>,
    pub(super) mode: ResponseMode,
}

impl ResponseRedirect {
    pub(super) fn code(&self, code: &str, issuer: &str) -> AuthorizationResponse {
        self.response(vec![("code", code.to_owned())], issuer)
    }

    pub(super) fn id_token(&self, id_token: String, issuer: &str) -> AuthorizationResponse {
        self.response(vec![("id_token", id_token)], issuer)
    }

    pub(super) fn refusal(
        &self,
        refusal: AuthorizationError,
        issuer: &str,
    ) -> AuthorizationResponse {
        let fields = vec![
            ("error", refusal.code.to_owned()),
            ("error_description", refusal.description.into_owned()),
        ];
        self.response(fields, issuer)
    }

    /// Adds `state`, and `iss`, which keeps a client of several providers from mixing up their responses (RFC 9207).
    pub(super) fn response(
        &self,
        mut fields: Vec<(&'static str, String)>,
        issuer: &str,
    ) -> AuthorizationResponse {
        fields.extend(self.state.clone().map(|state| ("state", state)));
        fields.push(("iss", issuer.to_owned()));
        AuthorizationResponse {
            redirect_uri: self.redirect_uri.clone(),
            mode: self.mode,
            fields,
        }
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
            mode: ResponseMode::Query,
        };
        assert_eq!(
            redirect.code("c", ISSUER).url().as_str(),
            "https://app.example.com/cb?a=%2F+b&code=c&iss=https%3A%2F%2Fid.example.com"
        );
        let native = ResponseRedirect {
            redirect_uri: Url::parse("com.example.app:/cb").unwrap(),
            state: Some("x".to_owned()),
            mode: ResponseMode::Query,
        };
        assert_eq!(
            native
                .refusal(AuthorizationError::new("access_denied", "No"), ISSUER)
                .url()
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
                mode: ResponseMode::Query,
            };
            let address = redirect.code("c", ISSUER).url();
            let pairs: Vec<(String, String)> = address.query_pairs().into_owned().collect();
            let expected = [("code", "c"), ("state", state.as_str()), ("iss", ISSUER)];
            prop_assert_eq!(pairs, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec());
            prop_assert_eq!(address.origin(), redirect.redirect_uri.origin());
            prop_assert_eq!((address.path(), address.fragment()), ("/cb", None));
        }
    }
}
