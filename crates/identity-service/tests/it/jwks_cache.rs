//! Programs that cache the public keys for the `max-age` of the JWKS.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use test_kit::wait_until;

use crate::oauth_fixture::OAuth;
use crate::rotation::kid;

/// A program that verifies tokens with its copy of the keys. It reads them again only when the copy is too old.
struct Verifier {
    known: BTreeSet<String>,
    read_at: DateTime<Utc>,
    max_age: TimeDelta,
}

impl Verifier {
    async fn start(oauth: &OAuth) -> Self {
        let (known, max_age) = published(oauth).await;
        Self {
            known,
            read_at: oauth.identity.clock.now(),
            max_age,
        }
    }

    /// Returns whether the copy contains the key of a token.
    async fn knows(&mut self, oauth: &OAuth, token: &str) -> bool {
        if oauth.identity.clock.now() - self.read_at > self.max_age {
            *self = Self::start(oauth).await;
        }
        self.known.contains(&kid(token))
    }
}

/// Returns the ids of the published keys, and how long they may be cached.
async fn published(oauth: &OAuth) -> (BTreeSet<String>, TimeDelta) {
    let call = oauth.identity.api.get("/.well-known/jwks.json");
    let reply = call.send().await.expect(200);
    let max_age = reply
        .header("cache-control")
        .strip_prefix("public, max-age=");
    let max_age = TimeDelta::seconds(max_age.unwrap().parse().unwrap());
    let body = reply.json();
    let keys = body["keys"].as_array().unwrap().iter();
    let kids = keys.map(|key: &Value| key["kid"].as_str().unwrap().to_owned());
    (kids.collect(), max_age)
}

/// Returns the ID tokens of a client for ES256 and of one for RS256.
async fn id_tokens(oauth: &OAuth) -> [String; 2] {
    let mut tokens = Vec::new();
    for client in ["web", "native"] {
        let pair = oauth.tokens(client, "openid").await;
        tokens.push(pair["id_token"].as_str().unwrap().to_owned());
    }
    tokens.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn cached_keys_verify_every_id_token_before_during_and_after_a_rotation() {
    let oauth = OAuth::start_with(|config| {
        config.housekeeping_seconds = 1;
        config.keys.rotate_days = 1;
    })
    .await;
    oauth
        .identity
        .sql("UPDATE oauth_clients SET id_token_alg = 'RS256' WHERE id = 'native'");
    // They read the keys before the first RS256 token was issued, at each phase of the rotation.
    let mut verifiers = Vec::new();
    for _ in 0..6 {
        verifiers.push(Verifier::start(&oauth).await);
        oauth.identity.hand.advance(TimeDelta::minutes(1));
    }
    let mut seen = [BTreeSet::new(), BTreeSet::new()];
    let mut check = async |verifiers: &mut [Verifier]| {
        for (token, seen) in id_tokens(&oauth).await.iter().zip(&mut seen) {
            for verifier in verifiers.iter_mut() {
                assert!(verifier.knows(&oauth, token).await, "an unknown kid");
            }
            seen.insert(kid(token));
        }
    };
    check(&mut verifiers).await;
    // The keys reach their age while the copies of the verifiers are of different ages.
    oauth
        .identity
        .hand
        .advance(TimeDelta::days(1) - TimeDelta::minutes(10));
    for verifier in &mut verifiers {
        *verifier = Verifier::start(&oauth).await;
        oauth.identity.hand.advance(TimeDelta::minutes(1));
    }
    oauth.identity.hand.advance(TimeDelta::minutes(4));
    wait_until("the next keys", Duration::from_secs(20), async || {
        (published(&oauth).await.0.len() == 4).then_some(())
    })
    .await;
    for _ in 0..40 {
        check(&mut verifiers).await;
        oauth.identity.hand.advance(TimeDelta::seconds(30));
    }
    assert_eq!(seen.map(|kids| kids.len()), [2, 2], "both keys have signed");
}
