//! The end of clients, and of all that was given to them.

use std::collections::BTreeMap;

use auth_types::UserId;
use serde_json::json;

use super::queries;
use crate::app::App;
use crate::audit::{Action, Entry};
use crate::change::Change;
use crate::error::Error;
use crate::oauth::consents;
use crate::origin::{Origin, Via};
use crate::sessions;

/// Sessions that are ended, or consents that are removed, in one transaction: few enough that nobody waits for it.
const BATCH: u16 = 200;

/// Deletes a client with its codes, consents and device authorizations; false when there is none. Its
/// sessions outlive this transaction: [`end_sessions`] is to follow. No new ones come about, because each
/// begins with a row that goes with the client.
pub(crate) fn delete(change: &mut Change<'_>, id: &str) -> Result<bool, Error> {
    while end_some_consents(change, id)? > 0 {}
    if !queries::delete(change.db, id)? {
        return Ok(false);
    }
    change.client_changed(id);
    change.audit(&Entry::new(Action::CLIENT_DELETED).details(json!({ "client_id": id })))?;
    Ok(true)
}

/// Takes back what accounts allowed a client, batch after batch, so that [`delete`] finds little left of it.
pub(crate) async fn end_consents(app: &App, id: &str, origin: &Origin) -> Result<(), Error> {
    loop {
        let id = id.to_owned();
        let batch = app.change(origin, move |change| end_some_consents(change, &id));
        if batch.await? < usize::from(BATCH) {
            return Ok(());
        }
    }
}

/// Ends every session of a client, batch after batch; how many.
pub(crate) async fn end_sessions(app: &App, id: &str, origin: &Origin) -> Result<usize, Error> {
    // The sign-in that asks may be one of those that end.
    let origin = Origin {
        standing: None,
        ..origin.clone()
    };
    let mut ended = 0;
    loop {
        let id = id.to_owned();
        let batch = app
            .change(&origin, move |change| end_batch(change, &id))
            .await?;
        ended += batch;
        if batch < usize::from(BATCH) {
            return Ok(ended);
        }
    }
}

/// Ends what is left of clients whose deletion was interrupted; how many sessions.
pub(crate) async fn end_orphaned_sessions(app: &App) -> Result<usize, Error> {
    let gone = app.read(queries::list_gone).await?;
    let mut ended = 0;
    for id in gone {
        ended += end_sessions(app, &id, &Origin::local(Via::System)).await?;
    }
    Ok(ended)
}

fn end_some_consents(change: &mut Change<'_>, id: &str) -> Result<usize, Error> {
    let users = consents::queries::delete_some(change.db, id, BATCH.into())?;
    for user_id in &users {
        change.client_shut_out(*user_id, id)?;
    }
    Ok(users.len())
}

fn end_batch(change: &mut Change<'_>, id: &str) -> Result<usize, Error> {
    let now = change.now.naive_utc();
    let ended = sessions::queries::revoke_of_client(change.db, id, BATCH.into(), now)?;
    let count = ended.len();
    let mut by_user: BTreeMap<UserId, Vec<String>> = BTreeMap::new();
    for (sid, user_id) in ended {
        let details = json!({ "reason": "client_deleted", "client_id": id });
        let entry = Entry::on(Action::SIGNED_OUT, user_id);
        change.audit(&entry.session(&sid).details(details))?;
        by_user.entry(user_id).or_default().push(sid);
    }
    for (user_id, sids) in by_user {
        change.end_descendants_and_publish(user_id, &sids)?;
    }
    Ok(count)
}
