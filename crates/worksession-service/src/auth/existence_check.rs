use auth_types::wire::{Contact, ExistenceAnswer, ExistenceQuestion, ExistenceRequest};
use reqwest::StatusCode;
use secrecy::ExposeSecret;
use service_kit::seal::Sealer;
use tokio::time::timeout;

use super::IdentityClient;
use super::identity_client::REQUEST_TIMEOUT;

impl IdentityClient {
    /// Checks whether an account, team or membership still exists. An event alone is no proof, because anyone with access
    /// to the broker could publish it.
    ///
    /// # Errors
    /// The cause, for the log, when there is no usable response.
    pub(crate) async fn check_existence(
        &self,
        sealer: &Sealer,
        question: &ExistenceQuestion,
    ) -> Result<ExistenceAnswer, String> {
        let plain = serde_json::to_vec(question).map_err(|cause| cause.to_string())?;
        let sealed = sealer
            .seal(ExistenceQuestion::SEAL_CONTEXT, &plain)
            .map_err(|cause| cause.to_string())?;
        let request = self.http.post(self.existence_url.clone());
        let response = async {
            let response = request.json(&ExistenceRequest { sealed }).send().await?;
            Ok::<_, reqwest::Error>((response.status(), response.bytes().await?))
        };
        match timeout(REQUEST_TIMEOUT, response).await {
            Ok(Ok((StatusCode::OK, body))) => serde_json::from_slice(&body)
                .map_err(|cause| format!("the identity service's response is unreadable: {cause}")),
            Ok(Ok((status, _))) => Err(format!("the identity service answered {status}")),
            Ok(Err(cause)) => Err(format!("the identity service: {cause}")),
            Err(_) => Err("the identity service did not answer in time".to_owned()),
        }
    }

    /// Returns the contact of an account or of a team's owner; none without a verified address.
    ///
    /// # Errors
    /// The cause, for the log, when there is no usable response.
    pub(crate) async fn request_contact(
        &self,
        sealer: &Sealer,
        question: &ExistenceQuestion,
    ) -> Result<Option<Contact>, String> {
        let Some(sealed) = self.check_existence(sealer, question).await?.contact else {
            return Ok(None);
        };
        let plain = sealer.open(Contact::SEAL_CONTEXT, &sealed);
        let plain = plain.map_err(|cause| format!("the identity service's contact: {cause}"))?;
        // The message of serde would quote the contact.
        serde_json::from_slice(plain.expose_secret())
            .map_err(|_| "the identity service's contact is unreadable".to_owned())
    }
}
