use auth_types::{TeamId, UserId};
use chrono::NaiveDateTime;
use diesel::prelude::*;
use event_types::{EventData, SessionAbandoned, SessionStarted, SessionSubmitted};

use crate::integrations::{ACTIVE, IntegrationCreator, WebhookId};
use crate::schema::webhooks;

/// The most webhooks of one owner: the values of the column `slot`.
pub(crate) const MAX_WEBHOOKS: usize = 20;

/// The status of a deleted webhook, until its log is deleted too.
pub(super) const DELETED: &str = "deleted";

/// The event types to which a webhook can subscribe.
pub(crate) const EVENTS: [&str; 3] = [
    SessionStarted::TYPE,
    SessionSubmitted::TYPE,
    SessionAbandoned::TYPE,
];

/// Whose sessions a webhook receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WebhookOwner {
    User(UserId),
    /// Sessions on the team's projects. The webhook belongs to the team, not to its creator.
    Team(TeamId),
}

impl WebhookOwner {
    /// Returns the columns `user_id` and `team_id`.
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
    pub(super) creator: IntegrationCreator,
}

impl WebhookRow {
    /// Returns the owner; none for a row that the table's constraints do not allow.
    pub(super) fn owner(&self) -> Option<WebhookOwner> {
        let of_team = || self.team_id.map(WebhookOwner::Team);
        self.user_id.map(WebhookOwner::User).or_else(of_team)
    }

    pub(super) fn is_active(&self) -> bool {
        self.status == ACTIVE
    }
}

/// A webhook that may subscribe to an event.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub(super) struct WebhookSubscriber {
    pub(super) id: WebhookId,
    pub(super) revision: i64,
    events: String,
}

impl WebhookSubscriber {
    pub(super) fn is_subscribed_to(&self, event_type: &str) -> bool {
        self.events.split(' ').any(|wanted| wanted == event_type)
    }
}
