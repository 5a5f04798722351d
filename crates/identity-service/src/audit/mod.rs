//! The append-only record of what happened to accounts: sign-ins, failed ones, revocations.

pub(crate) mod queries;

use std::net::IpAddr;

use auth_types::UserId;

/// What can be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Registered,
    SignedIn,
    SignInFailed,
    SignedOut,
    RefreshTokenReused,
}

impl Action {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "account.registered",
            Self::SignedIn => "session.opened",
            Self::SignInFailed => "session.refused",
            Self::SignedOut => "session.revoked",
            Self::RefreshTokenReused => "session.revoked_by_reuse",
        }
    }
}

/// One entry: who, what, from where. A name that was typed is never kept: people type passwords there.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) action: Action,
    pub(crate) user_id: Option<UserId>,
    pub(crate) session_id: Option<String>,
    pub(crate) address: IpAddr,
}
