use serde::{Deserialize, Serialize};

/// The kind of address that a chat has; see [`ChatAddress`](crate::ChatAddress).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressKind {
    /// The URL of an incoming webhook.
    Hook,
    /// A room, and the access token of a user that posts there.
    Room,
}

macro_rules! chat_providers {
    ($($chat:ident $name:literal $label:literal $address:ident;)*) => {
        /// A chat that can show a project's notifications.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum ChatProvider {
            $(#[doc = $label] #[serde(rename = $name)] $chat,)*
        }

        impl ChatProvider {
            /// Every chat, in the order of lists.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$chat),*];

            /// Returns the name in requests, events and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$chat => $name,)* }
            }

            /// Returns the product's name, as its vendor writes it.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$chat => $label,)* }
            }

            /// Returns the kind of its addresses.
            #[must_use]
            pub const fn address_kind(self) -> AddressKind {
                match self { $(Self::$chat => AddressKind::$address,)* }
            }
        }
    };
}

chat_providers! {
    Slack "slack" "Slack" Hook;
    MsTeams "msteams" "Microsoft Teams" Hook;
    Discord "discord" "Discord" Hook;
    Mattermost "mattermost" "Mattermost" Hook;
    RocketChat "rocketchat" "Rocket.Chat" Hook;
    Zulip "zulip" "Zulip" Hook;
    Matrix "matrix" "Matrix" Room;
}

impl ChatProvider {
    /// Returns the chat with this [`name`](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chat_provider_is_documented() {
        let page = include_str!("../../../docs/chats.md");
        for chat in ChatProvider::ALL {
            let row = format!("\n| `{}` | `", chat.name());
            assert!(page.contains(&row), "docs/chats.md has no row {row}");
        }
    }
}
