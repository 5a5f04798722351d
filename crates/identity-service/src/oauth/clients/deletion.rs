//! The deletion of clients, with their consents and sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use auth_types::{Scope, UserId};
use serde_json::json;

use super::model::ClientRow;
use super::queries;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::oauth::consents;
use crate::request_context::{RequestChannel, RequestContext};
use crate::sessions;
use crate::sessions::queries::ClientSession;
use crate::transaction::Transaction;

/// How many sessions or consents one transaction ends. Small batches keep others from waiting.
const BATCH: u16 = 200;

/// Deletes a client with its codes, consents and device authorizations. Returns false if there is none. Its sessions remain
/// until the caller ends them with [`end_sessions`]. No new ones start, because each needs a row that is deleted with the
/// client.
pub(crate) fn delete(tx: &mut Transaction<'_>, id: &str) -> Result<bool, Error> {
    while end_some_consents(tx, id)? > 0 {}
    if !queries::delete(tx.db, id)? {
        return Ok(false);
    }
    tx.client_changed(id);
    tx.audit(&NewAuditEntry::new(AuditAction::CLIENT_DELETED).details(json!({ "client_id": id })))?;
    Ok(true)
}

/// Deletes the consents for a client in batches, so that [`delete`] finds few.
pub(crate) async fn end_consents(
    app: &App,
    id: &str,
    context: &RequestContext,
) -> Result<(), Error> {
    loop {
        let id = id.to_owned();
        let batch = app.transact(context, move |tx| end_some_consents(tx, &id));
        if batch.await? < usize::from(BATCH) {
            return Ok(());
        }
    }
}

/// Ends every session of a client in batches. Returns their number. `deleted` is the row of a deleted client, which is called
/// if it has a back-channel logout address.
pub(crate) async fn end_sessions(
    app: &App,
    id: &str,
    deleted: Option<ClientRow>,
    context: &RequestContext,
) -> Result<usize, Error> {
    let deleted = deleted.map(Arc::new);
    // The caller's own session may be among those that end, so it is not checked.
    let context = RequestContext {
        session_check: None,
        ..context.clone()
    };
    let mut ended = 0;
    loop {
        let (id, deleted) = (id.to_owned(), deleted.clone());
        let batch = app.transact(&context, move |tx| end_batch(tx, &id, deleted.as_deref()));
        let batch = batch.await?;
        ended += batch;
        if batch < usize::from(BATCH) {
            return Ok(ended);
        }
    }
}

/// Ends the remaining sessions of clients whose deletion was interrupted. Returns their number. The clients are not called,
/// because their addresses are gone.
pub(crate) async fn end_orphaned_sessions(app: &App) -> Result<usize, Error> {
    let gone = app.read(queries::list_gone).await?;
    let mut ended = 0;
    for id in gone {
        let context = RequestContext::local(RequestChannel::System);
        ended += end_sessions(app, &id, None, &context).await?;
    }
    Ok(ended)
}

fn end_some_consents(tx: &mut Transaction<'_>, id: &str) -> Result<usize, Error> {
    let users = consents::queries::delete_some(tx.db, id, BATCH.into())?;
    for user_id in &users {
        tx.publish_client_revoked(*user_id, id)?;
    }
    Ok(users.len())
}

fn end_batch(
    tx: &mut Transaction<'_>,
    id: &str,
    deleted: Option<&ClientRow>,
) -> Result<usize, Error> {
    let now = tx.now.naive_utc();
    let ended = sessions::queries::revoke_of_client(tx.db, id, BATCH.into(), now)?;
    let count = ended.len();
    let mut by_user: BTreeMap<UserId, Vec<String>> = BTreeMap::new();
    for (sid, user_id, scope) in ended {
        // The row is gone, so the session is not found together with its client's address.
        if let Some(client) = deleted
            && scope.is_some_and(|scope| scope.contains(Scope::OpenId.as_str()))
        {
            let session = ClientSession {
                id: sid.clone(),
                client_id: client.id.clone(),
                is_unrevoked: false,
                is_offline: false,
                id_token_alg: client.id_token_alg.clone(),
                metadata: client.metadata.clone(),
            };
            tx.request_logout(user_id, session)?;
        }
        let details = json!({ "reason": "client_deleted", "client_id": id });
        let entry = NewAuditEntry::on(AuditAction::SIGNED_OUT, user_id);
        tx.audit(&entry.session(&sid).details(details))?;
        by_user.entry(user_id).or_default().push(sid);
    }
    for (user_id, sids) in by_user {
        tx.end_derived_and_publish(user_id, &sids)?;
    }
    Ok(count)
}
