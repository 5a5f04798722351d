use std::borrow::Cow;

use service_kit::names::is_readable;

use crate::error::Error;

/// What a line of text must do that people read as a name.
pub(crate) const READABLE: &str =
    "be a single line without control characters, invisible ones or ones that turn text";

/// Characters of a project's name and of a channel's.
const NAME_CHARS: usize = 100;
/// Characters of a description.
const DESCRIPTION_CHARS: usize = 2_000;

/// A project's name: one line of 1 to 100 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectName(String);

/// A project's description: up to 2,000 characters, line breaks allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Description(String);

/// The name of a chat channel for people: one line of up to 100 characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChannelName(String);

impl ProjectName {
    /// Reads the field `name`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let text = line("name", text)?;
        if text.is_empty() {
            return Err(Error::invalid("name must not be empty"));
        }
        Ok(Self(text))
    }

    /// Reads the field `name` where it is required.
    pub(crate) fn required(text: Option<&str>) -> Result<Self, Error> {
        Self::parse(text.ok_or_else(|| Error::invalid("name is required"))?)
    }
}

impl Description {
    /// Reads the field `description`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if text.chars().count() > DESCRIPTION_CHARS {
            return Err(Error::invalid(
                "description must have at most 2000 characters",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl ChannelName {
    /// Reads the field `chat_channel`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        line("chat_channel", text).map(Self)
    }
}

macro_rules! into_string {
    ($($name:ident),*) => {
        $(impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        })*
    };
}

into_string!(ProjectName, Description, ChannelName);

fn line(field: &'static str, text: &str) -> Result<String, Error> {
    let text = text.trim();
    let refuse = |rule: &str| Error::Invalid(Cow::Owned(format!("{field} must {rule}")));
    if text.chars().count() > NAME_CHARS {
        return Err(refuse("have at most 100 characters"));
    }
    if !is_readable(text) {
        return Err(refuse(READABLE));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_trimmed_line_of_1_to_100_characters() {
        assert_eq!(
            ProjectName::parse("  Ein Gerüst ")
                .ok()
                .map(String::from)
                .as_deref(),
            Some("Ein Gerüst")
        );
        assert!(ProjectName::parse(&"ü".repeat(100)).is_ok());
        for text in ["", "   ", "a\nb", "a\u{7f}", &"x".repeat(101)] {
            assert!(
                matches!(ProjectName::parse(text), Err(Error::Invalid(_))),
                "{text:?}"
            );
        }
        assert!(matches!(
            ProjectName::required(None),
            Err(Error::Invalid(_))
        ));
    }

    #[test]
    fn a_description_may_have_lines_and_2000_characters() {
        assert!(Description::parse(&"ü\n".repeat(1_000)).is_ok());
        assert!(matches!(
            Description::parse(&"x".repeat(2_001)),
            Err(Error::Invalid(_))
        ));
    }
}
