use event_types::ChatDestination;
use service_kit::guard::{GuardError, GuardedClient};

use super::wire::PutChatRequest;
use crate::error::Error;

/// The chats that the notifier can post to.
const PROVIDERS: [&str; 1] = ["slack"];
/// Longer than any hook of a known chat.
const MAX_URL_BYTES: usize = 2_048;

/// Reads where notifications are to go. Whether the address may be called is judged when it is called.
pub(super) fn read(
    request: PutChatRequest,
    guard: &GuardedClient,
) -> Result<ChatDestination, Error> {
    let provider = request
        .provider
        .ok_or_else(|| Error::invalid("provider is required"))?;
    if !PROVIDERS.contains(&provider.as_str()) {
        return Err(Error::invalid(format!(
            "provider must be one of: {}",
            PROVIDERS.join(", ")
        )));
    }
    let address = request
        .webhook_url
        .ok_or_else(|| Error::invalid("webhook_url is required"))?;
    if address.len() > MAX_URL_BYTES {
        return Err(Error::invalid("webhook_url is too long"));
    }
    let url = guard.check_url(&address).map_err(|cause| {
        Error::invalid(match cause {
            GuardError::SchemeNotAllowed => "webhook_url must start with https://",
            _ => "webhook_url is not a valid address",
        })
    })?;
    // Sent as Basic authentication by some clients and dropped by others; no chat's hook has it.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::invalid(
            "webhook_url must not contain a user name or password",
        ));
    }
    Ok(ChatDestination {
        provider,
        webhook_url: url.into(),
    })
}

#[cfg(test)]
mod tests {
    use service_kit::guard::GuardOptions;

    use super::*;

    fn read_pair(provider: Option<&str>, address: Option<&str>) -> Result<ChatDestination, Error> {
        let guard = GuardedClient::new(GuardOptions::default()).map_err(Error::internal)?;
        let request = PutChatRequest {
            provider: provider.map(Into::into),
            webhook_url: address.map(Into::into),
        };
        read(request, &guard)
    }

    #[test]
    fn a_slack_hook_over_https_is_taken() {
        let read = read_pair(
            Some("slack"),
            Some("https://hooks.slack.example/services/T0/B0/x"),
        );
        assert_eq!(
            read.ok().map(|to| to.webhook_url).as_deref(),
            Some("https://hooks.slack.example/services/T0/B0/x")
        );
    }

    #[test]
    fn what_cannot_be_a_hook_is_refused() {
        let long = format!("https://h.example/{}", "x".repeat(MAX_URL_BYTES));
        let refused = [
            (None, Some("https://h.example/x")),
            (Some("slack"), None),
            (Some("Slack"), Some("https://h.example/x")),
            (Some("pager"), Some("https://h.example/x")),
            (Some("slack"), Some("")),
            (Some("slack"), Some("h.example/x")),
            (Some("slack"), Some("http://h.example/x")),
            (Some("slack"), Some("ftp://h.example/x")),
            (Some("slack"), Some("file:///etc/passwd")),
            (Some("slack"), Some("javascript:alert(1)")),
            (Some("slack"), Some("https://")),
            (Some("slack"), Some("https://user:secret@h.example/x")),
            (Some("slack"), Some(long.as_str())),
        ];
        for (provider, address) in refused {
            assert!(
                matches!(read_pair(provider, address), Err(Error::Invalid(_))),
                "{provider:?} {address:?}"
            );
        }
    }
}
