use auth_types::{TeamId, TeamRole, UserId};
use chrono::NaiveDateTime;
use db_kit::{Db, DbError, is_unique_violation};

use super::access::{TeamAdmin, TeamMember};
use super::model::{MemberRow, effective_role};
use super::queries::{self, NewTeam};
use super::slug::Slug;
use super::wire::{
    AddMemberRequest, CreateTeamRequest, Member, MembersResponse, PageQuery, Team,
    TeamDetailResponse,
};
use crate::accounts;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;

const MAX_NAME_CHARS: usize = 100;
const MAX_DESCRIPTION_CHARS: usize = 2_000;
const MAX_PAGE: i64 = 200;

pub(crate) async fn list_teams(app: &App, caller: &CurrentUser) -> Result<Vec<Team>, Error> {
    let user_id = caller.account.id;
    let rows = app
        .pool
        .read(move |db| Ok::<_, Error>(queries::list_teams(db, user_id)?))
        .await?;
    Ok(rows
        .into_iter()
        .map(|(row, size)| row.into_wire(size))
        .collect())
}

/// Makes a team that the caller owns.
pub(crate) async fn create_team(
    app: &App,
    caller: &CurrentUser,
    request: CreateTeamRequest,
) -> Result<Team, Error> {
    let slug = Slug::parse(&request.slug)?;
    let name = request.name.trim().to_owned();
    if !(1..=MAX_NAME_CHARS).contains(&name.chars().count()) || name.chars().any(char::is_control) {
        return Err(Error::Validation(
            "name must have 1 to 100 characters, none of them control characters".into(),
        ));
    }
    let description = request.description;
    if description
        .as_ref()
        .is_some_and(|text| text.chars().count() > MAX_DESCRIPTION_CHARS)
    {
        return Err(Error::Validation(
            "description must have at most 2000 characters".into(),
        ));
    }
    let owner_id = caller.account.id;
    let now = app.clock.now_naive();
    app.pool
        .write_tx(move |db| {
            let team = NewTeam {
                name: &name,
                slug: slug.as_str(),
                slug_lower: &slug.lower(),
                description: description.as_deref(),
                owner_id: owner_id.get(),
                created_at: now,
                updated_at: now,
            };
            let id = queries::insert_team(db, &team)
                .map_err(|error| taken(error, "teams", &["slug_lower"], Error::SlugTaken))?;
            queries::insert_member(db, id, owner_id, TeamRole::Admin, now)?;
            Ok(queries::find_team(db, id)?
                .ok_or(Error::TeamNotFound)?
                .into_wire(1))
        })
        .await
}

pub(crate) async fn get_team(app: &App, member: TeamMember) -> Result<TeamDetailResponse, Error> {
    let id = member.team.id;
    let size = app
        .pool
        .read(move |db| Ok::<_, Error>(queries::count_members(db, id)?))
        .await?;
    Ok(TeamDetailResponse {
        team: member.team.into_wire(size),
        my_role: member.role,
    })
}

pub(crate) async fn list_members(
    app: &App,
    member: &TeamMember,
    page: PageQuery,
) -> Result<MembersResponse, Error> {
    let (limit, offset) = (page.limit.unwrap_or(MAX_PAGE), page.offset.unwrap_or(0));
    if !(1..=MAX_PAGE).contains(&limit) || offset < 0 {
        return Err(Error::Validation(
            "limit must be 1 to 200 and offset not negative".into(),
        ));
    }
    let (id, owner_id) = (member.team.id, member.team.owner_id);
    app.pool
        .read(move |db| {
            let rows = queries::list_members(db, id, limit, offset)?;
            let members = rows
                .into_iter()
                .map(|row| row.into_wire(owner_id))
                .collect::<Result<_, _>>()?;
            Ok(MembersResponse {
                members,
                total: queries::count_members(db, id)?,
            })
        })
        .await
}

/// Adds an account to a team, as member or admin.
pub(crate) async fn add_member(
    app: &App,
    actor: &TeamAdmin,
    request: AddMemberRequest,
) -> Result<Member, Error> {
    let role = request
        .role
        .as_deref()
        .map_or(Ok(TeamRole::Member), parse_role)?;
    if role == TeamRole::Owner {
        return Err(Error::Validation(
            "a team is handed over to somebody who is a member already".into(),
        ));
    }
    let username = request.username.to_ascii_lowercase();
    let actor = Actor::of(&actor.0);
    let now = app.clock.now_naive();
    app.pool
        .write_tx(move |db| {
            let (owner_id, _) = actor.lock(db, TeamRole::Admin, now)?;
            let account = accounts::queries::find_active_by_name(db, &username)?
                .ok_or(Error::UserNotFound)?;
            queries::insert_member(db, actor.team_id, account.id, role, now).map_err(|error| {
                taken(
                    error,
                    "team_members",
                    &["team_id", "user_id"],
                    Error::AlreadyMember,
                )
            })?;
            actor.get_member(db, &username)?.into_wire(owner_id)
        })
        .await
}

