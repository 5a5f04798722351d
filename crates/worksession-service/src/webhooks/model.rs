use auth_types::{TeamId, UserId};
use chrono::NaiveDateTime;
use diesel::prelude::*;
use event_types::{EventData, SessionAbandoned, SessionStarted, SessionSubmitted};

use crate::hooks::{ACTIVE, Maker, WebhookId};
use crate::schema::webhooks;

/// The most that an owner has: the places of the table's `slot`.
pub(crate) const MOST: usize = 20;

/// The status of a webhook that is gone, and what it left will be soon.
pub(super) const DELETED: &str = "deleted";

/// What a webhook may be told of.
pub(crate) const EVENTS: [&str; 3] = [
    SessionStarted::TYPE,
    SessionSubmitted::TYPE,
    SessionAbandoned::TYPE,
];

/// Whose sessions a webhook hears of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    User(UserId),
    /// Those on a team's projects. The webhook is the team's, whoever made it.
    Team(TeamId),
}

impl Owner {
    /// The columns `user_id` and `team_id`.
    pub(super) fn columns(self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::User(user) => (Some(user.get()), None),
            Self::Team(team) => (None, Some(team.get())),
        }
    }
}

#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = webhooks)]
pub(crate) struct WebhookRow {
    pub(super) id: WebhookId,
    pub(super) user_id: Option<UserId>,
    pub(super) team_id: Option<TeamId>,
    pub(super) description: String,
    pub(super) origin: String,
    pub(super) sealed: Option<String>,
    pub(super) events: String,
    pub(super) revision: i64,
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) created_at: NaiveDateTime,
    pub(super) updated_at: NaiveDateTime,
    pub(super) secret_changed_at: NaiveDateTime,
    #[diesel(select_expression = (webhooks::created_by, webhooks::client_id, webhooks::session_id))]
    pub(super) maker: Maker,
}

impl WebhookRow {
    /// Whose it is; none for a row that the table's rules do not allow.
    pub(super) fn owner(&self) -> Option<Owner> {
        let of_team = || self.team_id.map(Owner::Team);
        self.user_id.map(Owner::User).or_else(of_team)
    }

    pub(super) fn is_active(&self) -> bool {
        self.status == ACTIVE
    }
}

/// A webhook that is to hear of an event.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub(super) struct Listener {
    pub(super) id: WebhookId,
    pub(super) revision: i64,
    events: String,
}

impl Listener {
    pub(super) fn wants(&self, event_type: &str) -> bool {
        self.events.split(' ').any(|wanted| wanted == event_type)
    }
}
