//! The secret part of a webhook: its address, and the secrets that sign its deliveries.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use event_types::{WebhookSecret, WebhookTarget};
use secrecy::ExposeSecret;
use service_kit::crypto::random_bytes;
use url::Url;

use super::model::WebhookRow;
use crate::error::Error;
use crate::integrations::{Integration, WebhookId};
use crate::sealers::Sealers;

/// How long a replaced secret still signs.
const OVERLAP: TimeDelta = TimeDelta::hours(24);
/// The most secrets that sign at once.
const MAX_SECRETS: usize = 3;

/// Returns the part of an address that is shown to those who manage the webhook.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Returns a new secret: `whsec_` and the base64 of 32 random bytes.
pub(super) fn new_secret() -> WebhookSecret {
    WebhookSecret {
        secret: format!("whsec_{}", STANDARD.encode(random_bytes::<32>())),
        until: None,
    }
}

/// Replaces the current secret with a new one. The current one signs for one more day.
pub(super) fn rotate(target: &mut WebhookTarget, new: WebhookSecret, now: DateTime<Utc>) {
    delete_expired_secrets(target, now);
    for old in &mut target.secrets {
        old.until.get_or_insert(now + OVERLAP);
    }
    target.secrets.insert(0, new);
    target.secrets.truncate(MAX_SECRETS);
}

pub(super) fn delete_expired_secrets(target: &mut WebhookTarget, now: DateTime<Utc>) {
    target
        .secrets
        .retain(|secret| secret.until.is_none_or(|until| until > now));
}

/// Encrypts a target for a revision of a webhook.
pub(super) fn seal(
    sealers: &Sealers,
    id: WebhookId,
    revision: i64,
    target: &WebhookTarget,
) -> Result<String, Error> {
    let plain = serde_json::to_vec(target).map_err(Error::internal)?;
    Integration::Webhook(id).seal(sealers, revision, &plain)
}

pub(super) fn open(sealers: &Sealers, row: &WebhookRow) -> Result<WebhookTarget, Error> {
    let plain = Integration::Webhook(row.id).open(sealers, row.revision, row.sealed.as_deref())?;
    // serde's message would quote a part of the secret.
    serde_json::from_slice(plain.expose_secret())
        .map_err(|_| Error::internal("the sealed target of a webhook is unreadable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_its_origin_and_nothing_secret() {
        for (address, shown) in [
            (
                "https://hooks.example/a/secret?token=x",
                "https://hooks.example",
            ),
            ("HTTPS://Hooks.Example:8443", "https://hooks.example:8443"),
            ("https://[2001:db8::1]:443/x", "https://[2001:db8::1]"),
        ] {
            let url = address.parse::<Url>();
            assert_eq!(url.ok().as_ref().map(origin).as_deref(), Some(shown));
        }
    }

    #[test]
    fn a_replaced_secret_signs_for_a_day_and_at_most_three_sign_at_once() {
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
        delete_expired_secrets(&mut target, now + OVERLAP);
        assert_eq!(names(&target), ["d"]);
    }

    #[test]
    fn new_secrets_have_the_standard_webhooks_format_and_differ() {
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
