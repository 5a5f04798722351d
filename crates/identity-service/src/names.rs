//! Names of teams and OAuth clients.

use service_kit::names::is_readable;

use crate::error::Error;

const MAX_NAME_CHARS: usize = 100;

/// Parses the name of a team or an OAuth client, without surrounding white space.
pub(crate) fn parse_name(text: &str) -> Result<String, Error> {
    let name = text.trim().to_owned();
    if !(1..=MAX_NAME_CHARS).contains(&name.chars().count()) || !is_readable(&name) {
        return Err(Error::Validation(
            "name must have 1 to 100 characters, without control, invisible or bidirectional formatting characters"
                .into(),
        ));
    }
    Ok(name)
}
