use auth_types::{TeamId, TeamRole, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::Error;
use crate::page::{MAX_PAGE, bounds};
use crate::present::present;

/// A team.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Team {
    pub(crate) id: TeamId,
    pub(crate) name: String,
    /// Its name in paths; found without regard to case.
    pub(crate) slug: String,
    pub(crate) description: Option<String>,
    pub(crate) owner_id: UserId,
    pub(crate) member_count: i64,
    pub(crate) created_at: DateTime<Utc>,
}

/// The teams of the caller.
#[derive(Serialize, ToSchema)]
pub(crate) struct TeamsResponse {
    pub(crate) teams: Vec<Team>,
}

/// A team that was made or changed.
#[derive(Serialize, ToSchema)]
pub(crate) struct TeamResponse {
    pub(crate) team: Team,
}

/// A team and what the caller is in it.
#[derive(Serialize, ToSchema)]
pub(crate) struct TeamDetailResponse {
    pub(crate) team: Team,
    pub(crate) my_role: TeamRole,
}

/// Somebody in a team.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Member {
    pub(crate) user_id: UserId,
    pub(crate) username: String,
    pub(crate) role: TeamRole,
    /// Always `active`; who is only invited is no member yet.
    #[schema(example = "active")]
    pub(crate) status: &'static str,
    pub(crate) joined_at: DateTime<Utc>,
    pub(crate) profile_photo_url: Option<String>,
}

/// A page of the members of a team, in the order in which they joined.
#[derive(Serialize, ToSchema)]
pub(crate) struct MembersResponse {
    pub(crate) members: Vec<Member>,
    /// Of the whole team, not of the page.
    pub(crate) total: i64,
}

/// A member who was added or changed.
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
    /// Unique without regard to case; `new, admin, api, me, settings, invitations` are refused.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    pub(crate) slug: String,
    /// Up to 2,000 characters.
    #[schema(max_length = 2000)]
    pub(crate) description: Option<String>,
}

/// What is to be different; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeTeamRequest {
    /// 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: Option<String>,
    /// Only the owner changes it; as for a new team.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    pub(crate) slug: Option<String>,
    /// Up to 2,000 characters; null clears it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 2000)]
    pub(crate) description: Option<Option<String>>,
}

/// Somebody to be added.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AddMemberRequest {
    pub(crate) username: String,
    /// `member` (when absent) or `admin`, in any case.
    pub(crate) role: Option<String>,
}

/// A change of role.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeRoleRequest {
    /// `member`, `admin`, or `owner`, which hands the team over; in any case.
    pub(crate) role: String,
}

/// Which part of a list is wanted.
#[derive(Debug, Default, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// 1 to 200; 200 when absent.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<i64>,
    /// How many to leave out before the page.
    #[param(minimum = 0)]
    pub(crate) offset: Option<i64>,
}

impl PageQuery {
    /// How many, after how many.
    pub(crate) fn bounds(self) -> Result<(i64, i64), Error> {
        bounds(self.limit, self.offset, MAX_PAGE)
    }
}

/// The role that somebody new is to have: `member` unless it is named, never `owner`.
pub(crate) fn given_role(text: Option<&str>) -> Result<TeamRole, Error> {
    match text.map_or(Ok(TeamRole::Member), parse_role)? {
        TeamRole::Owner => Err(Error::Validation(
            "a team is handed over to somebody who is a member already".into(),
        )),
        role => Ok(role),
    }
}

pub(super) fn parse_role(text: &str) -> Result<TeamRole, Error> {
    text.parse()
        .map_err(|_| Error::Validation("role must be owner, admin or member".into()))
}
