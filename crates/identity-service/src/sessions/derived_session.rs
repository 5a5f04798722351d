//! Derived sessions: opened by another session, without a password.

use serde_json::json;

use super::model::NewSession;
use super::{end_excess_sessions, queries};
use crate::accounts;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::token_access::{ABSOLUTE_LIFE, Grant};

/// Opens a session for `grant`, derived from the caller's. It keeps that sign-in's time of authentication and absolute
/// end: passing a sign-in on makes it neither fresher nor longer.
///
/// # Errors
/// [`Error::RateLimited`], and [`Error::TokenRevoked`] when the caller's session or account ends meanwhile.
pub(crate) async fn open_derived_session(
    app: &App,
    caller: &CurrentUser,
    grant: Grant,
    context: &RequestContext,
) -> Result<NewSession, Error> {
    app.rate_limits.check_derived(caller.account.id, &grant)?;
    let session = NewSession::open(grant, app.clock.now_naive(), context)
        .authenticated(caller.session.authenticated_at)
        .until(caller.session.authenticated_at + ABSOLUTE_LIFE);
    let (id, own) = (caller.account.id, caller.token.session_id.clone());
    app.transact(&context.clone().for_caller(caller), move |tx| {
        // Code that ends all sessions of the account locks this row first: either it finds the new session, or its
        // effect is visible here.
        accounts::queries::lock_account(tx.db, id)?;
        let mut session = session;
        session.has_second_factor =
            queries::find_second_factor(tx.db, &own)?.ok_or(Error::TokenRevoked)?;
        let session = session.ending_with(queries::list_ancestors(tx.db, &own)?);
        end_excess_sessions(tx, id, &session)?;
        queries::insert_session(tx.db, id, &session)?;
        let details = json!({ "kind": session.grant.kind(), "service": session.grant.service() });
        let entry = NewAuditEntry::on(AuditAction::SIGNED_IN, id).session(&session.id);
        tx.audit(&entry.details(details))?;
        Ok(session)
    })
    .await
}
