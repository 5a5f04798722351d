use auth_types::UserId;
use auth_types::wire::{Contact, ExistenceAnswer, ExistenceQuestion};
use db_kit::Db;
use secrecy::ExposeSecret;
use service_kit::seal::Sealer;

use crate::app::App;
use crate::error::Error;
use crate::teams::model::effective_role;
use crate::{accounts, sessions, teams};

/// Responds to a sealed request.
///
/// # Errors
/// [`Error::Forbidden`] if no service of the product has sealed it.
pub(super) async fn check_existence(app: &App, sealed: &str) -> Result<ExistenceAnswer, Error> {
    let opened = app
        .sealers
        .questions
        .open(ExistenceQuestion::SEAL_CONTEXT, sealed)
        .ok();
    let question = opened.and_then(|it| serde_json::from_slice(it.expose_secret()).ok());
    let question = question.ok_or(Error::Forbidden(
        "the request was not sealed by a service of this product",
    ))?;
    let sealer = app.sealers.questions.clone();
    app.pool
        .read(move |db| find_existence(db, &sealer, question))
        .await
}

fn find_existence(
    db: &mut Db,
    sealer: &Sealer,
    question: ExistenceQuestion,
) -> Result<ExistenceAnswer, Error> {
    let (user_id, team_id) = (question.user_id, question.team_id);
    let mut role = None;
    let mut exists = match (user_id, team_id) {
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
    if let Some(session_id) = question.session_id {
        exists = sessions::queries::is_unrevoked(db, &session_id)?;
    }
    let whom = match team_id {
        Some(team) => teams::queries::find_team(db, team)?.map(|team| team.owner_id),
        None => user_id,
    };
    let contact = match whom {
        Some(whom) => contact(db, sealer, whom)?,
        None => None,
    };
    Ok(ExistenceAnswer {
        exists,
        role,
        contact,
    })
}

fn contact(db: &mut Db, sealer: &Sealer, whom: UserId) -> Result<Option<String>, Error> {
    let account = accounts::queries::find_account(db, whom)?;
    let Some(account) = account.filter(|account| account.email_verified) else {
        return Ok(None);
    };
    let (username, email) = (account.username, account.email);
    let plain = serde_json::to_vec(&Contact { username, email });
    let plain = plain.map_err(|cause| Error::internal("writing a contact", cause))?;
    let sealed = sealer.seal(Contact::SEAL_CONTEXT, &plain);
    Ok(Some(sealed.map_err(|cause| {
        Error::internal("sealing a contact", cause)
    })?))
}
