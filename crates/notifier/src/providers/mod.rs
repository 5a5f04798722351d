//! The message format of each chat. All user input is untrusted: it is escaped, its mentions are disabled, and it is
//! truncated to the chat's limits.

mod answers;
mod article;
mod discord;
mod escape;
mod matrix;
mod mattermost;
mod ms_teams;
mod plain;
mod provider;
mod rocket_chat;
mod slack;
mod tongue;
mod zulip;

pub(crate) use answers::PostOutcome;
pub(crate) use provider::{ChatAdapter, ChatRequest, Notice};

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
    notices: &[Notice],
) -> Option<ChatRequest> {
    if notices.is_empty() {
        return None;
    }
    let chat = chat(destination.provider);
    let body = chat.write(notices, channel);
    chat.call(&destination.address, transaction, body)
}

#[cfg(test)]
mod tests;
