//! The values of fields with a fixed set of them, for the OpenAPI description. The fields are text in the database.
#![expect(dead_code, reason = "only their schemas are used")]

use utoipa::ToSchema;

/// Where the project of a session belongs.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum SessionProjectKind {
    Team,
    Personal,
    None,
}

/// The endpoint that started a session.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum StartedBy {
    ClientA,
    ClientB,
    Session,
}

/// A sign of a manipulated client.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum FlagKind {
    LockedMismatch,
    ClientClock,
    FutureEnd,
    LongDay,
}

/// How serious a flag is.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum FlagSeverity {
    Info,
    Suspect,
}

/// The review of a flag.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum FlagReview {
    Open,
    Cleared,
    Upheld,
}

/// Whether a chat or webhook receives anything.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum IntegrationStatus {
    Active,
    Paused,
    Off,
}

/// What became of a delivery so far.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum DeliveryState {
    Pending,
    Delivered,
    Failed,
    Skipped,
}
