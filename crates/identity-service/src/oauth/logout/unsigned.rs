use auth_types::UserId;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use service_kit::seal::{SealError, Sealer};

use crate::error::Error;
use crate::oauth::clients::ClientMetadata;
use crate::sessions::queries::ClientSession;

/// A logout call whose tokens are not signed yet. The outbox holds it sealed, in place of the signed one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnsignedLogout {
    pub(super) uri: String,
    /// The algorithm of the client's ID tokens.
    pub(super) algorithm: String,
    pub(super) sub: String,
    pub(super) sid: String,
}

impl UnsignedLogout {
    /// Returns the call for a session, or `None` if its client is not told.
    pub(crate) fn new(user_id: UserId, session: &ClientSession) -> Result<Option<Self>, Error> {
        let metadata: ClientMetadata = serde_json::from_str(&session.metadata)
            .map_err(|error| Error::internal("oauth_clients.metadata", error))?;
        Ok(metadata.backchannel_logout_uri.map(|uri| Self {
            uri,
            algorithm: session.id_token_alg.clone(),
            sub: user_id.to_string(),
            sid: session.id.clone(),
        }))
    }

    pub(crate) fn seal(&self, sealer: &Sealer, client_id: &str) -> Result<String, Error> {
        let plain = serde_json::to_vec(self)
            .map_err(|error| Error::internal("writing a logout call", error))?;
        sealer
            .seal(&context(client_id), &plain)
            .map_err(|error| Error::internal("sealing a logout call", error))
    }

    pub(super) fn open(sealer: &Sealer, client_id: &str, sealed: &str) -> Result<Self, SealError> {
        let plain = sealer.open(&context(client_id), sealed)?;
        serde_json::from_slice(plain.expose_secret()).map_err(|_| SealError::Malformed)
    }
}

/// Another context than that of a signed call, so that none is mistaken for the other.
fn context(client_id: &str) -> String {
    format!("unsigned-logout/{client_id}")
}
