use service_kit::guard::{GuardError, GuardedClient};
use url::Url;

use crate::error::Error;

/// The maximum length of an address, longer than any that a service issues.
const MAX_BYTES: usize = 2_048;

/// Parses the address in a field of a body. Whether it may be called is checked at each call.
pub(crate) fn parse_url(
    field: &str,
    text: Option<&str>,
    guard: &GuardedClient,
) -> Result<Url, Error> {
    let invalid = |rule: &str| Error::invalid(format!("{field} {rule}"));
    let address = text.ok_or_else(|| invalid("is required"))?;
    if address.len() > MAX_BYTES {
        return Err(invalid("is too long"));
    }
    let url = guard.check_url(address).map_err(|cause| match cause {
        GuardError::SchemeNotAllowed => invalid("must start with https://"),
        _ => invalid("is not a valid address"),
    })?;
    // Some clients send these as Basic authentication and others drop them. No service uses them in its webhook URLs.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("must not contain a user name or password"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use service_kit::guard::GuardOptions;

    use super::*;

    #[test]
    fn an_invalid_address_is_refused() {
        let guard = GuardedClient::new(GuardOptions::default()).expect("a client");
        let parse = |address| parse_url("url", address, &guard);
        assert!(parse(Some("https://h.example/x")).is_ok());
        let long = format!("https://h.example/{}", "x".repeat(MAX_BYTES));
        for address in [
            None,
            Some(""),
            Some("h.example/x"),
            Some("http://h.example/x"),
            Some("ftp://h.example/x"),
            Some("file:///etc/passwd"),
            Some("javascript:alert(1)"),
            Some("https://"),
            Some("https://user:secret@h.example/x"),
            Some(&long),
        ] {
            assert!(
                matches!(parse(address), Err(Error::Invalid(_))),
                "{address:?}"
            );
        }
    }
}
