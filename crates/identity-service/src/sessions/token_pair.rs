use auth_types::wire::TokenPair;

use super::model::NewSession;
use crate::accounts::model::{AccountRow, Viewer};
use crate::app::App;
use crate::error::Error;
use crate::token_access::TokenAccess;
use crate::tokens::refresh_token::RefreshToken;

/// Creates the response of every sign-in and refresh.
pub(crate) async fn token_pair(
    app: &App,
    account: &AccountRow,
    session_id: &str,
    access: &TokenAccess,
    refresh_token: &RefreshToken,
) -> Result<TokenPair, Error> {
    let now = app.clock.now();
    let issued = app.tokens.issue(account.id, session_id, access, now);
    Ok(TokenPair {
        access_token: issued.await?,
        refresh_token: refresh_token.expose(),
        expires_in: app.tokens.expires_in(),
        user: account.to_user(Viewer::from_access(access), now.naive_utc(), &app.base_url)?,
    })
}

impl NewSession {
    /// Creates the response for the client that opened this session.
    pub(crate) async fn token_pair(
        &self,
        app: &App,
        account: &AccountRow,
    ) -> Result<TokenPair, Error> {
        let access = self.grant.access();
        token_pair(app, account, &self.id, &access, &self.refresh_token).await
    }
}
