use aws_lc_rs::aead::{AES_256_GCM, Aad, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use secrecy::ExposeSecret as _;
use serde_json::json;
use service_kit::config::SecretKey;
use service_kit::seal::{Purpose, SealingKeys};
use test_kit::{ApiClient, ApiResponse};

use crate::admin_cli::{Ran, run};
use crate::support::{ENCRYPTION_KEY, Identity, PASSWORD, config, deps, signed_in, texts};
use crate::totp;

const NEW_KEY: [u8; 32] = [9; 32];
const LAST_KEY: [u8; 32] = [10; 32];

fn admin(identity: &Identity, args: &[&str], key: [u8; 32], old: [u8; 32]) -> Ran {
    let (key, old) = (STANDARD.encode(key), STANDARD.encode(old));
    let more = [
        ("IDENTITY__KEYS__ENCRYPTION_KEY", key.as_str()),
        ("IDENTITY__KEYS__ENCRYPTION_KEYS_OLD", old.as_str()),
    ];
    run(&identity.db, args, "", &more)
}

/// Signs in at a service that has only this encryption key.
async fn login(identity: &Identity, key: [u8; 32], code: Option<&str>) -> ApiResponse {
    let mut config = config(&identity.db);
    config.base_url = Some(identity.running.base_url().parse().unwrap());
    config.keys.encryption_key = Some(SecretKey::new(key));
    let running = identity_service::start(config, deps(&identity.clock))
        .await
        .unwrap();
    let body = json!({ "username": "ada", "password": PASSWORD, "totp_code": code });
    let api = ApiClient::new(format!("http://{}", running.addr()));
    let reply = api.post("/api/auth/login").json(body).send().await;
    running.stop().await;
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn reseal_renews_values_of_an_old_key_so_that_the_key_can_be_removed() {
    let identity = Identity::start().await;
    let (_, app, _) = totp::enabled(&identity).await;
    let reseal = |key, old| admin(&identity, &["keys", "reseal"], key, old);
    let nothing = "Nothing was sealed with an older key.\n";
    assert_eq!(reseal(ENCRYPTION_KEY, NEW_KEY).good(), nothing);
    let error = reseal(NEW_KEY, LAST_KEY).refused(1);
    assert!(error.contains("--lost-key"), "{error}");

    let said = reseal(NEW_KEY, ENCRYPTION_KEY).good();
    assert_eq!(
        said,
        "1 signing key and 1 second factor are now sealed with the current encryption key.\n"
    );
    assert_eq!(reseal(NEW_KEY, ENCRYPTION_KEY).good(), nothing);
    let code = app.next(&identity);
    let pair = login(&identity, NEW_KEY, Some(&code)).await.expect(200);
    // The signing key is still the same.
    identity
        .validate(&signed_in(&pair.json()).access)
        .await
        .expect(200);
    let entries =
        "SELECT count(*) AS n FROM audit_log WHERE action = 'keys.resealed' AND via = 'command'";
    assert_eq!(identity.count(entries), 1);
}

/// Replaces a sealed value by the same one in the format of version 1.
fn seal_as_version_1(
    identity: &Identity,
    purpose: Purpose,
    (table, column): (&str, &str),
    place: &str,
) {
    let query = format!("SELECT {column} AS t FROM {table}");
    let sealed = texts(&identity.db.pool(1), &query).remove(0);
    let sealer = SealingKeys::new(&ENCRYPTION_KEY, [])
        .sealer(purpose)
        .unwrap();
    let mut data = sealer
        .open(place, &sealed)
        .unwrap()
        .expose_secret()
        .to_vec();
    let undivided = RandomizedNonceKey::new(&AES_256_GCM, &ENCRYPTION_KEY).unwrap();
    let aad = Aad::from(place.as_bytes());
    let nonce = undivided.seal_in_place_append_tag(aad, &mut data).unwrap();
    let data = URL_SAFE_NO_PAD.encode([&nonce.as_ref()[..], &data].concat());
    let key = sealed.split('.').nth(1).unwrap();
    identity.sql(&format!("UPDATE {table} SET {column} = 'v1.{key}.{data}'"));
}

#[tokio::test(flavor = "multi_thread")]
async fn values_sealed_by_version_1_still_open_and_are_resealed_for_their_purpose() {
    let identity = Identity::start().await;
    let (ada, app, _) = totp::enabled(&identity).await;
    let kid = texts(&identity.db.pool(1), "SELECT kid AS t FROM signing_keys").remove(0);
    let (keys, factors) = (
        ("signing_keys", "private_key_sealed"),
        ("totp_factors", "secret_sealed"),
    );
    seal_as_version_1(
        &identity,
        Purpose::SigningKeys,
        keys,
        &format!("signing-key:{kid}"),
    );
    seal_as_version_1(
        &identity,
        Purpose::SecondFactors,
        factors,
        &format!("totp:{}", ada.id),
    );
    let code = app.next(&identity);
    login(&identity, ENCRYPTION_KEY, Some(&code))
        .await
        .expect(200);

    let said = admin(&identity, &["keys", "reseal"], ENCRYPTION_KEY, NEW_KEY).good();
    assert!(
        said.starts_with("1 signing key and 1 second factor are now sealed"),
        "{said}"
    );
    for (table, column) in [keys, factors] {
        let old = format!("SELECT count(*) AS n FROM {table} WHERE {column} NOT LIKE 'v2.%'");
        assert_eq!(identity.count(&old), 0, "{table}");
    }
    let code = app.next(&identity);
    let pair = login(&identity, ENCRYPTION_KEY, Some(&code))
        .await
        .expect(200);
    let pair = signed_in(&pair.json());
    identity.validate(&pair.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_can_remove_a_second_factor_whose_encryption_key_is_lost() {
    let identity = Identity::start().await;
    let (ada, _, _) = totp::enabled(&identity).await;
    admin(
        &identity,
        &["keys", "rotate", "--lost-key"],
        LAST_KEY,
        LAST_KEY,
    )
    .good();
    let said = admin(&identity, &["keys", "reseal"], LAST_KEY, LAST_KEY).good();
    assert!(said.contains("1 second factor cannot be opened"), "{said}");
    assert!(
        said.contains("`identity-service admin users remove-totp`"),
        "{said}"
    );
    login(&identity, LAST_KEY, None).await.expect(401);

    let remove = || {
        admin(
            &identity,
            &["users", "remove-totp", "ada"],
            LAST_KEY,
            LAST_KEY,
        )
        .good()
    };
    assert_eq!(remove(), "ada (id 1) has no second factor now.\n");
    assert_eq!(
        remove(),
        "ada (id 1) has no second factor already; nothing was changed.\n"
    );
    login(&identity, LAST_KEY, None).await.expect(200);
    assert_eq!(identity.audited("totp.disabled", &ada), 1);
    assert!(
        identity
            .told()
            .contains(&"second factor turned off".to_owned()),
        "{:?}",
        identity.told()
    );
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM recovery_codes"),
        0
    );
}
