use service_kit::names::is_readable;

use crate::error::Error;

/// The rule for a line of text that users read as a name.
pub(crate) const READABLE: &str =
    "be a single line without control characters, invisible ones or ones that turn text";

/// The maximum number of characters in the name of a project or channel.
const NAME_CHARS: usize = 100;
const DESCRIPTION_CHARS: usize = 2_000;

/// Parses the field `name` of a project: one line of 1 to 100 characters.
pub(crate) fn parse_name(text: &str) -> Result<String, Error> {
    let text = parse_line("name", text, NAME_CHARS)?;
    if text.is_empty() {
        return Err(Error::invalid("name must not be empty"));
    }
    Ok(text)
}

/// Parses the field `name` where it is required.
pub(crate) fn parse_required_name(text: Option<&str>) -> Result<String, Error> {
    parse_name(text.ok_or_else(|| Error::invalid("name is required"))?)
}

/// Parses the field `description` of a project: up to 2,000 characters, line breaks allowed.
pub(crate) fn parse_description(text: &str) -> Result<String, Error> {
    if text.chars().count() > DESCRIPTION_CHARS {
        return Err(Error::invalid(
            "description must have at most 2000 characters",
        ));
    }
    Ok(text.to_owned())
}

/// Parses the field `chat_channel`, the display name of a chat channel: one line of up to 100 characters.
pub(crate) fn parse_channel(text: &str) -> Result<String, Error> {
    parse_line("chat_channel", text, NAME_CHARS)
}

/// Parses a field that users read as one line, of up to `max` characters.
pub(crate) fn parse_line(field: &'static str, text: &str, max: usize) -> Result<String, Error> {
    let text = text.trim();
    if text.chars().count() > max {
        return Err(Error::invalid(format!(
            "{field} must have at most {max} characters"
        )));
    }
    if !is_readable(text) {
        return Err(Error::invalid(format!("{field} must {READABLE}")));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_trimmed_line_of_1_to_100_characters() {
        assert_eq!(
            parse_name("  Ein Gerüst ").ok().as_deref(),
            Some("Ein Gerüst")
        );
        assert!(parse_name(&"ü".repeat(100)).is_ok());
        for text in ["", "   ", "a\nb", "a\u{7f}", &"x".repeat(101)] {
            assert!(
                matches!(parse_name(text), Err(Error::Invalid(_))),
                "{text:?}"
            );
        }
        assert!(matches!(parse_required_name(None), Err(Error::Invalid(_))));
    }

    #[test]
    fn a_description_may_have_lines_and_2000_characters() {
        assert!(parse_description(&"ü\n".repeat(1_000)).is_ok());
        assert!(matches!(
            parse_description(&"x".repeat(2_001)),
            Err(Error::Invalid(_))
        ));
    }
}
