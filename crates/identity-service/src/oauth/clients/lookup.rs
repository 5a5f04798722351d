//! Finds clients by their ids, in the cache or in the database.

use std::sync::Arc;

use super::model::OAuthClient;
use super::queries;
use crate::app::App;
use crate::error::Error;

pub(crate) async fn find_client(app: &App, id: &str) -> Result<Option<OAuthClient>, Error> {
    let id = id.to_owned();
    let row = app.read(move |db| queries::find(db, &id)).await?;
    row.map(OAuthClient::try_from).transpose()
}

/// Returns a client from the cache.
pub(super) fn known_client(app: &App, id: &str) -> Option<Arc<OAuthClient>> {
    app.cache.client(app.cache.ticket()?, id)
}

/// Returns a client from the cache, or else from the database.
pub(crate) async fn find_known_client(
    app: &App,
    id: &str,
) -> Result<Option<Arc<OAuthClient>>, Error> {
    if let Some(client) = known_client(app, id) {
        return Ok(Some(client));
    }
    let ticket = app.cache.ticket();
    let client = find_client(app, id).await?.map(Arc::new);
    if let (Some(ticket), Some(client)) = (ticket, &client) {
        app.cache.insert_client(ticket, client);
    }
    Ok(client)
}
