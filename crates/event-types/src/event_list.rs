//! Every event with its type, its exchange and its subject.

use crate::{
    ChatTestRequested, ChatTested, EventData, Exchange, IntegrationConfigured, IntegrationDisabled,
    LogoutRequested, MailRequested, MembershipChanged, NotificationDelivered, NotificationFailed,
    NotificationSkipped, SessionAbandoned, SessionRevoked, SessionStarted, SessionSubmitted,
    TeamChanged, UserChanged, WebhookAttempted, WebhookConfigured, WebhookDisabled, WebhookDue,
    WebhookReplayed, WebhookTest,
};

macro_rules! events {
    ($($data:ident = $name:literal on $exchange:ident, $what:literal of $($id:ident).+;)*) => {
        $(impl EventData for $data {
            const TYPE: &'static str = $name;
            const EXCHANGE: Exchange = Exchange::$exchange;

            fn subject(&self) -> String {
                format!("{}/{}", $what, self.$($id).+)
            }
        })*
    };
}

events! {
    SessionStarted = "session.started.v1" on Public, "session" of session_id;
    SessionSubmitted = "session.submitted.v1" on Public, "session" of session_id;
    SessionAbandoned = "session.abandoned.v1" on Public, "session" of session_id;
    SessionRevoked = "identity.session_revoked.v1" on Public, "user" of user_id;
    UserChanged = "identity.user_changed.v1" on Public, "user" of user_id;
    MembershipChanged = "identity.membership_changed.v1" on Public, "team" of team.id;
    TeamChanged = "identity.team_changed.v1" on Public, "team" of team.id;
    IntegrationConfigured = "integration.configured.v1" on Private, "team-project" of project_id;
    IntegrationDisabled = "integration.disabled.v1" on Public, "team-project" of project_id;
    ChatTestRequested = "chat.test_requested.v1" on Private, "team-project" of project_id;
    ChatTested = "chat.tested.v1" on Public, "team-project" of project_id;
    LogoutRequested = "identity.logout_requested.v1" on Private, "client" of client_id;
    MailRequested = "mail.requested.v1" on Private, "mail" of template;
    NotificationDelivered = "notification.delivered.v1" on Public, "session" of notification.session_id;
    NotificationFailed = "notification.failed.v1" on Public, "session" of notification.session_id;
    NotificationSkipped = "notification.skipped.v1" on Public, "session" of notification.session_id;
    WebhookConfigured = "webhook.configured.v1" on Private, "webhook" of webhook_id;
    WebhookDue = "webhook.due.v1" on Private, "webhook" of webhook_id;
    WebhookReplayed = "webhook.replayed.v1" on Private, "webhook" of webhook_id;
    WebhookTest = "webhook.test.v1" on Private, "webhook" of webhook_id;
    WebhookAttempted = "webhook.attempted.v1" on Public, "webhook" of webhook_id;
    WebhookDisabled = "webhook.disabled.v1" on Public, "webhook" of webhook_id;
}
