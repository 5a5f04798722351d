use auth_types::wire::TeamMembership;
use auth_types::{TeamId, TeamRole, UserId};
use chrono::NaiveDateTime;
use diesel::prelude::*;
use event_types::TeamRef;

use super::slug::Slug;
use super::wire::{Member, Team};
use crate::error::Error;
use crate::photos;
use crate::schema::{team_members, teams, users};

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = teams)]
pub(crate) struct TeamRow {
    pub(crate) id: TeamId,
    pub(crate) name: String,
    pub(crate) slug: String,
    pub(crate) description: Option<String>,
    pub(crate) owner_id: UserId,
    created_at: NaiveDateTime,
}

/// The changes of a team; `None` leaves a field unchanged.
pub(crate) struct TeamPatch {
    pub(crate) name: Option<String>,
    pub(crate) slug: Option<Slug>,
    /// `Some(None)` clears it.
    pub(crate) description: Option<Option<String>>,
}

impl TeamRow {
    /// Returns the team with the changes applied.
    pub(crate) fn patched(&self, patch: TeamPatch) -> Self {
        let mut team = self.clone();
        if let Some(name) = patch.name {
            team.name = name;
        }
        if let Some(slug) = patch.slug {
            team.slug = slug.as_str().to_owned();
        }
        if let Some(description) = patch.description {
            team.description = description;
        }
        team
    }

    /// Returns the names of the fields that differ from `old`.
    pub(crate) fn differs_in(&self, old: &Self) -> Vec<&'static str> {
        [
            ("name", self.name != old.name),
            ("slug", self.slug != old.slug),
            ("description", self.description != old.description),
        ]
        .into_iter()
        .filter_map(|(field, differs)| differs.then_some(field))
        .collect()
    }

    /// Returns the reference to the team in events.
    pub(crate) fn to_ref(&self) -> TeamRef {
        TeamRef {
            id: self.id,
            slug: self.slug.clone(),
            name: self.name.clone(),
        }
    }

    pub(crate) fn into_wire(self, member_count: i64) -> Team {
        Team {
            id: self.id,
            name: self.name,
            slug: self.slug,
            description: self.description,
            owner_id: self.owner_id,
            member_count,
            created_at: self.created_at.and_utc(),
        }
    }
}

/// A team of an account, with the stored role of the account.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = teams)]
pub(crate) struct MembershipRow {
    id: TeamId,
    slug: String,
    name: String,
    owner_id: UserId,
    #[diesel(select_expression = team_members::user_id)]
    user_id: UserId,
    #[diesel(select_expression = team_members::role)]
    role: String,
}

impl MembershipRow {
    pub(crate) fn into_wire(self) -> Result<TeamMembership, Error> {
        let role = effective_role(self.owner_id, self.user_id, &self.role)?;
        Ok(TeamMembership {
            id: self.id,
            slug: self.slug,
            name: self.name,
            role,
        })
    }
}

/// A member of a team.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = team_members)]
pub(crate) struct MemberRow {
    pub(crate) user_id: UserId,
    #[diesel(select_expression = users::username)]
    username: String,
    role: String,
    joined_at: NaiveDateTime,
    #[diesel(select_expression = users::photo_version)]
    photo_version: Option<String>,
}

impl MemberRow {
    pub(crate) fn role(&self, owner_id: UserId) -> Result<TeamRole, Error> {
        effective_role(owner_id, self.user_id, &self.role)
    }

    pub(crate) fn into_wire(self, owner_id: UserId, base_url: &str) -> Result<Member, Error> {
        let photo = self.photo_version.as_deref();
        Ok(Member {
            profile_photo_url: photos::public_url(base_url, self.user_id, photo),
            role: self.role(owner_id)?,
            user_id: self.user_id,
            username: self.username,
            status: "active",
            joined_at: self.joined_at.and_utc(),
        })
    }
}

/// Returns the role of an account: owner if the team names it so, otherwise the stored role.
pub(crate) fn effective_role(
    owner_id: UserId,
    user_id: UserId,
    stored: &str,
) -> Result<TeamRole, Error> {
    if owner_id == user_id {
        return Ok(TeamRole::Owner);
    }
    stored
        .parse()
        .map_err(|error| Error::internal("team_members.role", error))
}
