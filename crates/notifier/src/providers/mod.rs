//! The message format of each chat. All user input is untrusted: it is escaped, its mentions are disabled, and it is
//! truncated to the chat's limits.

mod content;
mod dialect;
mod discord;
mod escape;
mod matrix;
mod mattermost;
mod ms_teams;
mod plain;
mod provider;
mod responses;
mod rocket_chat;
mod slack;
mod zulip;

pub(crate) use provider::{ChatAdapter, ChatRequest, Notification};
pub(crate) use responses::PostOutcome;

use event_types::{ChatDestination, ChatProvider};

/// Returns the adapter of a chat.
pub(crate) fn chat(provider: ChatProvider) -> &'static dyn ChatAdapter {
    match provider {
        ChatProvider::Slack => &slack::Slack,
        ChatProvider::MsTeams => &ms_teams::MsTeams,
        ChatProvider::Discord => &discord::Discord,
        ChatProvider::Mattermost => &mattermost::Mattermost,
        ChatProvider::RocketChat => &rocket_chat::RocketChat,
        ChatProvider::Zulip => &zulip::Zulip,
        ChatProvider::Matrix => &matrix::Matrix,
    }
}

/// Returns the HTTP call that posts these notifications; none for an empty list.
pub(crate) fn call(
    destination: &ChatDestination,
    channel: &str,
    transaction: &str,
    notifications: &[Notification],
) -> Option<ChatRequest> {
    if notifications.is_empty() {
        return None;
    }
    let chat = chat(destination.provider);
    let body = chat.write(notifications, channel);
    chat.call(&destination.address, transaction, body)
}

#[cfg(test)]
mod tests;
