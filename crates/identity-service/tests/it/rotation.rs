use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use identity_service::{RunningService, start};
use serde_json::{Value, json};
use service_kit::config::{CommaList, SecretKey};
use service_kit::{Clock, ManualClock};
use test_kit::{ApiClient, TestDb, wait_until};

use crate::admin_cli::{Ran, run};
use crate::support::{
    ENCRYPTION_KEY, Identity, PASSWORD, SignedIn, config, count, deps, refused, signed_in,
};

const OTHER_KEY: [u8; 32] = [9; 32];
const KEYS: &str = "SELECT count(*) AS n FROM signing_keys WHERE algorithm = 'ES256'";
const PRIVATE: &str =
    "SELECT count(*) AS n FROM signing_keys WHERE private_key_sealed <> '' AND algorithm = 'ES256'";
const ROTATIONS: &str =
    "SELECT count(*) AS n FROM audit_log WHERE action = 'keys.rotated' AND details LIKE '%ES256%'";

/// Services with one database and one public address. Their clock shows the system time, which the commands use.
struct Replicas {
    db: TestDb,
    clock: Clock,
    hand: ManualClock,
    running: Vec<RunningService>,
    apis: Vec<ApiClient>,
}

impl Replicas {
    async fn start(count: usize) -> Self {
        let db = TestDb::fresh("rotation", identity_service::MIGRATIONS).await;
        let (clock, hand) = Clock::manual(Clock::system().now());
        let mut replicas = Self {
            db,
            clock,
            hand,
            running: Vec::new(),
            apis: Vec::new(),
        };
        for _ in 0..count {
            replicas.add(ENCRYPTION_KEY, &[]).await;
        }
        replicas
    }

    async fn add(&mut self, key: [u8; 32], old: &[[u8; 32]]) {
        let running = self.try_start(key, old).await.unwrap();
        self.apis
            .push(ApiClient::new(format!("http://{}", running.addr())));
        self.running.push(running);
    }

    async fn try_start(
        &self,
        key: [u8; 32],
        old: &[[u8; 32]],
    ) -> Result<RunningService, service_kit::start::StartError> {
        let mut config = config(&self.db);
        config.base_url = Some("https://id.example.com".parse().unwrap());
        config.keys.encryption_key = Some(SecretKey::new(key));
        config.keys.encryption_keys_old =
            CommaList(old.iter().copied().map(SecretKey::new).collect());
        start(config, deps(&self.clock)).await
    }

    fn command(&self, args: &[&str]) -> Ran {
        run(&self.db, args, "", &[])
    }

    fn command_with(&self, args: &[&str], key: [u8; 32], old: [u8; 32]) -> Ran {
        let (key, old) = (STANDARD.encode(key), STANDARD.encode(old));
        let more = [
            ("IDENTITY__KEYS__ENCRYPTION_KEY", key.as_str()),
            ("IDENTITY__KEYS__ENCRYPTION_KEYS_OLD", old.as_str()),
        ];
        run(&self.db, args, "", &more)
    }

    /// Returns the id of the key without a successor.
    fn newest(&self) -> String {
        let query =
            "SELECT kid AS t FROM signing_keys WHERE retired_at IS NULL AND algorithm = 'ES256'";
        crate::support::texts(&self.db.pool(1), query).join(" ")
    }

    fn count(&self, query: &str) -> i64 {
        count(&self.db.pool(1), query)
    }
}

async fn register(api: &ApiClient, name: &str) -> SignedIn {
    let body = json!({ "username": name, "password": PASSWORD });
    let reply = api.post("/api/auth/register").json(body).send().await;
    signed_in(&reply.expect(201).json())
}

async fn login(api: &ApiClient, name: &str) -> SignedIn {
    let body = json!({ "username": name, "password": PASSWORD });
    let reply = api.post("/api/auth/login").json(body).send().await;
    signed_in(&reply.expect(200).json())
}

async fn validate(api: &ApiClient, token: &str) -> test_kit::ApiResponse {
    api.get("/api/auth/validate").bearer(token).send().await
}

/// Returns the published keys of access tokens.
pub(crate) async fn jwks(api: &ApiClient) -> Vec<Value> {
    let reply = api.get("/.well-known/jwks.json").send().await.expect(200);
    let mut keys = reply.json()["keys"].as_array().unwrap().clone();
    keys.retain(|key| key["alg"] == "ES256");
    keys
}

