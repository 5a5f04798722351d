//! The append-only record of what happened to accounts: sign-ins, failed ones, revocations, changes of rights.

pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;

use auth_types::UserId;
use serde_json::Value;

/// What can be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Registered,
    SignedIn,
    SignInFailed,
    SignedOut,
    Exported,
    Deleted,
    RefreshTokenReused,
    TeamCreated,
    TeamChanged,
    TeamDeleted,
    TeamHandedOver,
    MemberAdded,
    MemberRemoved,
    MemberRoleChanged,
    InvitationSent,
    InvitationAccepted,
    InvitationDeclined,
    InvitationRevoked,
    UserCreated,
    UserPromoted,
    UserDemoted,
    UserPlanChanged,
    UserDeactivated,
    UserActivated,
    UserPasswordReset,
    KeysRotated,
    KeyRemoved,
    KeysResealed,
    EmailSet,
    /// The right password without the code that the account asks for.
    TotpMissing,
    /// A wrong password, or code, of somebody who is signed in.
    PasswordRefused,
    PasswordChanged,
    PasswordResetRequested,
    PasswordReset,
    PasswordResetRefused,
    EmailChangeRequested,
    EmailVerified,
    EmailChanged,
    /// Somebody else has proved the address that this account only claimed.
    EmailLost,
    TotpSetUp,
    /// A wrong code when a second factor was to be confirmed.
    TotpRefused,
    TotpEnabled,
    TotpDisabled,
    RecoveryCodesRenewed,
    RecoveryCodeUsed,
    ClientCreated,
    ClientChanged,
    ClientSecretRotated,
    ClientDeleted,
    /// Somebody allowed a client what it asked for.
    AccessAllowed,
    AccessDenied,
    /// A client used what somebody allowed it, and has a session from then on.
    AccessGranted,
    AccessRevoked,
    CodeReplayed,
}

impl Action {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "account.registered",
            Self::SignedIn => "session.opened",
            Self::SignInFailed => "session.refused",
            Self::SignedOut => "session.revoked",
            Self::Exported => "account.exported",
            Self::Deleted => "account.deleted",
            Self::RefreshTokenReused => "session.revoked_by_reuse",
            Self::TeamCreated => "team.created",
            Self::TeamChanged => "team.changed",
            Self::TeamDeleted => "team.deleted",
            Self::TeamHandedOver => "team.handed_over",
            Self::MemberAdded => "team.member_added",
            Self::MemberRemoved => "team.member_removed",
            Self::MemberRoleChanged => "team.role_changed",
            Self::InvitationSent => "invitation.sent",
            Self::InvitationAccepted => "invitation.accepted",
            Self::InvitationDeclined => "invitation.declined",
            Self::InvitationRevoked => "invitation.revoked",
            Self::UserCreated => "user.created",
            Self::UserPromoted => "user.promoted",
            Self::UserDemoted => "user.demoted",
            Self::UserPlanChanged => "user.plan_changed",
            Self::UserDeactivated => "user.deactivated",
            Self::UserActivated => "user.activated",
            Self::UserPasswordReset => "user.password_reset",
            Self::KeysRotated => "keys.rotated",
            Self::KeyRemoved => "keys.removed",
            Self::KeysResealed => "keys.resealed",
            Self::EmailSet => "account.email_set",
            Self::TotpMissing => "session.totp_required",
            Self::PasswordRefused => "password.refused",
            Self::PasswordChanged => "password.changed",
            Self::PasswordResetRequested => "password.reset_requested",
            Self::PasswordReset => "password.reset",
            Self::PasswordResetRefused => "password.reset_refused",
            Self::EmailChangeRequested => "email.change_requested",
            Self::EmailVerified => "email.verified",
            Self::EmailChanged => "email.changed",
            Self::EmailLost => "email.lost",
            Self::TotpSetUp => "totp.set_up",
            Self::TotpRefused => "totp.refused",
            Self::TotpEnabled => "totp.enabled",
            Self::TotpDisabled => "totp.disabled",
            Self::RecoveryCodesRenewed => "totp.recovery_codes_renewed",
            Self::RecoveryCodeUsed => "totp.recovery_code_used",
            Self::ClientCreated => "client.created",
            Self::ClientChanged => "client.changed",
            Self::ClientSecretRotated => "client.secret_rotated",
            Self::ClientDeleted => "client.deleted",
            Self::AccessAllowed => "oauth.allowed",
            Self::AccessDenied => "oauth.denied",
            Self::AccessGranted => "oauth.granted",
            Self::AccessRevoked => "oauth.revoked",
            Self::CodeReplayed => "session.revoked_by_replay",
        }
    }
}

/// One entry: what happened to whom. Who did it, from where and when is added when it is written. A name
/// that was typed is never kept: people type passwords there.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    action: Action,
    user_id: Option<UserId>,
    session_id: Option<String>,
    details: Option<Value>,
}

impl Entry {
    /// Something that concerns no account that exists.
    pub(crate) fn new(action: Action) -> Self {
        Self {
            action,
            user_id: None,
            session_id: None,
            details: None,
        }
    }

    /// Something that happened to this account.
    pub(crate) fn on(action: Action, user_id: UserId) -> Self {
        Self {
            user_id: Some(user_id),
            ..Self::new(action)
        }
    }

    /// In or to which sign-in.
    pub(crate) fn session(mut self, sid: &str) -> Self {
        self.session_id = Some(sid.to_owned());
        self
    }

    /// What exactly, without anything secret.
    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}
