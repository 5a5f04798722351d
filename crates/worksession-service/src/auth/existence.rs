use auth_types::wire::{Contact, ExistenceAnswer, ExistenceQuestion, ExistenceRequest};
use reqwest::StatusCode;
use secrecy::ExposeSecret;
use service_kit::seal::Sealer;
use tokio::time::timeout;

use super::IdentityClient;
use super::identity::PATIENCE;

impl IdentityClient {
    /// Asks the identity service about an account, team or membership. An event alone is no proof, because anyone with access
    /// to the broker could publish it.
    ///
    /// # Errors
    /// The cause, for the log, when there is no usable response.
    pub(crate) async fn existence(
        &self,
        sealer: &Sealer,
        question: &ExistenceQuestion,
    ) -> Result<ExistenceAnswer, String> {
        let plain = serde_json::to_vec(question).map_err(|cause| cause.to_string())?;
        let sealed = sealer
            .seal(ExistenceQuestion::SEAL_CONTEXT, &plain)
            .map_err(|cause| cause.to_string())?;
        let request = self.http.post(self.existence.clone());
        let asked = async {
            let response = request.json(&ExistenceRequest { sealed }).send().await?;
            Ok::<_, reqwest::Error>((response.status(), response.bytes().await?))
        };
        match timeout(PATIENCE, asked).await {
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
    pub(crate) async fn contact(
        &self,
        sealer: &Sealer,
        question: &ExistenceQuestion,
    ) -> Result<Option<Contact>, String> {
        let Some(sealed) = self.existence(sealer, question).await?.contact else {
            return Ok(None);
        };
        let plain = sealer.open(Contact::SEAL_CONTEXT, &sealed);
        let plain = plain.map_err(|cause| format!("the identity service's contact: {cause}"))?;
        // The message of serde would quote the contact.
        serde_json::from_slice(plain.expose_secret())
            .map_err(|_| "the identity service's contact is unreadable".to_owned())
    }
}
