use auth_types::wire::TeamMembership;
use auth_types::{TeamId, UserId};
use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::AsUtc;
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which team, and since when.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TeamActivityQuery {
    /// The slug of one of the caller's teams.
    #[param(required = true)]
    pub(super) team: Option<String>,
    /// An RFC 3339 time within the last 31 days; seven days ago by default.
    pub(super) since: Option<String>,
}

/// A team at a glance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TeamActivityResponse {
    success: bool,
    team: ActiveTeam,
    /// The time from which sessions count.
    since: DateTime<Utc>,
    /// Users who started sessions on the team's projects since then, most credited minutes first; at most 200.
    members: Vec<ActiveMember>,
    /// Running sessions on the team's projects, oldest first; at most 200.
    running: Vec<RunningSession>,
}

/// The team.
#[derive(Debug, Serialize, ToSchema)]
struct ActiveTeam {
    id: TeamId,
    name: String,
    slug: String,
}

/// The totals of a user's sessions.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(super) struct ActiveMember {
    user: ActiveUser,
    sessions: i64,
    planned_minutes: i64,
    /// Credited minutes of the submitted sessions.
    credited_minutes: i64,
}

/// The user of the sessions.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(super) struct ActiveUser {
    id: UserId,
    /// The username at the start of a session.
    username: String,
}

/// A running session.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(super) struct RunningSession {
    /// UUIDv7.
    session_id: String,
    user: ActiveUser,
    project: ActiveProject,
    category: String,
    /// Minutes.
    planned_duration: i32,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    started_at: DateTime<Utc>,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    expected_end_at: DateTime<Utc>,
}

/// The project of a running session.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(super) struct ActiveProject {
    /// `team_N`.
    id: String,
    /// The project's name at the start of the session.
    name: String,
}

impl TeamActivityResponse {
    pub(super) fn new(
        team: &TeamMembership,
        since: NaiveDateTime,
        members: Vec<ActiveMember>,
        running: Vec<RunningSession>,
    ) -> Self {
        Self {
            success: true,
            team: ActiveTeam {
                id: team.id,
                name: team.name.clone(),
                slug: team.slug.clone(),
            },
            since: since.and_utc(),
            members,
            running,
        }
    }
}
