use auth_types::UserId;
use event_types::MailText;

use crate::accounts;
use crate::app::App;
use crate::error::Error;
use crate::origin::Origin;

/// Counts a wrong code of who has shown the password. With the one that waiting begins with the account's
/// owner is told: it may be somebody else who has his password.
pub(crate) async fn code_failed(app: &App, user_id: UserId, origin: &Origin) -> Result<(), Error> {
    if !app.limits.code_failed(user_id, app.clock.now()) {
        return Ok(());
    }
    app.change(origin, move |change| {
        let account = accounts::queries::find_account(change.db, user_id)?;
        let Some(account) = account.filter(|account| account.email_verified) else {
            return Ok(());
        };
        let text = MailText::CodesRefused {
            username: account.username,
            at: change.now,
            address: change.origin.address.map(|address| address.to_string()),
            user_agent: change.origin.user_agent.clone(),
        };
        change.mail(&account.email, text)
    })
    .await
}

/// Nobody waits any more who has shown a right one.
pub(crate) fn code_succeeded(app: &App, user_id: UserId) {
    app.limits.code_succeeded(user_id);
}
