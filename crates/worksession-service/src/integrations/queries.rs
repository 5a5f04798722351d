use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::{Db, DbBackend};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable};

use super::{ACTIVE, Integration, LostAccess, PAUSED, WebhookId};
use crate::projects::TeamProjectId;
use crate::schema::{chat_integrations as chats, team_projects, webhooks};

type Condition<T> = Box<dyn BoxableExpression<T, DbBackend, SqlType = Nullable<Bool>>>;

#[derive(Debug)]
pub(super) struct PausedIntegration {
    pub(super) integration: Integration,
    pub(super) revision: i64,
    /// None for an integration of the user.
    pub(super) team: Option<TeamId>,
    /// The name that users see.
    pub(super) name: String,
}

/// Returns the condition for the user's webhooks that lost access.
fn webhook_condition(lost: &LostAccess) -> Condition<webhooks::table> {
    match lost {
        LostAccess::Credentials {
            clients, sessions, ..
        } => Box::new(
            (webhooks::client_id.eq_any(clients.clone()))
                .or(webhooks::session_id.eq_any(sessions.clone())),
        ),
        LostAccess::Role { team, .. } => Box::new(webhooks::team_id.eq(team.get())),
        LostAccess::Account { .. } => Box::new(webhooks::team_id.is_not_null().nullable()),
        LostAccess::Integration { integration, .. } => {
            let id = match integration {
                Integration::Webhook(id) => Some(*id),
                Integration::Chat(_) => None,
            };
            Box::new(webhooks::id.nullable().eq(id))
        }
    }
}

/// Returns the condition for the user's chats that lost access.
fn chat_condition(lost: &LostAccess) -> Condition<chats::table> {
    match lost {
        LostAccess::Credentials {
            clients, sessions, ..
        } => Box::new(
            (chats::client_id.eq_any(clients.clone()))
                .or(chats::session_id.eq_any(sessions.clone())),
        ),
        LostAccess::Role { team, .. } => {
            let of_team = team_projects::table.filter(team_projects::team_id.eq(team.get()));
            let of_team = of_team.select(team_projects::id);
            Box::new(chats::team_project_id.eq_any(of_team).nullable())
        }
        LostAccess::Account { .. } => Box::new(chats::team_project_id.is_not_null().nullable()),
        LostAccess::Integration { integration, .. } => {
            let id = match integration {
                Integration::Chat(id) => Some(*id),
                Integration::Webhook(_) => None,
            };
            Box::new(chats::team_project_id.nullable().eq(id))
        }
    }
}

/// Lists the owners of the integrations that lost access: none for the user, or a team.
pub(super) fn list_owners(db: &mut Db, lost: &LostAccess) -> QueryResult<Vec<Option<TeamId>>> {
    let of_webhooks: Vec<Option<TeamId>> = webhooks::table
        .filter(webhooks::status.eq(ACTIVE))
        .filter(webhooks::created_by.eq(lost.user()))
        .filter(webhook_condition(lost))
        .select(webhooks::team_id)
        .distinct()
        .load(db)?;
    let of_chats: Vec<TeamProjectId> = chats::table
        .filter(chats::status.eq(ACTIVE))
        .filter(chats::created_by.eq(lost.user()))
        .filter(chat_condition(lost))
        .select(chats::team_project_id)
        .load(db)?;
    let teams: Vec<TeamId> = team_projects::table
        .filter(team_projects::id.eq_any(of_chats))
        .select(team_projects::team_id)
        .distinct()
        .load(db)?;
    Ok(of_webhooks
        .into_iter()
        .chain(teams.into_iter().map(Some))
        .collect())
}

/// Pauses the integrations that lost access. A second call finds none.
pub(super) fn pause(
    db: &mut Db,
    lost: &LostAccess,
    now: NaiveDateTime,
) -> QueryResult<Vec<PausedIntegration>> {
    let mut paused = pause_webhooks(db, lost, now)?;
    paused.extend(pause_chats(db, lost, now)?);
    Ok(paused)
}

fn pause_webhooks(
    db: &mut Db,
    lost: &LostAccess,
    now: NaiveDateTime,
) -> QueryResult<Vec<PausedIntegration>> {
    let paused: Vec<(WebhookId, i64, Option<TeamId>, String, String)> =
        diesel::update(webhooks::table)
            .filter(webhooks::status.eq(ACTIVE))
            .filter(webhooks::created_by.eq(lost.user()))
            .filter(webhook_condition(lost))
            .set((
                webhooks::status.eq(PAUSED),
                webhooks::reason.eq(lost.reason()),
                webhooks::updated_at.eq(now),
            ))
            .returning((
                webhooks::id,
                webhooks::revision,
                webhooks::team_id,
                webhooks::description,
                webhooks::origin,
            ))
            .get_results(db)?;
    let paused = paused.into_iter();
    let paused = paused.map(|(id, revision, team, description, origin)| {
        let name = Some(description).filter(|text| !text.is_empty());
        let name = name.unwrap_or(origin);
        PausedIntegration {
            integration: Integration::Webhook(id),
            revision,
            team,
            name: format!("The webhook “{name}”"),
        }
    });
    Ok(paused.collect())
}

fn pause_chats(
    db: &mut Db,
    lost: &LostAccess,
    now: NaiveDateTime,
) -> QueryResult<Vec<PausedIntegration>> {
    let paused: Vec<(TeamProjectId, i64)> = diesel::update(chats::table)
        .filter(chats::status.eq(ACTIVE))
        .filter(chats::created_by.eq(lost.user()))
        .filter(chat_condition(lost))
        .set((
            chats::status.eq(PAUSED),
            chats::reason.eq(lost.reason()),
            chats::updated_at.eq(now),
        ))
        .returning((chats::team_project_id, chats::revision))
        .get_results(db)?;
    let ids = paused.iter().map(|(id, _)| *id);
    let projects: Vec<(TeamProjectId, TeamId, String)> = team_projects::table
        .filter(team_projects::id.eq_any(ids))
        .select((
            team_projects::id,
            team_projects::team_id,
            team_projects::name,
        ))
        .load(db)?;
    let paused = projects.into_iter().filter_map(|(id, team, name)| {
        let (_, revision) = paused.iter().find(|(paused, _)| *paused == id)?;
        Some(PausedIntegration {
            integration: Integration::Chat(id),
            revision: *revision,
            team: Some(team),
            name: format!("The chat for “{name}”"),
        })
    });
    Ok(paused.collect())
}
