use std::sync::Arc;

use auth_types::wire::ExistenceQuestion;
use auth_types::{TeamId, TeamRole};
use db_kit::Db;

use super::pausing::pause_and_publish;
use super::{Hook, LostAccess};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::state::{AppState, State};

/// A hook that was changed, and its team if it is one's.
pub(crate) type Changed = (Hook, Option<TeamId>);

/// Commits a change of the hook that it gives, and then judges once more what the hook was changed with. In this order
/// nothing slips through: whatever is withdrawn before the question is seen by it, and an event about what is withdrawn
/// later finds the hook. It runs to its end even when the client hangs up in between.
///
/// # Errors
/// Those of the change, and what the caller is told when the hook is paused after all.
pub(crate) async fn commit<T: Send + 'static>(
    state: &State,
    caller: &Arc<CurrentUser>,
    change: impl FnOnce(&mut Db) -> Result<(T, Option<Changed>), Error> + Send + 'static,
) -> Result<T, Error> {
    let (state, caller) = (state.clone(), Arc::clone(caller));
    let work = async move {
        let (outcome, changed) = state.pool.write_tx(change).await?;
        state.relay.wake();
        if let Some((hook, team_id)) = changed {
            confirm(&state, &caller, hook, team_id).await?;
        }
        Ok(outcome)
    };
    actix_web::rt::spawn(work).await.map_err(Error::internal)?
}

/// Pauses a hook that was just changed with what is not good any more. The identity service answers this from its database,
/// not from memory.
async fn confirm(
    state: &AppState,
    caller: &CurrentUser,
    hook: Hook,
    team_id: Option<TeamId>,
) -> Result<(), Error> {
    let session_id = caller.session_id.clone();
    // An identity service of an earlier version names no session, so there is nothing to ask about. What somebody made of
    // their own at the product itself does not end with the sign-in.
    let is_sign_in = caller.is_first_party && caller.client_id.is_none();
    if session_id.is_none() || (is_sign_in && team_id.is_none()) {
        return Ok(());
    }
    let user = caller.id;
    let question = ExistenceQuestion {
        user_id: Some(user),
        team_id,
        session_id,
    };
    let refusal = match state
        .identity
        .existence(&state.sealers.questions, &question)
        .await
    {
        Ok(answer) if !answer.exists => Error::AuthenticationRequired,
        Ok(answer) if team_id.is_none() || answer.role >= Some(TeamRole::Admin) => return Ok(()),
        Ok(_) => hook.forbidden(),
        Err(cause) => {
            log::warn!("{hook} is paused: {cause}");
            Error::AuthenticationUnavailable
        }
    };
    let now = state.clock.now();
    let lost = LostAccess::Hook { user, hook };
    let pause = move |db: &mut Db| pause_and_publish(db, &lost, now).map(drop);
    state.pool.write_tx(pause).await?;
    state.relay.wake();
    Err(refusal)
}
