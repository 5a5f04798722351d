//! The secret half of a webhook: where it goes and what signs its calls.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use event_types::{WebhookConfigured, WebhookSecret, WebhookTarget};
use secrecy::ExposeSecret;
use service_kit::crypto::random_bytes;
use service_kit::guard::{GuardError, GuardedClient};
use url::Url;

use super::model::WebhookRow;
use crate::error::Error;
use crate::sealers::Sealers;

/// Longer than any address that a service gives out.
const MAX_URL_BYTES: usize = 2_048;
/// How long a secret that was replaced still signs.
const OVERLAP: TimeDelta = TimeDelta::hours(24);
/// The most secrets that sign at once.
const MOST_SECRETS: usize = 3;

/// Reads where calls are to go. Whether the address may be called is judged when it is called.
pub(super) fn read_url(address: &str, guard: &GuardedClient) -> Result<Url, Error> {
    if address.len() > MAX_URL_BYTES {
        return Err(Error::invalid("url is too long"));
    }
    let url = guard.check_url(address).map_err(|cause| {
        Error::invalid(match cause {
            GuardError::SchemeNotAllowed => "url must start with https://",
            _ => "url is not a valid address",
        })
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::invalid(
            "url must not contain a user name or password",
        ));
    }
    Ok(url)
}

/// What of an address is shown to those who manage the webhook.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// A new secret: `whsec_` and the base64 of 32 random bytes.
pub(super) fn new_secret() -> WebhookSecret {
    WebhookSecret {
        secret: format!("whsec_{}", STANDARD.encode(random_bytes::<32>())),
        until: None,
    }
}

/// Puts a new secret in the place of the one that is good; that one signs for a day more.
pub(super) fn rotate(target: &mut WebhookTarget, new: WebhookSecret, now: DateTime<Utc>) {
    drop_expired(target, now);
    for old in &mut target.secrets {
        old.until.get_or_insert(now + OVERLAP);
    }
    target.secrets.insert(0, new);
    target.secrets.truncate(MOST_SECRETS);
}

/// Forgets secrets whose time is over.
pub(super) fn drop_expired(target: &mut WebhookTarget, now: DateTime<Utc>) {
    target
        .secrets
        .retain(|secret| secret.until.is_none_or(|until| until > now));
}

/// Seals a target for a webhook's revision.
pub(super) fn seal(
    sealers: &Sealers,
    webhook_id: i64,
    revision: i64,
    target: &WebhookTarget,
) -> Result<String, Error> {
    let plain = serde_json::to_vec(target).map_err(Error::internal)?;
    let context = WebhookConfigured::seal_context(webhook_id, revision);
    let sealed = sealers.webhooks.seal(&context, &plain);
    sealed.map_err(Error::internal)
}

/// Opens what a webhook has.
pub(super) fn open(sealers: &Sealers, row: &WebhookRow) -> Result<WebhookTarget, Error> {
    let context = WebhookConfigured::seal_context(row.id.get(), row.revision);
    let sealed = row.sealed.as_deref().unwrap_or_default();
    let plain = sealers.webhooks.open(&context, sealed);
    let plain = plain.map_err(Error::internal)?;
    // serde's message would quote what it stumbled over.
    serde_json::from_slice(plain.expose_secret())
        .map_err(|_| Error::internal("what a webhook has sealed is no target"))
}

#[cfg(test)]
mod tests {
    use service_kit::guard::GuardOptions;

    use super::*;

    fn read(address: &str) -> Result<Url, Error> {
        let guard = GuardedClient::new(GuardOptions::default()).map_err(Error::internal)?;
        read_url(address, &guard)
    }

    #[test]
    fn an_address_shows_its_origin_and_nothing_of_what_may_be_secret() {
        for (address, shown) in [
            (
                "https://hooks.example/a/secret?token=x",
                "https://hooks.example",
            ),
            ("HTTPS://Hooks.Example:8443", "https://hooks.example:8443"),
            ("https://[2001:db8::1]:443/x", "https://[2001:db8::1]"),
        ] {
            assert_eq!(
                read(address).ok().as_ref().map(origin).as_deref(),
                Some(shown)
            );
        }
    }

    #[test]
    fn what_cannot_be_an_address_is_refused() {
        let long = format!("https://h.example/{}", "x".repeat(MAX_URL_BYTES));
        for address in [
            "",
            "h.example/x",
            "http://h.example/x",
            "ftp://h.example/x",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://",
            "https://user:secret@h.example/x",
            &long,
        ] {
            assert!(matches!(read(address), Err(Error::Invalid(_))), "{address}");
        }
    }

    #[test]
    fn a_replaced_secret_signs_for_a_day_and_a_few_at_most_sign_at_once() {
        let named = |name: &str| WebhookSecret {
            secret: name.to_owned(),
            until: None,
        };
        let mut target = WebhookTarget {
            url: String::new(),
            secrets: vec![named("a")],
        };
        let mut now = DateTime::UNIX_EPOCH;
        let names = |target: &WebhookTarget| -> Vec<String> {
            target
                .secrets
                .iter()
                .map(|one| one.secret.clone())
                .collect()
        };
        rotate(&mut target, named("b"), now);
        assert_eq!(names(&target), ["b", "a"]);
        assert_eq!(target.secrets.first().and_then(|one| one.until), None);
        assert_eq!(
            target.secrets.last().and_then(|one| one.until),
            Some(now + OVERLAP)
        );
        now += TimeDelta::hours(1);
        rotate(&mut target, named("c"), now);
        rotate(&mut target, named("d"), now);
        assert_eq!(names(&target), ["d", "c", "b"]);
        drop_expired(&mut target, now + OVERLAP);
        assert_eq!(names(&target), ["d"]);
    }

    #[test]
    fn secrets_have_the_form_of_standard_webhooks_and_differ() {
        let (one, other) = (new_secret().secret, new_secret().secret);
        assert_ne!(one, other);
        let bytes = one.strip_prefix("whsec_").map(|text| STANDARD.decode(text));
        assert!(
            matches!(bytes, Some(Ok(bytes)) if bytes.len() == 32),
            "{}",
            one.len()
        );
    }
}
