use auth_types::{TeamId, TeamRole, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::closed_sets::NewMemberRole;
use crate::double_option::double_option;
use crate::error::Error;
use crate::pagination::{MAX_PAGE, bounds};

/// A team.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Team {
    pub(crate) id: TeamId,
    pub(crate) name: String,
    /// Name of the team in paths; case-insensitive.
    pub(crate) slug: String,
    pub(crate) description: Option<String>,
    pub(crate) owner_id: UserId,
    pub(crate) member_count: i64,
    pub(crate) created_at: DateTime<Utc>,
}

/// The caller's teams.
#[derive(Serialize, ToSchema)]
pub(crate) struct TeamsResponse {
    pub(crate) teams: Vec<Team>,
}

/// A created or changed team.
#[derive(Serialize, ToSchema)]
pub(crate) struct TeamResponse {
    pub(crate) team: Team,
}

/// A team and the caller's role in it.
#[derive(Serialize, ToSchema)]
pub(crate) struct TeamDetailResponse {
    pub(crate) team: Team,
    pub(crate) my_role: TeamRole,
}

/// A member of a team.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Member {
    pub(crate) user_id: UserId,
    pub(crate) username: String,
    pub(crate) role: TeamRole,
    /// Always `active`: an invited account is not a member yet.
    #[schema(example = "active")]
    pub(crate) status: &'static str,
    pub(crate) joined_at: DateTime<Utc>,
    pub(crate) profile_photo_url: Option<String>,
}

/// A page of a team's members, in the order in which they joined.
#[derive(Serialize, ToSchema)]
pub(crate) struct MembersResponse {
    pub(crate) members: Vec<Member>,
    /// Number of all members, not only those of this page.
    pub(crate) total: i64,
}

/// An added or changed member.
#[derive(Serialize, ToSchema)]
pub(crate) struct MemberResponse {
    pub(crate) member: Member,
}

/// A new team.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CreateTeamRequest {
    /// 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// Unique, case-insensitive. `new`, `admin`, `api`, `me`, `settings` and `invitations` are reserved.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    pub(crate) slug: String,
    /// Up to 2,000 characters.
    #[schema(max_length = 2000)]
    pub(crate) description: Option<String>,
}

/// Fields to change. Absent fields stay as they are.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeTeamRequest {
    /// 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: Option<String>,
    /// As for a new team. Only the owner may change it.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    pub(crate) slug: Option<String>,
    /// Up to 2,000 characters; null clears it.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>, max_length = 2000)]
    pub(crate) description: Option<Option<String>>,
}

/// An account to add to a team.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AddMemberRequest {
    pub(crate) username: String,
    /// `member` (the default) or `admin`, case-insensitive.
    #[schema(value_type = Option<NewMemberRole>)]
    pub(crate) role: Option<String>,
}

/// A new role for a member.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeRoleRequest {
    /// `member`, `admin`, or `owner`, which hands the team over; case-insensitive.
    #[schema(value_type = TeamRole)]
    pub(crate) role: String,
}

/// Selects a page of a list.
#[derive(Debug, Default, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// 1 to 200; the default is 200.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<i64>,
    /// Number of entries to skip.
    #[param(minimum = 0)]
    pub(crate) offset: Option<i64>,
}

impl PageQuery {
    /// Returns limit and offset.
    pub(crate) fn bounds(self) -> Result<(i64, i64), Error> {
        bounds(self.limit, self.offset, MAX_PAGE)
    }
}

/// Parses the role of a new member: `member` by default, never `owner`.
pub(crate) fn given_role(text: Option<&str>) -> Result<TeamRole, Error> {
    match text.map_or(Ok(TeamRole::Member), parse_role)? {
        TeamRole::Owner => Err(Error::Validation(
            "ownership can be transferred only to a member".into(),
        )),
        role => Ok(role),
    }
}

pub(super) fn parse_role(text: &str) -> Result<TeamRole, Error> {
    text.parse()
        .map_err(|_| Error::Validation("role must be owner, admin or member".into()))
}
