use super::model::OAuthClient;
use super::queries;
use crate::app::App;
use crate::error::Error;

pub(crate) use super::authentication::authenticate;

/// The client of this id.
pub(crate) async fn find_client(app: &App, id: &str) -> Result<Option<OAuthClient>, Error> {
    let id = id.to_owned();
    let row = app
        .pool
        .read(move |db| Ok::<_, Error>(queries::find(db, &id)?))
        .await?;
    row.map(OAuthClient::try_from).transpose()
}
