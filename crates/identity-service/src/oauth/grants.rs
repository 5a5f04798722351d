//! Opens sessions for OAuth clients, in exchange for an authorization code or an approved device.

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
    /// Whether the client runs in the browser of that session, and can sign out with it.
    pub(crate) in_browser: bool,
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
    if grant.in_browser {
        session = session.authorized_by(&grant.authorized_by);
    }
    let (auth_time, nonce) = (grant.auth_time, grant.nonce.clone());
    let opened = app
        .transact(&context.clone().with_actor(grant.user_id), move |tx| {
            let user_id = grant.user_id;
            // The lock comes first, as in every change of the account's sessions. A concurrent global sign-out, revocation
            // or deactivation then finds the new session and ends it.
            let account = accounts::queries::lock_active(tx.db, user_id)?;
            let is_unrevoked = sessions::queries::is_unrevoked(tx.db, &grant.authorized_by)?;
            let (Some(account), true) = (account, is_unrevoked) else {
                return Ok(OpenResult::SignInOver);
            };
            if !use_up(tx, &session.id)? {
                return Ok(OpenResult::UsedBefore);
            }
            let ancestors = sessions::queries::list_ancestors(tx.db, &grant.authorized_by)?;
            let session = session.ending_with(ancestors);
            sessions::end_excess_sessions(tx, user_id, &session)?;
            sessions::queries::insert_session(tx.db, user_id, &session)?;
            let entry =
                NewAuditEntry::on(AuditAction::ACCESS_GRANTED, user_id).session(&session.id);
            tx.audit(&entry.details(json!({
                "client_id": grant.client.id, "scope": scope.to_string(), "by": grant.by,
            })))?;
            Ok(OpenResult::Yes(Box::new((account, session))))
        })
        .await?;
    match opened {
        OpenResult::Yes(opened) => {
            let (account, session) = *opened;
            Ok(Some(GrantedSession {
                account,
                session,
                scope,
                auth_time,
                nonce,
            }))
        }
        OpenResult::UsedBefore => Ok(None),
        OpenResult::SignInOver => Err(OAuthError::invalid_grant(
            "The sign-in that gave consent has ended",
        )),
    }
}

enum OpenResult {
    Yes(Box<(AccountRow, NewSession)>),
    UsedBefore,
    SignInOver,
}