/// Changes what a member may do. Giving somebody the role `owner` hands the team over.
pub(crate) async fn change_role(
    app: &App,
    actor: &TeamAdmin,
    username: &str,
    role: &str,
) -> Result<Member, Error> {
    let role = parse_role(role)?;
    let username = username.to_ascii_lowercase();
    let actor = Actor::of(&actor.0);
    let now = app.clock.now_naive();
    app.pool
        .write_tx(move |db| {
            let (owner_id, my_role) = actor.lock(db, TeamRole::Admin, now)?;
            let target = actor.get_member(db, &username)?;
            let concerns_owner = target.user_id == owner_id || role == TeamRole::Owner;
            if concerns_owner && my_role != TeamRole::Owner {
                return Err(Error::Forbidden("only the owner hands a team over"));
            }
            let new_owner = match (target.user_id == owner_id, role) {
                (true, TeamRole::Owner) => owner_id,
                (true, _) => return Err(Error::LastOwner),
                (false, TeamRole::Owner) => {
                    // Nobody could take the team back from an owner who cannot sign in.
                    accounts::queries::find_active_by_name(db, &username)?
                        .ok_or(Error::MemberNotFound)?;
                    queries::set_role(db, actor.team_id, owner_id, TeamRole::Admin)?;
                    queries::set_owner(db, actor.team_id, target.user_id)?;
                    target.user_id
                }
                (false, role) => {
                    queries::set_role(db, actor.team_id, target.user_id, role)?;
                    owner_id
                }
            };
            actor.get_member(db, &username)?.into_wire(new_owner)
        })
        .await
}

/// Removes a member; one's own name is leaving.
pub(crate) async fn remove_member(
    app: &App,
    member: &TeamMember,
    username: &str,
) -> Result<(), Error> {
    let leaving = member
        .caller
        .account
        .username
        .eq_ignore_ascii_case(username);
    let needed = if leaving {
        TeamRole::Member
    } else {
        TeamRole::Admin
    };
    let username = username.to_ascii_lowercase();
    let actor = Actor::of(member);
    let now = app.clock.now_naive();
    app.pool
        .write_tx(move |db| {
            let (owner_id, _) = actor.lock(db, needed, now)?;
            let target = actor.get_member(db, &username)?;
            if target.user_id == owner_id {
                return Err(if leaving {
                    Error::LastOwner
                } else {
                    Error::Forbidden("the owner cannot be removed")
                });
            }
            Ok(queries::delete_member(db, actor.team_id, target.user_id)?)
        })
        .await
}

/// Who changes which team. The role that let the request in is read again inside the transaction: it
/// may have been taken away in between.
#[derive(Clone, Copy)]
struct Actor {
    team_id: TeamId,
    user_id: UserId,
}

impl Actor {
    fn of(member: &TeamMember) -> Self {
        Self {
            team_id: member.team.id,
            user_id: member.caller.account.id,
        }
    }

    /// Locks the team for this transaction; its owner and the actor's role.
    fn lock(
        self,
        db: &mut Db,
        needed: TeamRole,
        now: NaiveDateTime,
    ) -> Result<(UserId, TeamRole), Error> {
        let owner_id = queries::lock_team(db, self.team_id, now)?.ok_or(Error::TeamNotFound)?;
        let stored = queries::find_stored_role(db, self.team_id, self.user_id)?
            .ok_or(Error::TeamNotFound)?;
        let role = effective_role(owner_id, self.user_id, &stored)?;
        if role < needed {
            return Err(NOT_ENOUGH);
        }
        Ok((owner_id, role))
    }

    fn get_member(self, db: &mut Db, username_lower: &str) -> Result<MemberRow, Error> {
        queries::find_member(db, self.team_id, username_lower)?.ok_or(Error::MemberNotFound)
    }
}

/// What a plain member is told who wants to do an admin's work.
pub(crate) const NOT_ENOUGH: Error = Error::Forbidden("this takes an admin of the team");

fn parse_role(text: &str) -> Result<TeamRole, Error> {
    text.parse()
        .map_err(|_| Error::Validation("role must be owner, admin or member".into()))
}

fn taken(error: diesel::result::Error, table: &str, columns: &[&str], conflict: Error) -> Error {
    let error = DbError::from(error);
    if is_unique_violation(&error, table, columns) {
        conflict
    } else {
        error.into()
    }
}
