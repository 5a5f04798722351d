//! The append-only audit log of accounts: sign-ins, failures, revocations, changes of rights.

pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;

use auth_types::UserId;
use serde_json::Value;

/// An action, with its name in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuditAction(&'static str);

impl AuditAction {
    pub(crate) const REGISTERED: Self = Self("account.registered");
    pub(crate) const SIGNED_IN: Self = Self("session.opened");
    pub(crate) const SIGN_IN_FAILED: Self = Self("session.refused");
    pub(crate) const SIGNED_OUT: Self = Self("session.revoked");
    pub(crate) const EXPORTED: Self = Self("account.exported");
    pub(crate) const DELETED: Self = Self("account.deleted");
    pub(crate) const REFRESH_TOKEN_REUSED: Self = Self("session.revoked_by_reuse");
    pub(crate) const TEAM_CREATED: Self = Self("team.created");
    pub(crate) const TEAM_CHANGED: Self = Self("team.changed");
    pub(crate) const TEAM_DELETED: Self = Self("team.deleted");
    pub(crate) const TEAM_HANDED_OVER: Self = Self("team.handed_over");
    pub(crate) const MEMBER_ADDED: Self = Self("team.member_added");
    pub(crate) const MEMBER_REMOVED: Self = Self("team.member_removed");
    pub(crate) const MEMBER_ROLE_CHANGED: Self = Self("team.role_changed");
    pub(crate) const INVITATION_SENT: Self = Self("invitation.sent");
    pub(crate) const INVITATION_ACCEPTED: Self = Self("invitation.accepted");
    pub(crate) const INVITATION_DECLINED: Self = Self("invitation.declined");
    pub(crate) const INVITATION_REVOKED: Self = Self("invitation.revoked");
    pub(crate) const USER_CREATED: Self = Self("user.created");
    pub(crate) const USER_PROMOTED: Self = Self("user.promoted");
    pub(crate) const USER_DEMOTED: Self = Self("user.demoted");
    pub(crate) const USER_PLAN_CHANGED: Self = Self("user.plan_changed");
    pub(crate) const USER_DEACTIVATED: Self = Self("user.deactivated");
    pub(crate) const USER_ACTIVATED: Self = Self("user.activated");
    pub(crate) const USER_PASSWORD_RESET: Self = Self("user.password_reset");
    pub(crate) const KEYS_ROTATED: Self = Self("keys.rotated");
    pub(crate) const KEY_REMOVED: Self = Self("keys.removed");
    pub(crate) const KEYS_RESEALED: Self = Self("keys.resealed");
    pub(crate) const EMAIL_SET: Self = Self("account.email_set");
    /// The correct password without the required code of the second factor.
    pub(crate) const TOTP_MISSING: Self = Self("session.totp_required");
    /// A wrong password or code from a signed-in caller.
    pub(crate) const PASSWORD_REFUSED: Self = Self("password.refused");
    pub(crate) const PASSWORD_CHANGED: Self = Self("password.changed");
    pub(crate) const PASSWORD_RESET_REQUESTED: Self = Self("password.reset_requested");
    pub(crate) const PASSWORD_RESET: Self = Self("password.reset");
    pub(crate) const PASSWORD_RESET_REFUSED: Self = Self("password.reset_refused");
    pub(crate) const EMAIL_CHANGE_REQUESTED: Self = Self("email.change_requested");
    pub(crate) const EMAIL_VERIFIED: Self = Self("email.verified");
    pub(crate) const EMAIL_CHANGED: Self = Self("email.changed");
    /// Another account has verified the address that this account only claimed.
    pub(crate) const EMAIL_LOST: Self = Self("email.lost");
    pub(crate) const TOTP_SET_UP: Self = Self("totp.set_up");
    /// A wrong code when a second factor was to be confirmed.
    pub(crate) const TOTP_REFUSED: Self = Self("totp.refused");
    pub(crate) const TOTP_ENABLED: Self = Self("totp.enabled");
    pub(crate) const TOTP_DISABLED: Self = Self("totp.disabled");
    pub(crate) const RECOVERY_CODES_RENEWED: Self = Self("totp.recovery_codes_renewed");
    pub(crate) const RECOVERY_CODE_USED: Self = Self("totp.recovery_code_used");
    pub(crate) const CLIENT_CREATED: Self = Self("client.created");
    pub(crate) const CLIENT_CHANGED: Self = Self("client.changed");
    pub(crate) const CLIENT_SECRET_ROTATED: Self = Self("client.secret_rotated");
    pub(crate) const CLIENT_DELETED: Self = Self("client.deleted");
    /// An account consented to the scopes of a client.
    pub(crate) const ACCESS_ALLOWED: Self = Self("oauth.allowed");
    pub(crate) const ACCESS_DENIED: Self = Self("oauth.denied");
    /// A client used a consent and received a session.
    pub(crate) const ACCESS_GRANTED: Self = Self("oauth.granted");
    pub(crate) const ACCESS_REVOKED: Self = Self("oauth.revoked");
    pub(crate) const CODE_REPLAYED: Self = Self("session.revoked_by_replay");

    pub(crate) fn as_str(self) -> &'static str {
        self.0
    }
}

/// One audit entry: the action and its object. Actor, address and time are added when it is written. Typed usernames
/// are never stored, because people type passwords there by mistake.
#[derive(Debug, Clone)]
pub(crate) struct NewAuditEntry {
    action: AuditAction,
    user_id: Option<UserId>,
    session_id: Option<String>,
    details: Option<Value>,
}

impl NewAuditEntry {
    /// Creates an entry that concerns no existing account.
    pub(crate) fn new(action: AuditAction) -> Self {
        Self {
            action,
            user_id: None,
            session_id: None,
            details: None,
        }
    }

    /// Creates an entry about an account.
    pub(crate) fn on(action: AuditAction, user_id: UserId) -> Self {
        Self {
            user_id: Some(user_id),
            ..Self::new(action)
        }
    }

    /// Adds the session that the entry concerns.
    pub(crate) fn session(mut self, sid: &str) -> Self {
        self.session_id = Some(sid.to_owned());
        self
    }

    /// Adds details, which must contain no secret.
    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}
