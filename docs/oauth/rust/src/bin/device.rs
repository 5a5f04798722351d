//! Signs a user in on a device without a browser: the device flow (RFC 8628), with a public client.

use std::env;
use std::error::Error;
use std::thread;

use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClient, CoreClientAuthMethod,
    CoreDeviceAuthorizationResponse, CoreGrantType, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreResponseMode,
    CoreResponseType, CoreSubjectIdentifierType, CoreUserInfoClaims,
};
use openidconnect::{
    AdditionalProviderMetadata, ClientId, DeviceAuthorizationUrl, IssuerUrl, OAuth2TokenResponse,
    ProviderMetadata, Scope,
};
use serde::{Deserialize, Serialize};

/// Endpoints in Holdfast's metadata that openidconnect does not read by itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Endpoints {
    device_authorization_endpoint: DeviceAuthorizationUrl,
}

impl AdditionalProviderMetadata for Endpoints {}

type Holdfast = ProviderMetadata<
    Endpoints,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

fn main() -> Result<(), Box<dyn Error>> {
    let issuer = IssuerUrl::new(env::var("HOLDFAST")?)?;
    let http = reqwest::blocking::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let holdfast = Holdfast::discover(&issuer, &http)?;
    let endpoint = holdfast
        .additional_metadata()
        .device_authorization_endpoint
        .clone();
    let client_id = ClientId::new(env::var("CLIENT_ID")?);
    let client = CoreClient::from_provider_metadata(holdfast, client_id, None)
        .set_device_authorization_url(endpoint);

    let begun: CoreDeviceAuthorizationResponse = client
        .exchange_device_code()
        .add_scopes(["profile", "sessions:read", "sessions:write"].map(|s| Scope::new(s.into())))
        .request(&http)?;
    let (address, code) = (begun.verification_uri(), begun.user_code().secret());
    println!("Open in a browser: {} and enter: {code}", **address);

    let tokens =
        client
            .exchange_device_access_token(&begun)?
            .request(&http, thread::sleep, None)?;
    println!("Granted: {:?}", tokens.scopes());
    let user: CoreUserInfoClaims = client
        .user_info(tokens.access_token().clone(), None)?
        .request(&http)?;
    println!("User: {}", **user.preferred_username().ok_or("no name")?);
    Ok(())
}
