use auth_types::wire::{Premium, User};
use auth_types::{TeamId, TeamRole, UserId};
use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::AsUtc;
use diesel::prelude::*;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::closed_sets::{AuditSource, SessionKind};
use crate::invitations::wire::InvitationStatus;
use crate::schema::{invitations, sessions, team_departures, teams, users};

/// The stored data of an account, without password and token hashes and the second factor's secret, which say nothing
/// about a person.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExportResponse {
    pub(crate) exported_at: DateTime<Utc>,
    pub(crate) account: User,
    pub(crate) premium: Premium,
    /// Whether signing in requires a code of a second factor.
    pub(crate) totp_enabled: bool,
    /// The profile photo as a `data:` URL.
    pub(crate) profile_photo: Option<String>,
    /// Sessions, including those that have ended; newest first, at most 1,000.
    pub(crate) sessions: Vec<ExportedSession>,
    /// Memberships, in order of team id, at most 1,000.
    pub(crate) teams: Vec<ExportedMembership>,
    /// Teams that the account left on its own and has not rejoined; at most 1,000.
    pub(crate) teams_left: Vec<ExportedDeparture>,
    /// Applications that the account has consented to, by name, at most 1,000.
    pub(crate) applications: Vec<ExportedApplication>,
    /// Invitations to the account's verified address, or that it accepted; newest first, at most 1,000.
    pub(crate) invitations_received: Vec<ExportedInvitation>,
    /// Invitations that the account sent; newest first, at most 1,000.
    pub(crate) invitations_sent: Vec<ExportedInvitation>,
    /// Audit entries about the account; newest first, at most 10,000.
    pub(crate) audit_log: Vec<ExportedEntry>,
    /// The names of the lists above that were cut at their limit.
    pub(crate) truncated: Vec<&'static str>,
}

/// One session.
#[derive(Serialize, ToSchema, Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(crate) struct ExportedSession {
    pub(crate) id: String,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    pub(crate) created_at: DateTime<Utc>,
    #[diesel(column_name = refresh_rotated_at, deserialize_as = AsUtc<NaiveDateTime>)]
    pub(crate) last_used_at: DateTime<Utc>,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    pub(crate) expires_at: DateTime<Utc>,
    #[diesel(deserialize_as = AsUtc<Option<NaiveDateTime>>)]
    pub(crate) revoked_at: Option<DateTime<Utc>>,
    pub(crate) address: Option<String>,
    pub(crate) user_agent: Option<String>,
    /// `first_party`, `browser`, `sso` or `client`.
    #[schema(value_type = SessionKind)]
    pub(crate) kind: String,
    /// The label of the site that it was handed over to.
    pub(crate) service: Option<String>,
    /// The id of the client that holds the session.
    pub(crate) client_id: Option<String>,
    /// The scopes of that client.
    pub(crate) scope: Option<String>,
}

/// The consent of the account to an application.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExportedApplication {
    pub(crate) client_id: String,
    pub(crate) name: String,
    pub(crate) scope: String,
    pub(crate) allowed_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

/// One membership.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExportedMembership {
    pub(crate) team: ExportedTeam,
    pub(crate) role: TeamRole,
    pub(crate) joined_at: DateTime<Utc>,
}

/// One team that the account left.
#[derive(Serialize, ToSchema, Queryable, Selectable)]
#[diesel(table_name = team_departures)]
pub(crate) struct ExportedDeparture {
    #[diesel(embed)]
    pub(crate) team: ExportedTeam,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    pub(crate) left_at: DateTime<Utc>,
}

/// A team by its names.
#[derive(Serialize, ToSchema, Queryable, Selectable)]
#[diesel(table_name = teams)]
pub(crate) struct ExportedTeam {
    pub(crate) id: TeamId,
    pub(crate) slug: String,
    pub(crate) name: String,
}

/// One invitation, without its token.
#[derive(Serialize, ToSchema, Queryable, Selectable)]
#[diesel(table_name = invitations)]
pub(crate) struct ExportedInvitation {
    pub(crate) id: String,
    #[diesel(embed)]
    pub(crate) team: ExportedTeam,
    pub(crate) email: String,
    pub(crate) role: String,
    /// The stored status; an expired invitation still reads `pending`.
    #[schema(value_type = InvitationStatus)]
    pub(crate) status: String,
    /// The username of the inviter, if that account still exists.
    #[diesel(select_expression = users::username.nullable())]
    pub(crate) invited_by: Option<String>,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    pub(crate) created_at: DateTime<Utc>,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    pub(crate) expires_at: DateTime<Utc>,
    #[diesel(deserialize_as = AsUtc<Option<NaiveDateTime>>)]
    pub(crate) settled_at: Option<DateTime<Utc>>,
}

/// One entry of the audit log.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExportedEntry {
    pub(crate) at: DateTime<Utc>,
    /// For example `session.opened`.
    pub(crate) action: String,
    pub(crate) session_id: Option<String>,
    /// The acting account; null when nobody was signed in.
    pub(crate) actor_id: Option<UserId>,
    /// The network address of the request; null if another account acted, to protect its owner.
    pub(crate) address: Option<String>,
    /// `http`, `command` or `system`.
    #[schema(value_type = AuditSource)]
    pub(crate) via: String,
    pub(crate) details: Option<Value>,
}
