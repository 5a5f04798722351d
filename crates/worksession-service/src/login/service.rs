use auth_types::wire::IdentityError;
use reqwest::StatusCode;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::wire::{Credentials, LoginRequest};
use crate::app_state::AppState;
use crate::auth::{SignInOrigin, SignInResponse};
use crate::error::{Error, RETRY_AFTER};

/// Signs in at the identity service and returns its token pair unchanged.
///
/// # Errors
/// 400 and 401 for the credentials, 429 and 503 with the `Retry-After` of the identity service.
pub(super) async fn login(
    state: &AppState,
    request: LoginRequest,
    origin: &SignInOrigin,
) -> Result<Vec<u8>, Error> {
    let credentials = Credentials::try_from(&request)?;
    let body = serde_json::to_vec(&credentials).map_err(Error::internal)?;
    let response = state.identity.sign_in(body, origin).await;
    classify(response.map_err(|_| Error::AuthenticationUnavailable)?)
}

fn classify(response: SignInResponse) -> Result<Vec<u8>, Error> {
    let retry_after = response.retry_after.unwrap_or(RETRY_AFTER);
    let error = || serde_json::from_slice::<IdentityError>(&response.body).ok();
    match response.status {
        StatusCode::OK if is_token_pair(&response.body) => Ok(response.body),
        StatusCode::BAD_REQUEST => Err(Error::invalid(
            error()
                .and_then(|error| error.error_description)
                .unwrap_or_else(|| "The sign-in request is invalid".to_owned()),
        )),
        StatusCode::UNAUTHORIZED if error().is_some_and(|error| error.error == "totp_required") => {
            Err(Error::TotpRequired)
        }
        StatusCode::UNAUTHORIZED => Err(Error::InvalidCredentials),
        StatusCode::TOO_MANY_REQUESTS => Err(Error::RateLimited { retry_after }),
        status => {
            log::warn!("identity service: a sign-in was answered with {status}");
            Err(Error::SignInsUnavailable { retry_after })
        }
    }
}

/// Whether the body has tokens. Another body with status 200, such as a proxy's page, is not forwarded.
fn is_token_pair(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Pair {
        #[serde(rename = "access_token")]
        _access: String,
        #[serde(rename = "refresh_token")]
        _refresh: String,
        #[serde(rename = "user")]
        _user: IgnoredAny,
    }
    serde_json::from_slice::<Pair>(body).is_ok()
}
