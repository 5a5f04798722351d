//! Symmetric signatures of Standard Webhooks 1.0.0.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use event_types::WebhookSecret;
use service_kit::crypto::hmac_sha256;

/// Returns the header `webhook-signature`: a signature for each secret that is valid at `now`, separated by spaces.
/// Returns none if there is no valid secret or one has a wrong format.
pub(super) fn sign(
    secrets: &[WebhookSecret],
    id: &str,
    now: DateTime<Utc>,
    body: &str,
) -> Option<String> {
    let signed = format!("{id}.{}.{body}", now.timestamp());
    let good = secrets
        .iter()
        .filter(|secret| secret.until.is_none_or(|until| until > now));
    let signatures = good.map(|secret| {
        let key = STANDARD
            .decode(secret.secret.strip_prefix("whsec_")?)
            .ok()?;
        let signature = hmac_sha256(&key, signed.as_bytes());
        Some(format!("v1,{}", STANDARD.encode(signature)))
    });
    let signatures: Vec<String> = signatures.collect::<Option<_>>()?;
    (!signatures.is_empty()).then(|| signatures.join(" "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use chrono::TimeDelta;

    use super::*;

    fn secret(text: &str, until: Option<DateTime<Utc>>) -> WebhookSecret {
        WebhookSecret {
            secret: text.to_owned(),
            until,
        }
    }

    #[test]
    fn the_signature_matches_the_reference_implementation() {
        // From the test suites of the libraries at standardwebhooks.com.
        let example = secret("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", None);
        let at = DateTime::from_timestamp(1_649_367_553, 0).unwrap();
        let body = r#"{"email":"test@example.com","username":"test_user"}"#;
        assert_eq!(
            sign(&[example], "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", at, body).as_deref(),
            Some("v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=")
        );
    }

    #[test]
    fn a_replaced_secret_signs_as_well_until_it_expires() {
        let now = DateTime::UNIX_EPOCH;
        let (new, old) = (
            secret("whsec_bmV3", None),
            secret("whsec_b2xk", Some(now + TimeDelta::hours(1))),
        );
        let both = sign(&[new.clone(), old.clone()], "id", now, "{}").unwrap();
        let alone =
            |secret: &WebhookSecret| sign(std::slice::from_ref(secret), "id", now, "{}").unwrap();
        assert_eq!(both, format!("{} {}", alone(&new), alone(&old)));
        let later = now + TimeDelta::hours(1);
        let one = sign(&[new.clone(), old.clone()], "id", later, "{}");
        assert_eq!(one, sign(&[new], "id", later, "{}"));
        assert_eq!(sign(&[old], "id", later, "{}"), None);
        assert_eq!(sign(&[secret("whsec_?", None)], "id", now, "{}"), None);
        assert_eq!(sign(&[secret("bmV3", None)], "id", now, "{}"), None);
    }
}
