use auth_types::wire::{ExistenceAnswer, ExistenceQuestion};
use db_kit::Db;
use secrecy::ExposeSecret;

use crate::app::App;
use crate::error::Error;
use crate::teams::model::effective_role;
use crate::{accounts, teams};

/// Answers a sealed question.
///
/// # Errors
/// [`Error::Forbidden`] when no part of the product has sealed it.
pub(super) async fn answer(app: &App, sealed: &str) -> Result<ExistenceAnswer, Error> {
    let opened = app.mails.open(ExistenceQuestion::SEAL_CONTEXT, sealed).ok();
    let question = opened.and_then(|it| serde_json::from_slice(it.expose_secret()).ok());
    let question = question.ok_or(Error::Forbidden(
        "the question is not sealed by a part of this product",
    ))?;
    app.pool.read(move |db| look(db, question)).await
}

fn look(db: &mut Db, question: ExistenceQuestion) -> Result<ExistenceAnswer, Error> {
    let ExistenceQuestion { user_id, team_id } = question;
    let mut role = None;
    let exists = match (user_id, team_id) {
        (Some(user), Some(team)) => {
            if let Some((owner, stored)) = teams::queries::find_role(db, team, user)? {
                role = Some(effective_role(owner, user, &stored)?);
            }
            role.is_some()
        }
        (Some(user), None) => accounts::queries::find_account(db, user)?.is_some(),
        (None, Some(team)) => teams::queries::find_team(db, team)?.is_some(),
        (None, None) => false,
    };
    Ok(ExistenceAnswer { exists, role })
}
