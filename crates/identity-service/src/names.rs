//! Names of teams, OAuth clients and people.

use service_kit::names::is_readable;

use crate::error::Error;

const MAX_NAME_CHARS: usize = 100;

/// Parses the name of a team or an OAuth client, without surrounding white space.
pub(crate) fn parse_name(text: &str) -> Result<String, Error> {
    parse_name_in("name", text)
}

/// Parses a name as [`parse_name`]. The error begins with the name of the field.
pub(crate) fn parse_name_in(field: &str, text: &str) -> Result<String, Error> {
    let name = text.trim().to_owned();
    if !(1..=MAX_NAME_CHARS).contains(&name.chars().count()) || !is_readable(&name) {
        let rule = "must have 1 to 100 characters, without control, invisible or bidirectional formatting characters";
        return Err(Error::Validation(format!("{field} {rule}").into()));
    }
    Ok(name)
}
