//! The optional metadata of a client. Names and meaning are those of RFC 7591 section 2 and of the OpenID Connect logout
//! specifications, where they define them.

use clap::Args;
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use super::redirect_uri;

/// The maximum number of redirect URIs of each kind.
pub(super) const MAX_URIS: usize = 20;
const MAX_URI_CHARS: usize = 2_048;

/// Optional metadata of a client. The database stores it as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Args, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct ClientMetadata {
    /// Home page of the client; the consent page links to it
    #[arg(long, value_name = "URI")]
    pub(crate) client_uri: Option<String>,
    /// Logo of the client, which the consent page shows
    #[arg(long, value_name = "URI")]
    pub(crate) logo_uri: Option<String>,
    /// Privacy policy of the client; the consent page links to it
    #[arg(long, value_name = "URI")]
    pub(crate) policy_uri: Option<String>,
    /// Terms of service of the client; the consent page links to them
    #[arg(long, value_name = "URI")]
    pub(crate) tos_uri: Option<String>,
    /// Addresses to which a sign-out may return, which must match exactly; on loopback any port matches
    #[arg(
        long = "post-logout-redirect-uri",
        value_name = "URI",
        num_args = 1..
    )]
    pub(crate) post_logout_redirect_uris: Vec<String>,
    /// Address that is called when a session of the client ends (OpenID Connect Back-Channel Logout)
    #[arg(long, value_name = "URI")]
    pub(crate) backchannel_logout_uri: Option<String>,
    /// Response types for the authorization endpoint
    #[arg(long = "response-type", value_enum, num_args = 1.., default_values_t = [ResponseType::Code])]
    pub(crate) response_types: Vec<ResponseType>,
    /// Content of the claim `groups`: the slug of each team, or slug and role [default: slug]
    #[arg(long, value_enum)]
    pub(crate) groups_claim: Option<GroupsClaim>,
}

/// A response type of the authorization endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(crate) enum ResponseType {
    /// An authorization code (RFC 6749 section 4.1)
    Code,
    /// An ID token in a form post, without an access token (OpenID Connect Core section 3.2)
    IdToken,
}

/// The content of the claim `groups`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize, ToSchema)]
pub(crate) enum GroupsClaim {
    /// The slugs of the user's teams
    #[serde(rename = "slug")]
    #[value(name = "slug")]
    Slug,
    /// The slugs, each with the user's role: `slug:role`
    #[serde(rename = "slug:role")]
    #[value(name = "slug:role")]
    SlugAndRole,
}

impl Default for ClientMetadata {
    fn default() -> Self {
        Self {
            client_uri: None,
            logo_uri: None,
            policy_uri: None,
            tos_uri: None,
            post_logout_redirect_uris: Vec::new(),
            backchannel_logout_uri: None,
            response_types: vec![ResponseType::Code],
            groups_claim: None,
        }
    }
}

impl ClientMetadata {
    /// Validates the metadata.
    ///
    /// # Errors
    /// A sentence that says which rule is broken.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let pages = [
            &self.client_uri,
            &self.logo_uri,
            &self.policy_uri,
            &self.tos_uri,
        ];
        if !pages.into_iter().flatten().all(|uri| is_https_uri(uri)) {
            return Err(
                "client_uri, logo_uri, policy_uri and tos_uri must be https addresses of at most 2,048 characters",
            );
        }
        if self.response_types.is_empty() || self.response_types.len() > 2 {
            return Err("response_types must be one or both of code and id_token");
        }
        if self.post_logout_redirect_uris.len() > MAX_URIS {
            return Err("a client can have at most 20 post-logout redirect URIs");
        }
        for uri in &self.post_logout_redirect_uris {
            redirect_uri::check(uri)?;
        }
        match &self.backchannel_logout_uri {
            Some(uri) if !is_https_uri(uri) && !is_local_http(uri) => Err(
                "backchannel_logout_uri must be an https address, or http on 127.0.0.1, [::1] or localhost",
            ),
            _ => Ok(()),
        }
    }
}

impl ClientMetadata {
    /// Returns the logo as a source expression of a Content-Security-Policy (CSP 3 section 2.3.1), which has no query.
    pub(crate) fn logo_source(&self) -> Option<String> {
        let url = Url::parse(self.logo_uri.as_deref()?).ok()?;
        // These two separate the parts of a policy.
        let path = url.path().replace(';', "%3B").replace(',', "%2C");
        Some(format!("{}{path}", url.origin().ascii_serialization()))
    }
}

/// Whether this is a plain http address of this machine, for development.
fn is_local_http(uri: &str) -> bool {
    redirect_uri::is_loopback(uri) && redirect_uri::check(uri).is_ok()
}

/// Whether this is an https address without a user, a password or a fragment.
fn is_https_uri(uri: &str) -> bool {
    uri.len() <= MAX_URI_CHARS
        && uri.bytes().all(|byte| byte.is_ascii_graphic())
        && !uri.contains(['\\', '"', '<', '>', '#'])
        && Url::parse(uri).is_ok_and(|url| {
            url.scheme() == "https" && url.username().is_empty() && url.password().is_none()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_safe_addresses_are_accepted() {
        let page = |uri: &str| ClientMetadata {
            logo_uri: Some(uri.to_owned()),
            ..ClientMetadata::default()
        };
        assert_eq!(page("https://app.example.com/logo.png").check(), Ok(()));
        for bad in [
            "http://app.example.com/logo.png",
            "javascript:alert(1)",
            "data:image/png;base64,AA==",
            "//app.example.com/logo.png",
            "https://user@app.example.com/",
            "https://app.example.com/#x",
            "https://app.example.com/\"><script>",
            "",
        ] {
            assert!(page(bad).check().is_err(), "{bad}");
        }
        assert_eq!(
            page("https://Logo.Example:443/a;script-src%20*,b?c;d").logo_source(),
            Some("https://logo.example/a%3Bscript-src%20*%2Cb".to_owned())
        );
        let called = |uri: &str| ClientMetadata {
            backchannel_logout_uri: Some(uri.to_owned()),
            ..ClientMetadata::default()
        };
        for good in ["https://app.example.com/out", "http://127.0.0.1:4000/out"] {
            assert_eq!(called(good).check(), Ok(()), "{good}");
        }
        for bad in ["http://app.example.com/out", "com.example.app:/out"] {
            assert!(called(bad).check().is_err(), "{bad}");
        }
        let after = |uri: &str| ClientMetadata {
            post_logout_redirect_uris: vec![uri.to_owned()],
            ..ClientMetadata::default()
        };
        assert_eq!(after("https://app.example.com/").check(), Ok(()));
        assert!(after("https://*.example.com/").check().is_err());
    }
}
