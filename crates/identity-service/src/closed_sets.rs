//! The values of fields with a fixed set of them, for the OpenAPI description. The fields are text in the database or on the wire.
#![expect(dead_code, reason = "only their schemas are used")]

use utoipa::ToSchema;

/// How a session was opened.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum SessionKind {
    FirstParty,
    Browser,
    Sso,
    Client,
}

/// What an audited action came from.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum AuditSource {
    Http,
    Command,
    System,
}

/// A role that an invitation or an addition can give.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum NewMemberRole {
    Member,
    Admin,
}
