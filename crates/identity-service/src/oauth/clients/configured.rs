//! Applies the clients of the configuration file to the database at each start.

use serde_json::json;

use super::config::ConfiguredClient;
use super::grant_types::GrantTypes;
use super::model::ClientRow;
use super::queries;
use super::{NewClient, deletion};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::request_context::{RequestChannel, RequestContext};
use crate::tokens::SigningAlgorithm;
use crate::transaction::Transaction;

/// Makes the clients match the configuration, and deletes those that it no longer has. The sessions of a deleted client
/// end. So do those of a client that changes its first-party status, because nobody has consented to them, or need to.
pub(crate) async fn apply(app: &App, clients: Vec<ConfiguredClient>) -> Result<(), Error> {
    let context = RequestContext::local(RequestChannel::System);
    let is_rsa = |it: &ConfiguredClient| it.client.id_token_alg == SigningAlgorithm::Rs256;
    if clients.iter().any(is_rsa) {
        app.keys(SigningAlgorithm::Rs256).signing_key().await?;
    }
    for id in app.read(queries::list_configured).await? {
        if clients.iter().all(|client| client.id != id) {
            deletion::end_consents(app, &id, &context).await?;
        }
    }
    let ending = app
        .transact(&context, move |tx| {
            let mut ending = Vec::new();
            let mut gone = queries::list_configured(tx.db)?;
            gone.retain(|id| clients.iter().all(|client| client.id != *id));
            for id in gone {
                let row = queries::find(tx.db, &id)?;
                deletion::delete(tx, &id)?;
                ending.push((id, row));
            }
            for client in &clients {
                if upsert(tx, client)? {
                    ending.push((client.id.clone(), None));
                }
            }
            Ok(ending)
        })
        .await?;
    for (id, deleted) in ending {
        let ended = deletion::end_sessions(app, &id, deleted, &context).await?;
        log::info!("the OAuth client {id} was removed or restricted; {ended} sessions were ended");
    }
    Ok(())
}

/// Writes a client if it is new or changed. Returns whether its sessions must end.
fn upsert(tx: &mut Transaction<'_>, configured: &ConfiguredClient) -> Result<bool, Error> {
    let now = tx.now.naive_utc();
    let before = queries::find(tx.db, &configured.id)?;
    let wanted = &configured.client;
    // A file that omits the grant types keeps the stored ones: the client may use the device flow already.
    let grant_types = match (&wanted.grant_types, &before) {
        (None, Some(row)) => GrantTypes::parse(std::slice::from_ref(&row.grant_types))?,
        (wanted, _) => wanted.clone(),
    };
    let wanted = NewClient {
        grant_types,
        ..wanted.clone()
    };
    let mut client = wanted.into_client(configured.id.clone(), configured.secret_hash.clone(), now);
    client.is_configured = true;
    if let Some(row) = &before {
        (client.created_at, client.updated_at) = (row.created_at, row.updated_at);
        client.pkce_seen = row.pkce_seen.clone();
    }
    let mut row = ClientRow::from(&client);
    if before.as_ref() == Some(&row) {
        return Ok(false);
    }
    row.updated_at = now;
    queries::upsert(tx.db, &row)?;
    tx.client_changed(&row.id);
    let action = match &before {
        Some(_) => AuditAction::CLIENT_CHANGED,
        None => AuditAction::CLIENT_CREATED,
    };
    tx.audit(&NewAuditEntry::new(action).details(json!({ "client_id": row.id })))?;
    Ok(before.is_some_and(|before| before.is_first_party != client.is_first_party))
}
