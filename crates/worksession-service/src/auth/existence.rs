use auth_types::wire::{Contact, ExistenceAnswer, ExistenceQuestion, ExistenceRequest};
use reqwest::StatusCode;
use secrecy::ExposeSecret;
use service_kit::seal::Sealer;
use tokio::time::timeout;

use super::IdentityClient;
use super::identity::PATIENCE;

impl IdentityClient {
    /// What the identity service itself says of an account, a team or a membership: events are only what somebody who may
    /// publish says.
    ///
    /// # Errors
    /// Why there is no answer, for the log.
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
                .map_err(|cause| format!("the identity service's answer: {cause}")),
            Ok(Ok((status, _))) => Err(format!("the identity service answered {status}")),
            Ok(Err(cause)) => Err(format!("the identity service: {cause}")),
            Err(_) => Err("the identity service gave no answer in time".to_owned()),
        }
    }

    /// Whom to write to about an account or a team.
    ///
    /// # Errors
    /// Why there is no answer, for the log.
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
        // serde's message would quote what it stumbled over.
        serde_json::from_slice(plain.expose_secret())
            .map_err(|_| "the identity service's contact is none".to_owned())
    }
}
