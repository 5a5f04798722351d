use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::{FromRequest, HttpRequest};
use service_kit::http::UnreadBody;
use url::form_urlencoded;

use super::error::OAuthError;

/// The maximum size of a form, in bytes. No request of a client needs more.
const MAX_FORM_BYTES: usize = 64 * 1024;
const MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

/// The parameters that the endpoints read. All others are ignored (RFC 6749 section 3.2), even if repeated.
const KNOWN: [&str; 11] = [
    "access_token",
    "client_id",
    "client_secret",
    "code",
    "code_verifier",
    "device_code",
    "grant_type",
    "redirect_uri",
    "refresh_token",
    "scope",
    "token",
];

/// The parameters of a form that an OAuth client posts. A parameter without a value counts as absent (RFC 6749
/// section 3.2).
pub(crate) struct OAuthForm(BTreeMap<String, String>);

impl OAuthForm {
    /// Parses a form body.
    ///
    /// # Errors
    /// `invalid_request` if a known parameter is repeated, is not UTF-8, or contains a NUL character.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, OAuthError> {
        let mut fields = BTreeMap::new();
        let parameters = form_urlencoded::parse(body);
        for (name, value) in parameters.filter(|(name, _)| KNOWN.contains(&name.as_ref())) {
            let refuse =
                |why: &str| OAuthError::invalid_request(format!("The parameter {name} {why}"));
            if value.contains(['\0', char::REPLACEMENT_CHARACTER]) {
                return Err(refuse("is not UTF-8, or contains a NUL character"));
            }
            // Two programs could read a repeated parameter differently.
            if fields.contains_key(&*name) {
                return Err(refuse("is given twice"));
            }
            fields.insert(name.into_owned(), value.into_owned());
        }
        fields.retain(|_, value| !value.is_empty());
        Ok(Self(fields))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a required parameter.
    ///
    /// # Errors
    /// `invalid_request`, with the parameter's name, if it is missing.
    pub(crate) fn require(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name)
            .ok_or_else(|| OAuthError::invalid_request(format!("The parameter {name} is missing")))
    }
}

/// Prints only the names, because the values are secrets.
impl fmt::Debug for OAuthForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl FromRequest for OAuthForm {
    type Error = OAuthError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, OAuthError>>>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = UnreadBody::from_request(req, payload);
        Box::pin(async move {
            let Ok(body) = body.await;
            if !is_form(body.headers()) {
                return Err(OAuthError::invalid_request(
                    "The request must have the header Content-Type: application/x-www-form-urlencoded",
                ));
            }
            Self::parse(&body.bytes(MAX_FORM_BYTES).await?)
        })
    }
}

/// Whether the request has a form, by its media type.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    value
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case(MEDIA_TYPE))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn empty_parameters_are_absent_and_doubled_or_malformed_ones_refused() {
        let form = OAuthForm::parse(b"code=a%2Bb+c&scope=&token").unwrap();
        assert_eq!(form.get("code"), Some("a+b c"));
        assert_eq!((form.get("scope"), form.get("token")), (None, None));
        let error = form.require("scope").unwrap_err();
        assert!(error.to_string().contains("scope"), "{error}");
        for doubled in [&b"code=a&code=a"[..], b"code=&code=a", b"c%6Fde=a&code=b"] {
            let error = OAuthForm::parse(doubled).unwrap_err();
            assert_eq!(error.code(), "invalid_request");
            assert!(
                error
                    .to_string()
                    .contains("The parameter code is given twice"),
                "{error}"
            );
        }
        for bad in [&b"code=%00"[..], b"code=%FF", b"code=\xff"] {
            let error = OAuthForm::parse(bad).unwrap_err();
            assert_eq!(error.code(), "invalid_request", "{bad:?}");
            let named = "The parameter code is not UTF-8";
            assert!(error.to_string().contains(named), "{error}");
        }
        for unknown in [&b"code=a&x=1&x=2"[..], b"code=a&x=%00", b"code=a&%00=1&%ff"] {
            let form = OAuthForm::parse(unknown).unwrap();
            assert_eq!(form.get("code"), Some("a"), "{unknown:?}");
        }
    }

    #[test]
    fn the_debug_output_of_a_form_hides_its_values() {
        let form = OAuthForm::parse(b"client_secret=hunter2").unwrap();
        let text = format!("{form:?}");
        assert!(text.contains("client_secret") && !text.contains("hunter2"));
    }
}
