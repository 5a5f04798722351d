//! The server metadata for clients (RFC 8414, OpenID Connect Discovery).

use auth_types::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use super::claims::ProfileClaims;
use super::id_token;
use crate::app::App;
use crate::tokens::SigningAlgorithm;

/// The metadata of the authorization server and OpenID provider.
#[derive(Serialize, ToSchema)]
pub(crate) struct MetadataResponse {
    /// The issuer, as in the claim `iss` of every token.
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    userinfo_endpoint: String,
    jwks_uri: String,
    revocation_endpoint: String,
    introspection_endpoint: String,
    device_authorization_endpoint: String,
    /// Where a client sends the browser to sign the user out (OpenID Connect RP-Initiated Logout).
    end_session_endpoint: String,
    service_documentation: String,
    scopes_supported: Vec<&'static str>,
    response_types_supported: [&'static str; 2],
    response_modes_supported: [&'static str; 2],
    grant_types_supported: [&'static str; 4],
    subject_types_supported: [&'static str; 1],
    ui_locales_supported: [&'static str; 1],
    /// `1`: a password; `2`: a password and a second factor.
    acr_values_supported: [&'static str; 2],
    id_token_signing_alg_values_supported: [&'static str; 2],
    token_endpoint_auth_methods_supported: [&'static str; 3],
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    introspection_endpoint_auth_methods_supported: [&'static str; 2],
    code_challenge_methods_supported: Vec<&'static str>,
    claims_supported: Vec<&'static str>,
    prompt_values_supported: [&'static str; 5],
    /// Whether authorization responses contain `iss` (RFC 9207).
    authorization_response_iss_parameter_supported: bool,
    /// Whether clients are called when a session ends (OpenID Connect Back-Channel Logout).
    backchannel_logout_supported: bool,
    /// Whether logout tokens contain `sid`.
    backchannel_logout_session_supported: bool,
    claims_parameter_supported: bool,
    request_parameter_supported: bool,
    /// Always `false`; if it were absent, the default would be `true` (OpenID Connect Discovery section 3).
    request_uri_parameter_supported: bool,
}

/// The claims of ID tokens besides those of [`ProfileClaims`].
const ID_TOKEN_CLAIMS: [&str; 12] = [
    "iss",
    "sub",
    "aud",
    "azp",
    "sid",
    "exp",
    "iat",
    "auth_time",
    "acr",
    "amr",
    "nonce",
    "at_hash",
];

const BASIC: &str = "client_secret_basic";
const POST: &str = "client_secret_post";

pub(crate) fn metadata(app: &App) -> MetadataResponse {
    let at = |path: &str| format!("{}{path}", app.base_url);
    MetadataResponse {
        issuer: app.base_url.to_string(),
        authorization_endpoint: at("/api/oauth/authorize"),
        token_endpoint: at("/api/oauth/token"),
        userinfo_endpoint: at("/api/oauth/userinfo"),
        jwks_uri: at("/.well-known/jwks.json"),
        revocation_endpoint: at("/api/oauth/revoke"),
        introspection_endpoint: at("/api/oauth/introspect"),
        device_authorization_endpoint: at("/api/oauth/device_authorization"),
        end_session_endpoint: at(super::logout::routes::PATH),
        service_documentation: at("/docs/"),
        scopes_supported: Scope::ALL
            .into_iter()
            .filter(|scope| *scope != Scope::Account)
            .map(Scope::as_str)
            .collect(),
        response_types_supported: ["code", "id_token"],
        response_modes_supported: ["query", "form_post"],
        grant_types_supported: [
            "authorization_code",
            "refresh_token",
            // That of `response_type=id_token` (OpenID Connect Registration section 2).
            "implicit",
            "urn:ietf:params:oauth:grant-type:device_code",
        ],
        subject_types_supported: ["public"],
        ui_locales_supported: ["en"],
        acr_values_supported: id_token::ACR_VALUES,
        id_token_signing_alg_values_supported: SigningAlgorithm::ALL.map(SigningAlgorithm::as_str),
        token_endpoint_auth_methods_supported: [BASIC, POST, "none"],
        revocation_endpoint_auth_methods_supported: [BASIC, POST, "none"],
        introspection_endpoint_auth_methods_supported: [BASIC, POST],
        code_challenge_methods_supported: match app.allow_plain_pkce && !app.require_pkce_s256 {
            true => vec!["S256", "plain"],
            false => vec!["S256"],
        },
        claims_supported: [&ID_TOKEN_CLAIMS[..], &ProfileClaims::NAMES[..]].concat(),
        prompt_values_supported: ["none", "login", "consent", "select_account", "create"],
        authorization_response_iss_parameter_supported: true,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        claims_parameter_supported: false,
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
    }
}