/// Returns the `kid` in the header of a token.
pub(crate) fn kid(token: &str) -> String {
    let header = URL_SAFE_NO_PAD
        .decode(token.split('.').next().unwrap())
        .unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    header["kid"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn during_key_rotations_every_token_is_valid_at_every_replica_at_once() {
    let replicas = Replicas::start(2).await;
    let [one, two] = replicas.apis.as_slice() else {
        unreachable!()
    };
    let mut tokens = vec![register(one, "ada").await.access];
    // The sessions of an account are capped, so each token gets its own account.
    let mut names = (0..).map(|n| format!("ada{n}"));
    for _ in 0..3 {
        replicas.command(&["keys", "rotate", "--now"]).good();
        // At first the replicas may sign with the old key and the new one in turn.
        let until = Instant::now() + Duration::from_millis(700);
        while Instant::now() < until {
            for (mint, check) in [(one, two), (two, one)] {
                let token = register(mint, &names.next().unwrap()).await.access;
                validate(check, &token).await.expect(200);
                validate(mint, &token).await.expect(200);
                tokens.push(token);
            }
        }
        let newest = replicas.newest();
        for api in [one, two] {
            wait_until("the new key in use", Duration::from_secs(1), async || {
                (kid(&login(api, "ada").await.access) == newest).then_some(())
            })
            .await;
        }
    }
    let mut kids: Vec<String> = tokens.iter().map(|token| kid(token)).collect();
    kids.sort();
    kids.dedup();
    assert_eq!(kids.len(), 4, "each key has signed something");
    for token in &tokens {
        validate(one, token).await.expect(200);
        validate(two, token).await.expect(200);
    }
    for api in [one, two] {
        let published: Vec<Value> = jwks(api)
            .await
            .into_iter()
            .map(|key| key["kid"].clone())
            .collect();
        assert_eq!(published.len(), 4);
        assert_eq!(published[0], json!(replicas.newest()));
        assert!(kids.iter().all(|kid| published.contains(&json!(kid))));
    }
    // A retired key no longer signs, so its private half is deleted.
    assert_eq!(replicas.count(PRIVATE), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_is_published_before_it_signs() {
    let replicas = Replicas::start(2).await;
    let ada = register(&replicas.apis[0], "ada").await;
    // The first answer takes as long as the generation of an RSA key.
    jwks(&replicas.apis[0]).await;
    let old = replicas.newest();
    let said = replicas.command(&["keys", "rotate"]).good();
    let new = replicas.newest();
    assert!(
        said.starts_with(&format!("{new} is published, and signs from 20")),
        "{said}"
    );
    for api in &replicas.apis {
        wait_until("both keys", Duration::from_secs(1), async || {
            (jwks(api).await.len() == 2).then_some(())
        })
        .await;
        assert_eq!(kid(&login(api, "ada").await.access), old);
    }
    let listed = replicas.command(&["keys", "list", "--json"]).good();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let states: Vec<_> = [0, 1].map(|at| listed["keys"][at]["state"].clone()).into();
    assert_eq!(states, ["waiting", "signing"]);
    assert_eq!(
        listed["keys"][0]["signs_from"],
        listed["keys"][1]["retired_at"]
    );

    // A second rotation adds no key, and the signing key stays.
    let said = replicas.command(&["keys", "rotate"]).good();
    assert!(
        said.starts_with(&format!("{new} is already published and signs from 20")),
        "{said}"
    );
    assert_eq!((replicas.count(KEYS), replicas.count(ROTATIONS)), (2, 1));
    replicas.command(&["keys", "remove", &old]).refused(1);

    // The old key signs while clients may have cached the earlier public keys.
    replicas.hand.advance(TimeDelta::seconds(300));
    for api in &replicas.apis {
        assert_eq!(kid(&login(api, "ada").await.access), old);
    }
    replicas.hand.advance(TimeDelta::seconds(120));
    for api in &replicas.apis {
        let token = login(api, "ada").await.access;
        assert_eq!(kid(&token), new);
        validate(&replicas.apis[0], &token).await.expect(200);
        validate(api, &ada.access).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_switches_to_the_waiting_key_without_reading_it_again() {
    const READS: &str = "signing_key_reads_total{algorithm=\"ES256\"}";
    // A late message of the change feed causes a read by itself, so an attempt that it meets is repeated.
    for _ in 0..10 {
        let replicas = Replicas::start(1).await;
        let api = &replicas.apis[0];
        register(api, "ada").await;
        replicas.command(&["keys", "rotate"]).good();
        wait_until("both keys", Duration::from_secs(20), async || {
            (jwks(api).await.len() == 2).then_some(())
        })
        .await;
        let before = api.metric(READS).await;
        replicas.hand.advance(TimeDelta::seconds(420));
        assert_eq!(kid(&login(api, "ada").await.access), replicas.newest());
        if api.metric(READS).await == before {
            return;
        }
    }
    panic!("each switch read the keys");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compromised_key_is_replaced_at_once_although_another_is_waiting() {
    let replicas = Replicas::start(1).await;
    let api = &replicas.apis[0];
    register(api, "ada").await;
    let old = replicas.newest();
    replicas.command(&["keys", "rotate"]).good();
    let waiting = replicas.newest();
    replicas.command(&["keys", "rotate", "--now"]).good();
    let newest = replicas.newest();
    assert_eq!((replicas.count(KEYS), replicas.count(PRIVATE)), (3, 1));
    wait_until("the new key in use", Duration::from_secs(1), async || {
        (kid(&login(api, "ada").await.access) == newest).then_some(())
    })
    .await;
    for retired in [old, waiting] {
        replicas.command(&["keys", "remove", &retired]).good();
    }
    replicas.hand.advance(TimeDelta::hours(1));
    assert_eq!(kid(&login(api, "ada").await.access), newest);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_concurrent_rotations_one_adds_a_key_and_all_report_when_it_signs() {
    let replicas = Replicas::start(1).await;
    let api = &replicas.apis[0];
    let ada = register(api, "ada").await;
    let twenty = |args: &[&str]| -> Vec<Value> {
        std::thread::scope(|scope| {
            let rotations: Vec<_> = (0..20)
                .map(|_| scope.spawn(|| replicas.command(args).good()))
                .collect();
            let said = rotations.into_iter().map(|said| said.join().unwrap());
            said.map(|said| serde_json::from_str(&said).unwrap())
                .collect()
        })
    };
    for said in twenty(&["keys", "rotate", "--json"]) {
        assert_eq!(said["kid"], replicas.newest());
        assert!(said["signs_from"].is_string(), "{said}");
    }
    assert_eq!((replicas.count(KEYS), replicas.count(ROTATIONS)), (2, 1));

    // Rotations with `--now` leave one signing key, although another key was waiting.
    let said = twenty(&["keys", "rotate", "--now", "--json"]);
    let changed = said.iter().filter(|said| said["changed"] == true).count();
    assert_eq!(replicas.count(PRIVATE), 1);
    let rotations = i64::try_from(changed).unwrap() + 1;
    assert_eq!(replicas.count(ROTATIONS), rotations);
    assert_eq!(replicas.count(KEYS), rotations + 1);
    validate(api, &ada.access).await.expect(200);
    validate(api, &login(api, "ada").await.access)
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_with_another_encryption_key_rotates_nothing() {
    let mut replicas = Replicas::start(1).await;
    let ada = register(&replicas.apis[0], "ada").await;
    let before = replicas.newest();
    let error = replicas
        .command_with(&["keys", "rotate"], OTHER_KEY, OTHER_KEY)
        .refused(1);
    assert!(
        error.contains("IDENTITY__KEYS__ENCRYPTION_KEY") && error.contains("--lost-key"),
        "{error}"
    );
    assert_eq!(replicas.newest(), before);

    // If the key is lost for good, a service that still has it keeps verifying tokens.
    replicas
        .command_with(&["keys", "rotate", "--lost-key"], OTHER_KEY, OTHER_KEY)
        .good();
    let api = replicas.apis[0].clone();
    let body = json!({ "username": "ada", "password": PASSWORD });
    wait_until("the foreign key", Duration::from_secs(2), async || {
        let reply = api.post("/api/auth/login").json(body.clone()).send().await;
        (reply.status == 500).then_some(())
    })
    .await;
    validate(&api, &ada.access).await.expect(200);
    assert_eq!(jwks(&api).await.len(), 2);
    let error = replicas.try_start(ENCRYPTION_KEY, &[]).await.unwrap_err();
    assert!(error.to_string().contains("--lost-key"), "{error}");
    replicas.add(OTHER_KEY, &[]).await;
    let bob = register(&replicas.apis[1], "bob").await;
    validate(&api, &bob.access).await.expect(200);
    validate(&replicas.apis[1], &ada.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_encryption_key_is_needed_until_the_next_rotation_seals_with_the_new_one() {
    let mut replicas = Replicas::start(1).await;
    let ada = register(&replicas.apis[0], "ada").await;
    replicas.add(OTHER_KEY, &[ENCRYPTION_KEY]).await;
    assert!(replicas.try_start(OTHER_KEY, &[]).await.is_err());
    assert_eq!(
        kid(&login(&replicas.apis[1], "ada").await.access),
        kid(&ada.access)
    );
    replicas
        .command_with(&["keys", "rotate", "--now"], OTHER_KEY, ENCRYPTION_KEY)
        .good();
    replicas.add(OTHER_KEY, &[]).await;
    validate(&replicas.apis[2], &ada.access).await.expect(200);
    login(&replicas.apis[2], "ada").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_removed_key_are_refused_within_a_second_and_can_be_refreshed() {
    let replicas = Replicas::start(1).await;
    let api = &replicas.apis[0];
    let ada = register(api, "ada").await;
    let old = replicas.newest();
    replicas.command(&["keys", "remove", &old]).refused(1);
    replicas.command(&["keys", "rotate", "--now"]).good();
    validate(api, &ada.access).await.expect(200);
    replicas.command(&["keys", "remove", &old]).good();
    wait_until("the refusal", Duration::from_secs(1), async || {
        (validate(api, &ada.access).await.status == 401).then_some(())
    })
    .await;
    refused(validate(api, &ada.access).await, 401, "invalid_token");
    let body = json!({ "refresh_token": ada.refresh });
    let next = api.post("/api/auth/refresh").json(body).send().await;
    let next = signed_in(&next.expect(200).json());
    validate(api, &next.access).await.expect(200);
    assert_eq!(jwks(api).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_unknown_key_ids_causes_few_reads_and_delays_valid_tokens_only_briefly() {
    let replicas = Replicas::start(2).await;
    let [one, two] = replicas.apis.as_slice() else {
        unreachable!()
    };
    register(one, "ada").await;
    let reads = async || {
        one.metric("signing_key_reads_total{algorithm=\"ES256\"}")
            .await
    };
    let (before, begun) = (reads().await, Instant::now());
    let flood: Vec<_> = (0..40)
        .map(|n| {
            let one = one.clone();
            tokio::spawn(async move {
                for round in 0..12 {
                    let header =
                        json!({ "alg": "ES256", "typ": "at+jwt", "kid": format!("k{n}-{round}") });
                    let header = URL_SAFE_NO_PAD.encode(header.to_string());
                    refused(
                        validate(&one, &format!("{header}.e30.AAAA")).await,
                        401,
                        "invalid_token",
                    );
                }
            })
        })
        .collect();
    // During the flood another key is created, and the first replica accepts what it signs.
    replicas.command(&["keys", "rotate", "--now"]).good();
    let newest = replicas.newest();
    let token = wait_until("the new key in use", Duration::from_secs(2), async || {
        let token = login(two, "ada").await.access;
        (kid(&token) == newest).then_some(token)
    })
    .await;
    let asked = Instant::now();
    validate(one, &token).await.expect(200);
    let waited = asked.elapsed();
    for task in flood {
        task.await.unwrap();
    }
    let (took, read) = (begun.elapsed(), reads().await - before);
    let allowed = u32::try_from(took.as_millis() / 200).unwrap() + 4;
    assert!(
        read <= u64::from(allowed),
        "{read} readings in {took:?} for 480 tokens"
    );
    assert!(waited < Duration::from_millis(1_500), "{waited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_public_parts_of_keys_are_published() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let reply = identity
        .api
        .get("/.well-known/jwks.json")
        .send()
        .await
        .expect(200);
    assert_eq!(reply.header("cache-control"), "public, max-age=300");
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    let body = reply.json();
    let key = body["keys"][0].as_object().unwrap();
    let mut fields: Vec<&str> = key.keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["alg", "crv", "kid", "kty", "use", "x", "y"]);
    assert_eq!((&key["alg"], &key["use"]), (&json!("ES256"), &json!("sig")));
    assert_eq!(key["kid"], kid(&ada.access));
    let reply = identity.api.post("/.well-known/jwks.json").send().await;
    assert_eq!(
        refused(reply, 405, "method_not_allowed").header("allow"),
        "GET, HEAD"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_kept_for_the_longest_token_lifetime_of_any_replica() {
    let identity = Identity::start_with(|config| config.tokens.access_ttl_seconds = 60).await;
    let longest = "SELECT longest_ttl_seconds AS n FROM signing_keys";
    // ID tokens and logout tokens are verified for the life of a browser's sign-in.
    assert_eq!(identity.count(longest), 30 * 86_400);
    let mut longer = config(&identity.db);
    longer.tokens.access_ttl_seconds = 90 * 86_400;
    let _longer = start(longer, deps(&identity.clock)).await.unwrap();
    assert_eq!(identity.count(longest), 90 * 86_400);
    let _shorter = identity.replica("https://id.example.com").await;
    assert_eq!(identity.count(longest), 90 * 86_400);
}
