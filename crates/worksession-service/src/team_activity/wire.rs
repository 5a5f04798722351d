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
    /// The team's slug; one of the caller's teams.
    #[param(required = true)]
    pub(super) team: Option<String>,
    /// RFC 3339, within the last 31 days; seven days ago when absent.
    pub(super) since: Option<String>,
}

/// A team at a glance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TeamActivityResponse {
    success: bool,
    team: ActiveTeam,
    /// From when on sessions count.
    since: DateTime<Utc>,
    /// Who started sessions on the team's projects since then, the most credited minutes first; 200 at most.
    members: Vec<ActiveMember>,
    /// Sessions on the team's projects that run now, the oldest first; 200 at most.
    running: Vec<RunningSession>,
}

/// The team.
#[derive(Debug, Serialize, ToSchema)]
struct ActiveTeam {
    id: TeamId,
    name: String,
    slug: String,
}

/// What somebody's sessions come to.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(super) struct ActiveMember {
    user: ActiveUser,
    sessions: i64,
    planned_minutes: i64,
    /// Of those that were submitted.
    credited_minutes: i64,
}

/// Whose they are.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(super) struct ActiveUser {
    id: UserId,
    /// As it was at a start.
    username: String,
}

/// A session that runs.
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

/// What it is on.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(super) struct ActiveProject {
    /// `team_N`.
    id: String,
    /// As it was at the start.
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
