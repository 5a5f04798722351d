//! Opens sessions for OAuth clients: in exchange for an authorization code or an approved device, or with an ID token.

use auth_types::{ScopeSet, UserId};
use chrono::NaiveDateTime;
use serde_json::json;

use crate::accounts;
use crate::accounts::model::AccountRow;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::error::OAuthError;
use crate::request_context::RequestContext;
use crate::sessions;
use crate::sessions::model::NewSession;
use crate::token_access::{ClientAccess, Grant};
use crate::transaction::Transaction;

/// The access that a user has granted to a client.
pub(crate) struct NewGrant {
    pub(crate) client: OAuthClient,
    pub(crate) user_id: UserId,
    pub(crate) scope: ScopeSet,
    /// The id of the session in which the user granted it.
    pub(crate) authorized_by: String,
    /// Whether the client's session can end with that session: the client runs in its browser.
    pub(crate) ends_with_sign_in: bool,
    /// When the user authenticated in that session.
    pub(crate) auth_time: NaiveDateTime,
    pub(crate) nonce: Option<String>,
    /// The grant type, for the audit log.
    pub(crate) by: &'static str,
}

/// A new session of a client.
pub(crate) struct GrantedSession {
    pub(crate) account: AccountRow,
    pub(crate) session: NewSession,
    pub(crate) scope: ScopeSet,
    pub(crate) auth_time: NaiveDateTime,
    pub(crate) nonce: Option<String>,
}

/// Opens a client's session if `use_up` returns true; it marks the code or device as used in the same transaction.
/// Otherwise returns `None`.
///
/// # Errors
/// `invalid_grant` if the account is inactive, or the session in which the user granted the access has ended.
pub(crate) async fn open(
    app: &App,
    grant: NewGrant,
    context: &RequestContext,
    use_up: impl FnOnce(&mut Transaction<'_>, &str) -> Result<bool, Error> + Send + 'static,
) -> Result<Option<GrantedSession>, OAuthError> {
    match try_open(app, grant, context, use_up).await? {
        OpenResult::Yes(granted) => Ok(Some(*granted)),
        OpenResult::UsedBefore => Ok(None),
        OpenResult::SignInOver => Err(OAuthError::invalid_grant(
            "The sign-in that gave consent has ended",
        )),
    }
}

/// As [`open`], for callers that do not answer at the token endpoint.
pub(crate) async fn try_open(
    app: &App,
    grant: NewGrant,
    context: &RequestContext,
    use_up: impl FnOnce(&mut Transaction<'_>, &str) -> Result<bool, Error> + Send + 'static,
) -> Result<OpenResult, Error> {
    // The client may have lost scopes since the user granted these.
    let scope = grant.scope.intersection(grant.client.allowed_scope());
    let opened = Grant::Client(ClientAccess {
        client_id: grant.client.id.clone(),
        scope,
        is_first_party: grant.client.is_first_party,
    });
    app.rate_limits.check_derived(grant.user_id, &opened)?;
    let session = NewSession::open(opened, app.clock.now_naive(), context);
    let mut session = session.authenticated(grant.auth_time);
    if grant.ends_with_sign_in {
        session = session.authorized_by(&grant.authorized_by);
    }
    app.transact(&context.clone().with_actor(grant.user_id), move |tx| {
        let user_id = grant.user_id;
        // The lock comes first, as in every change of the account's sessions. A concurrent global sign-out, revocation
        // or deactivation then finds the new session and ends it.
        let account = accounts::queries::lock_active(tx.db, user_id)?;
        let has_second_factor = sessions::queries::find_second_factor(tx.db, &grant.authorized_by)?;
        let (Some(account), Some(has_second_factor)) = (account, has_second_factor) else {
            return Ok(OpenResult::SignInOver);
        };
        if !use_up(tx, &session.id)? {
            return Ok(OpenResult::UsedBefore);
        }
        let ancestors = sessions::queries::list_ancestors(tx.db, &grant.authorized_by)?;
        let mut session = session.ending_with(ancestors);
        session.has_second_factor = has_second_factor;
        sessions::end_excess_sessions(tx, user_id, &session)?;
        sessions::queries::insert_session(tx.db, user_id, &session)?;
        let entry = NewAuditEntry::on(AuditAction::ACCESS_GRANTED, user_id).session(&session.id);
        tx.audit(&entry.details(json!({
            "client_id": grant.client.id, "scope": scope.to_string(), "by": grant.by,
        })))?;
        Ok(OpenResult::Yes(Box::new(GrantedSession {
            account,
            session,
            scope,
            auth_time: grant.auth_time,
            nonce: grant.nonce,
        })))
    })
    .await
}

/// The outcome of opening a client's session.
pub(crate) enum OpenResult {
    Yes(Box<GrantedSession>),
    /// The code or device was used before.
    UsedBefore,
    /// The account is inactive, or the session in which the user granted the access has ended.
    SignInOver,
}
