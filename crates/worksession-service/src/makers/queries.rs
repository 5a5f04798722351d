use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::statement::{Statement, arguments};
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamp};

use super::model::{Paused, Withdrawn};
use crate::contacts::Hook;
use crate::projects::TeamProjectId;
use crate::webhooks::WebhookId;

arguments! {
    /// Which hooks are meant, and what is said of them.
    struct Meant {
        user_id: i64 as BigInt,
        clients: String as Text,
        sessions: String as Text,
        team_id: Option<i64> as Nullable<BigInt>,
        of_teams: bool as Bool,
        webhook_id: Option<i64> as Nullable<BigInt>,
        project_id: Option<i64> as Nullable<BigInt>,
        reason: String as Text,
        now: NaiveDateTime as Timestamp,
    }
}

impl Meant {
    fn of(withdrawn: &Withdrawn, now: NaiveDateTime) -> Self {
        let mut meant = Self {
            user_id: withdrawn.user().get(),
            clients: String::new(),
            sessions: String::new(),
            team_id: None,
            of_teams: false,
            webhook_id: None,
            project_id: None,
            reason: withdrawn.reason().to_owned(),
            now,
        };
        match withdrawn {
            Withdrawn::Access {
                clients, sessions, ..
            } => {
                // An id is in the list if taking it out changes the list, on either database.
                let list = |ids: &[String]| -> String {
                    ids.iter().map(|id| format!("\n{id}\n")).collect()
                };
                (meant.clients, meant.sessions) = (list(clients), list(sessions));
            }
            Withdrawn::Role { team, .. } => meant.team_id = Some(team.get()),
            Withdrawn::Account { .. } => meant.of_teams = true,
            Withdrawn::Hook { hook, .. } => match hook {
                Hook::Webhook(id) => meant.webhook_id = Some(id.get()),
                Hook::Chat(project) => meant.project_id = Some(project.get()),
            },
        }
        meant
    }
}

/// Whose hooks are meant: the user's own (none), and teams.
pub(super) fn owners(db: &mut Db, withdrawn: &Withdrawn) -> QueryResult<Vec<Option<TeamId>>> {
    const TEXT: &str = "SELECT team_id FROM a, webhooks WHERE status = 'active' AND created_by = p_user_id \
        AND (id = p_webhook_id OR team_id = p_team_id OR p_of_teams AND team_id IS NOT NULL \
            OR replace(p_clients, '\n' || client_id || '\n', '') <> p_clients \
            OR replace(p_sessions, '\n' || session_id || '\n', '') <> p_sessions) \
        UNION SELECT project.team_id FROM a, chat_integrations, team_projects AS project \
        WHERE project.id = team_project_id AND status = 'active' AND created_by = p_user_id \
        AND (project.id = p_project_id OR project.team_id = p_team_id OR p_of_teams \
            OR replace(p_clients, '\n' || client_id || '\n', '') <> p_clients \
            OR replace(p_sessions, '\n' || session_id || '\n', '') <> p_sessions)";
    let meant = Meant::of(withdrawn, NaiveDateTime::default());
    let owners: Vec<Option<i64>> =
        on_backend!(db, conn => Statement::<_, Nullable<BigInt>>::new(|| TEXT, &meant).load(conn))?;
    Ok(owners
        .into_iter()
        .map(|id| id.and_then(TeamId::new))
        .collect())
}

/// Pauses the hooks that are meant; a second call finds none.
pub(super) fn pause(
    db: &mut Db,
    withdrawn: &Withdrawn,
    now: NaiveDateTime,
) -> QueryResult<Vec<Paused>> {
    const WEBHOOKS: &str = "UPDATE webhooks SET status = 'paused', reason = p_reason, updated_at = p_now FROM a \
        WHERE status = 'active' AND created_by = p_user_id \
        AND (id = p_webhook_id OR team_id = p_team_id OR p_of_teams AND team_id IS NOT NULL \
            OR replace(p_clients, '\n' || client_id || '\n', '') <> p_clients \
            OR replace(p_sessions, '\n' || session_id || '\n', '') <> p_sessions) \
        RETURNING id, revision, team_id, CASE description WHEN '' THEN origin ELSE description END";
    // On SQLite only the updated table can be returned.
    const CHATS: &str = "UPDATE chat_integrations SET status = 'paused', reason = p_reason, updated_at = p_now \
        FROM a, team_projects AS project \
        WHERE project.id = team_project_id AND status = 'active' AND created_by = p_user_id \
        AND (project.id = p_project_id OR project.team_id = p_team_id OR p_of_teams \
            OR replace(p_clients, '\n' || client_id || '\n', '') <> p_clients \
            OR replace(p_sessions, '\n' || session_id || '\n', '') <> p_sessions) \
        RETURNING team_project_id, revision, (SELECT team_id FROM team_projects WHERE id = team_project_id), \
            (SELECT name FROM team_projects WHERE id = team_project_id)";
    type Row = (BigInt, BigInt, Nullable<BigInt>, Text);
    let meant = Meant::of(withdrawn, now);
    let webhooks: Vec<(WebhookId, i64, Option<TeamId>, String)> =
        on_backend!(db, conn => Statement::<_, Row>::new(|| WEBHOOKS, &meant).load(conn))?;
    let chats: Vec<(TeamProjectId, i64, Option<TeamId>, String)> =
        on_backend!(db, conn => Statement::<_, Row>::new(|| CHATS, &meant).load(conn))?;
    let webhooks = webhooks
        .into_iter()
        .map(|(id, revision, team, name)| Paused {
            hook: Hook::Webhook(id),
            revision,
            team,
            name: format!("The webhook “{name}”"),
        });
    let chats = chats.into_iter().map(|(id, revision, team, name)| Paused {
        hook: Hook::Chat(id),
        revision,
        team,
        name: format!("The chat of “{name}”"),
    });
    Ok(webhooks.chain(chats).collect())
}
