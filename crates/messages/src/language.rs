use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};
use unic_langid::LanguageIdentifier;

/// The message files of English, one per area.
pub(crate) const ENGLISH_FILES: [&str; 17] = [
    include_str!("../en/account.ftl"),
    include_str!("../en/admin.ftl"),
    include_str!("../en/chat.ftl"),
    include_str!("../en/common.ftl"),
    include_str!("../en/dashboard.ftl"),
    include_str!("../en/entry.ftl"),
    include_str!("../en/history.ftl"),
    include_str!("../en/identity.ftl"),
    include_str!("../en/mail.ftl"),
    include_str!("../en/oauth.ftl"),
    include_str!("../en/preferences.ftl"),
    include_str!("../en/projects.ftl"),
    include_str!("../en/sessions.ftl"),
    include_str!("../en/team.ftl"),
    include_str!("../en/teams.ftl"),
    include_str!("../en/today.ftl"),
    include_str!("../en/webhooks.ftl"),
];

pub(crate) static ENGLISH: LazyLock<Language> =
    LazyLock::new(|| Language::new("en", &ENGLISH_FILES));

/// The messages of one language.
pub(crate) struct Language(FluentBundle<FluentResource>);

impl Language {
    /// Reads the message files of a language. A malformed message is left out; a test finds it.
    pub(crate) fn new(name: &str, files: &[&str]) -> Self {
        let identifier: LanguageIdentifier = name.parse().unwrap_or_default();
        let mut bundle = FluentBundle::new_concurrent(vec![identifier]);
        // Marks around placeholders, for text in both directions, are shown as boxes by some mail programs.
        bundle.set_use_isolating(false);
        for file in files {
            let resource = FluentResource::try_new((*file).to_owned());
            bundle.add_resource_overriding(resource.unwrap_or_else(|(resource, _)| resource));
        }
        Self(bundle)
    }

    /// Formats a message, or returns the id of an unknown one.
    pub(crate) fn format(&self, id: &str, arguments: &FluentArgs<'_>) -> String {
        let pattern = self.0.get_message(id).and_then(|message| message.value());
        let mut errors = Vec::new();
        pattern.map_or_else(
            || id.to_owned(),
            |pattern| {
                self.0
                    .format_pattern(pattern, Some(arguments), &mut errors)
                    .into_owned()
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use fluent_bundle::FluentResource;

    use super::*;

    #[test]
    fn every_file_is_valid() {
        for file in ENGLISH_FILES {
            let read = FluentResource::try_new(file.to_owned());
            assert!(read.is_ok(), "{:?}", read.err().map(|(_, errors)| errors));
        }
    }
}
