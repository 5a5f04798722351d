//! The product's own HTTP API, called as any client calls it.

mod bodies;
mod client;
mod error;
mod ids;

pub(crate) use bodies::{
    Bucket, PlannedSession, PreSession, Preferences, Project, Projects, Session, SessionTotals,
    StartResponse, Submitted, Team, Teams, Tracking, UserData, UserSummary,
};
pub use client::ClientError;
pub(crate) use client::{ApiClient, ServiceClient, chunks};
pub(crate) use error::{ApiError, ApiRejection};
pub(crate) use ids::{SessionId, Slug};
