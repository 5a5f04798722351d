use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use db_kit::DbError;
use secrecy::ExposeSecret as _;
use serde_json::json;
use service_kit::crypto::random_token;
use uuid::Uuid;

use super::model::{ClientRow, ClientWithSecret, OAuthClient, hash_secret};
use super::{ClientChanges, NewClient, deletion, queries};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::tokens::SigningAlgorithm;

pub(crate) use super::authentication::{authenticate, authenticate_known};
pub(crate) use super::lookup::{find_client, find_known_client};

/// The maximum number of clients in an installation. Lists contain all of them.
const MAX_CLIENTS: u16 = 1_000;

/// How long the origins are remembered while the change feed is down. Each request of a browser asks for them.
const ORIGINS_MAX_AGE: TimeDelta = TimeDelta::seconds(1);
/// The longest wait for a request that reads the origins.
const ORIGINS_MAX_WAIT: Duration = Duration::from_secs(5);

/// Returns the origins of all clients' redirect URIs, from the cache while the change feed is alive. Otherwise they are read
/// once a second.
pub(crate) async fn list_origins(app: &App) -> Result<Arc<HashSet<String>>, Error> {
    let ticket = app.cache.ticket();
    if let Some(origins) = ticket.and_then(|ticket| app.cache.origins(ticket)) {
        return Ok(origins);
    }
    if let Some(ticket) = ticket {
        let origins = read_origins(app).await?;
        app.cache.insert_origins(ticket, &origins);
        return Ok(origins);
    }
    // One request reads for all that wait.
    let mut remembered = tokio::time::timeout(ORIGINS_MAX_WAIT, app.origins.lock())
        .await
        .map_err(|_| DbError::Busy)?;
    let now = app.clock.now_naive();
    if let Some((at, origins)) = &*remembered
        && *at <= now
        && now - *at < ORIGINS_MAX_AGE
    {
        return Ok(Arc::clone(origins));
    }
    let origins = read_origins(app).await?;
    *remembered = Some((now, Arc::clone(&origins)));
    Ok(origins)
}

async fn read_origins(app: &App) -> Result<Arc<HashSet<String>>, Error> {
    let clients = list(app).await?;
    let origins: HashSet<String> = clients.iter().flat_map(OAuthClient::origins).collect();
    Ok(Arc::new(origins))
}

/// Returns a client for an administrator.
pub(crate) async fn get(app: &App, id: &str) -> Result<OAuthClient, Error> {
    find_client(app, id).await?.ok_or(Error::ClientNotFound)
}

/// Lists all clients, oldest first.
pub(crate) async fn list(app: &App) -> Result<Vec<OAuthClient>, Error> {
    let rows = app.read(|db| queries::list(db, MAX_CLIENTS.into())).await?;
    rows.into_iter().map(OAuthClient::try_from).collect()
}

/// Registers a client. A confidential client gets a secret.
pub(crate) async fn create(
    app: &App,
    new: NewClient,
    context: &RequestContext,
) -> Result<ClientWithSecret, Error> {
    if new.id_token_alg == SigningAlgorithm::Rs256 {
        // The key is generated now, so that every replica has published it before the first ID token is verified.
        app.keys(SigningAlgorithm::Rs256).signing_key().await?;
    }
    let secret = (!new.is_public).then(random_token);
    let now = app.clock.now_naive();
    let hash = secret.as_ref().map(|it| hash_secret(it.expose_secret()));
    let client = new.into_client(Uuid::new_v4().to_string(), hash, now);
    let row = ClientRow::from(&client);
    app.transact(context, move |tx| {
        if queries::count(tx.db)? >= MAX_CLIENTS.into() {
            return Err(Error::Validation("there are already 1,000 clients".into()));
        }
        queries::insert(tx.db, &row)?;
        tx.client_changed(&row.id);
        let details = json!({ "client_id": row.id, "is_first_party": row.is_first_party });
        tx.audit(&NewAuditEntry::new(AuditAction::CLIENT_CREATED).details(details))
    })
    .await?;
    Ok(ClientWithSecret { client, secret })
}

/// Changes a client. Its sessions and consents stay. A user is asked again only if it requests more than they allowed.
pub(crate) async fn update(
    app: &App,
    id: &str,
    changes: ClientChanges,
    context: &RequestContext,
) -> Result<OAuthClient, Error> {
    let client = get(app, id).await?;
    refuse_configured(&client)?;
    // Every replica publishes the key before it signs.
    app.keys(SigningAlgorithm::Rs256).signing_key().await?;
    app.transact(context, move |tx| {
        let row = queries::lock_registered(tx.db, &client.id)?.ok_or(Error::ClientNotFound)?;
        let (client, changed) = changes.apply(&row.try_into()?, tx.now.naive_utc())?;
        if changed.is_empty() {
            return Ok(client);
        }
        queries::update(tx.db, &ClientRow::from(&client))?;
        tx.client_changed(&client.id);
        let details = json!({ "client_id": client.id, "changed": changed });
        tx.audit(&NewAuditEntry::new(AuditAction::CLIENT_CHANGED).details(details))?;
        Ok(client)
    })
    .await
}

/// Replaces the secret of a client. The old one is refused from now on; tokens stay valid.
pub(crate) async fn rotate_secret(
    app: &App,
    id: &str,
    context: &RequestContext,
) -> Result<ClientWithSecret, Error> {
    let client = get(app, id).await?;
    refuse_configured(&client)?;
    if client.is_public() {
        return Err(Error::Validation("a public client has no secret".into()));
    }
    let secret = random_token();
    let hash = hash_secret(secret.expose_secret());
    let id = client.id.clone();
    let row = app
        .transact(context, move |tx| {
            if !queries::replace_secret(tx.db, &id, &hash, tx.now.naive_utc())? {
                return Err(Error::ClientNotFound);
            }
            tx.client_changed(&id);
            let details = json!({ "client_id": id });
            tx.audit(&NewAuditEntry::new(AuditAction::CLIENT_SECRET_ROTATED).details(details))?;
            queries::find(tx.db, &id)?.ok_or(Error::ClientNotFound)
        })
        .await?;
    Ok(ClientWithSecret {
        client: row.try_into()?,
        secret: Some(secret),
    })
}

/// Deletes a client and ends all its sessions. Returns their number.
pub(crate) async fn delete(app: &App, id: &str, context: &RequestContext) -> Result<usize, Error> {
    let client = get(app, id).await?;
    refuse_configured(&client)?;
    deletion::end_consents(app, &client.id, context).await?;
    let id = client.id.clone();
    app.transact(context, move |tx| match deletion::delete(tx, &id)? {
        true => Ok(()),
        false => Err(Error::ClientNotFound),
    })
    .await?;
    let deleted = Some(ClientRow::from(&client));
    deletion::end_sessions(app, &client.id, deleted, context).await
}

fn refuse_configured(client: &OAuthClient) -> Result<(), Error> {
    match client.is_configured {
        true => Err(Error::Forbidden(
            "this client is defined in the configuration file, and can be changed only there",
        )),
        false => Ok(()),
    }
}
