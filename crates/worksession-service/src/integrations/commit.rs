use std::sync::Arc;

use auth_types::wire::ExistenceQuestion;
use auth_types::{TeamId, TeamRole};
use db_kit::Db;

use super::pause::pause_and_publish;
use super::{Integration, LostAccess};
use crate::app_state::{AppState, State};
use crate::auth::CurrentUser;
use crate::error::Error;

/// A changed integration, and the team to which it belongs, if any.
pub(crate) type ChangedIntegration = (Integration, Option<TeamId>);

/// Commits a change of the integration that it returns, and then checks the caller's access again. In this order nothing is
/// missed. The check sees access that is withdrawn before it, and the event about a later withdrawal finds the integration.
/// The task completes even if the client disconnects.
///
/// # Errors
/// The errors of the change, and the error of the check when it pauses the integration.
pub(crate) async fn commit_change<T: Send + 'static>(
    state: &State,
    caller: &Arc<CurrentUser>,
    change: impl FnOnce(&mut Db) -> Result<(T, Option<ChangedIntegration>), Error> + Send + 'static,
) -> Result<T, Error> {
    let (state, caller) = (state.clone(), Arc::clone(caller));
    let task = async move {
        let (outcome, changed) = state.pool.write_tx(change).await?;
        state.relay.wake();
        if let Some((integration, team_id)) = changed {
            verify_creator(&state, &caller, integration, team_id).await?;
        }
        Ok(outcome)
    };
    actix_web::rt::spawn(task).await.map_err(Error::internal)?
}

/// Pauses the changed integration if the caller has lost access. The identity service answers from its database, not from
/// a cache.
async fn verify_creator(
    state: &AppState,
    caller: &CurrentUser,
    integration: Integration,
    team_id: Option<TeamId>,
) -> Result<(), Error> {
    let session_id = caller.session_id.clone();
    // An identity service of an earlier version reports no session, so there is nothing to check. What a user configures for
    // themselves at the product itself does not end with the sign-in.
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
    let identity = &state.identity;
    let check = identity.check_existence(&state.sealers.questions, &question);
    let error = match check.await {
        Ok(answer) if !answer.exists => Error::AuthenticationRequired,
        Ok(answer) if team_id.is_none() || answer.role >= Some(TeamRole::Admin) => return Ok(()),
        Ok(_) => integration.forbidden_error(),
        Err(cause) => {
            log::warn!("{integration} is paused: {cause}");
            Error::AuthenticationUnavailable
        }
    };
    let now = state.clock.now();
    let lost = LostAccess::Integration { user, integration };
    let pause = move |db: &mut Db| pause_and_publish(db, &lost, now).map(drop);
    state.pool.write_tx(pause).await?;
    state.relay.wake();
    Err(error)
}
