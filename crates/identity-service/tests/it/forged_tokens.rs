//! Access tokens that are forged, altered or issued for another purpose.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use db_kit::on_backend;
use diesel::RunQueryDsl as _;
use jsonwebtoken::{Algorithm, EncodingKey};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use service_kit::seal::{Purpose, SealingKeys};

use crate::support::{ENCRYPTION_KEY, Identity, refused};

#[derive(diesel::QueryableByName)]
pub(crate) struct Key {
    #[diesel(sql_type = diesel::sql_types::Text)]
    pub(crate) kid: String,
    #[diesel(sql_type = diesel::sql_types::Text)]
    private_key_sealed: String,
    #[diesel(sql_type = diesel::sql_types::Text)]
    pub(crate) public_jwk: String,
}

/// Reads the service's own signing key, which only the service should have.
pub(crate) fn stolen_key(identity: &Identity) -> (Key, EncodingKey) {
    let query =
        "SELECT kid, private_key_sealed, public_jwk FROM signing_keys WHERE algorithm = 'ES256'";
    let key: Key = identity
        .db
        .pool(1)
        .read_blocking(|db| {
            on_backend!(db, c => diesel::sql_query(query).get_result(c))
                .map_err(db_kit::DbError::from)
        })
        .unwrap();
    let sealer = SealingKeys::new(&ENCRYPTION_KEY, [])
        .sealer(Purpose::SigningKeys)
        .unwrap();
    let pkcs8 = sealer
        .open(&format!("signing-key:{}", key.kid), &key.private_key_sealed)
        .unwrap();
    let encoding = EncodingKey::from_ec_der(pkcs8.expose_secret());
    (key, encoding)
}

pub(crate) fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

pub(crate) fn decoded(token: &str, at: usize) -> Value {
    serde_json::from_slice(
        &URL_SAFE_NO_PAD
            .decode(token.split('.').nth(at).unwrap())
            .unwrap(),
    )
    .unwrap()
}

pub(crate) fn signed(
    header: &Value,
    claims: &Value,
    key: &EncodingKey,
    algorithm: Algorithm,
) -> String {
    let message = format!("{}.{}", part(header), part(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

pub(crate) fn changed(
    value: &Value,
    change: impl FnOnce(&mut serde_json::Map<String, Value>),
) -> Value {
    let mut value = value.clone();
    change(value.as_object_mut().unwrap());
    value
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_has_the_expected_header_and_claims() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let header = decoded(&ada.access, 0);
    let (key, _) = stolen_key(&identity);
    assert_eq!(
        header,
        json!({ "typ": "at+jwt", "alg": "ES256", "kid": key.kid })
    );
    let claims = decoded(&ada.access, 1);
    let now = crate::support::beginning().timestamp();
    assert_eq!(claims["iss"], identity.running.base_url());
    assert_eq!(claims["aud"], identity.running.base_url());
    assert_eq!(claims["sub"], "1");
    assert_eq!(claims["token_type"], "access");
    assert_eq!(
        (&claims["iat"], &claims["nbf"], &claims["exp"]),
        (&json!(now), &json!(now), &json!(now + 2_592_000))
    );
    assert!(claims["sid"].is_string() && claims["jti"].is_string());
    let jwk: Value = serde_json::from_str(&key.public_jwk).unwrap();
    assert_eq!(
        (&jwk["kty"], &jwk["crv"], &jwk["use"], &jwk["alg"]),
        (
            &json!("EC"),
            &json!("P-256"),
            &json!("sig"),
            &json!("ES256")
        )
    );
    assert!(jwk.get("d").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_differs_from_an_issued_one_is_refused() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    identity.register("bob").await;
    let (stored, ours) = stolen_key(&identity);
    let header = decoded(&ada.access, 0);
    let claims = decoded(&ada.access, 1);
    let now = crate::support::beginning().timestamp();
    let pkcs8 =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .unwrap();
    let theirs = EncodingKey::from_ec_der(pkcs8.as_ref());
    let es256 = |header: &Value, claims: &Value| signed(header, claims, &ours, Algorithm::ES256);
    let with_claim = |name: &str, value: Value| {
        es256(
            &header,
            &changed(&claims, |map| {
                map.insert(name.into(), value);
            }),
        )
    };
    let without_claim = |name: &str| {
        es256(
            &header,
            &changed(&claims, |map| {
                map.remove(name);
            }),
        )
    };
    let with_header = |name: &str, value: Value| {
        es256(
            &changed(&header, |map| {
                map.insert(name.into(), value);
            }),
            &claims,
        )
    };
    let without_header = |name: &str| {
        es256(
            &changed(&header, |map| {
                map.remove(name);
            }),
            &claims,
        )
    };
    let hs256 = |secret: &[u8]| {
        let header = changed(&header, |map| {
            map.insert("alg".into(), json!("HS256"));
        });
        signed(
            &header,
            &claims,
            &EncodingKey::from_secret(secret),
            Algorithm::HS256,
        )
    };
    let jwk: Value = serde_json::from_str(&stored.public_jwk).unwrap();
    let point: Vec<u8> = ["x", "y"]
        .iter()
        .flat_map(|name| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap())
        .collect();
    let parts: Vec<&str> = ada.access.split('.').collect();
    let none = |alg: &str| {
        let header = changed(&header, |map| {
            map.insert("alg".into(), json!(alg));
        });
        format!("{}.{}.", part(&header), part(&claims))
    };
    let flipped = {
        let mut signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        signature[10] ^= 1;
        format!(
            "{}.{}.{}",
            parts[0],
            parts[1],
            URL_SAFE_NO_PAD.encode(signature)
        )
    };

    // A copy of the issued token passes. Each attack below differs from it in one point.
    identity
        .validate(&es256(&header, &claims))
        .await
        .expect(200);
    identity
        .validate(&with_claim("nbf", json!(now + 30)))
        .await
        .expect(200);

    let attacks = [
        ("alg none", none("none"), "invalid_token"),
        ("alg None", none("None"), "invalid_token"),
        (
            "alg NONE with the old signature",
            format!("{}{}", none("NONE"), parts[2]),
            "invalid_token",
        ),
        (
            "HS256 with the public point",
            hs256(&[&[4], point.as_slice()].concat()),
            "invalid_token",
        ),
        (
            "HS256 with the public JWK",
            hs256(stored.public_jwk.as_bytes()),
            "invalid_token",
        ),
        ("HS256 with nothing", hs256(b""), "invalid_token"),
        (
            "a foreign key under our kid",
            signed(&header, &claims, &theirs, Algorithm::ES256),
            "invalid_token",
        ),
        (
            "an embedded key",
            signed(
                &changed(&header, |map| {
                    map.insert("jwk".into(), jwk.clone());
                    map.insert("kid".into(), json!("x"));
                }),
                &claims,
                &theirs,
                Algorithm::ES256,
            ),
            "invalid_token",
        ),
        (
            "an unknown kid",
            with_header("kid", json!("unknown")),
            "invalid_token",
        ),
        (
            "a kid that is SQL",
            with_header("kid", json!("x' OR 1=1 --")),
            "invalid_token",
        ),
        ("no kid", without_header("kid"), "invalid_token"),
        (
            "another algorithm of the family",
            with_header("alg", json!("ES384")),
            "invalid_token",
        ),
        (
            "an algorithm in lower case",
            with_header("alg", json!("es256")),
            "invalid_token",
        ),
        ("no algorithm", without_header("alg"), "invalid_token"),
        ("typ JWT", with_header("typ", json!("JWT")), "invalid_token"),
        ("no typ", without_header("typ"), "invalid_token"),
        (
            "expired now",
            with_claim("exp", json!(now)),
            "token_expired",
        ),
        (
            "expired long ago",
            with_claim("exp", json!(0)),
            "token_expired",
        ),
        (
            "exp as text",
            with_claim("exp", json!((now + 60).to_string())),
            "invalid_token",
        ),
        (
            "exp as fraction",
            with_claim("exp", json!(now as f64 + 60.5)),
            "invalid_token",
        ),
        ("exp null", with_claim("exp", Value::Null), "invalid_token"),
        ("no exp", without_claim("exp"), "invalid_token"),
        (
            "not yet valid",
            with_claim("nbf", json!(now + 31)),
            "invalid_token",
        ),
        ("no nbf", without_claim("nbf"), "invalid_token"),
        (
            "another issuer",
            with_claim("iss", json!("https://evil.example")),
            "invalid_token",
        ),
        ("no issuer", without_claim("iss"), "invalid_token"),
        (
            "another audience",
            with_claim("aud", json!("https://evil.example")),
            "invalid_token",
        ),
        (
            "an audience list",
            with_claim(
                "aud",
                json!([identity.running.base_url(), "https://evil.example"]),
            ),
            "invalid_token",
        ),
        ("no audience", without_claim("aud"), "invalid_token"),
        ("no subject", without_claim("sub"), "invalid_token"),
        (
            "a numeric subject",
            with_claim("sub", json!(1)),
            "invalid_token",
        ),
        (
            "a subject with a zero before it",
            with_claim("sub", json!("01")),
            "invalid_token",
        ),
        (
            "another user's id",
            with_claim("sub", json!("2")),
            "token_revoked",
        ),
        ("no session", without_claim("sid"), "invalid_token"),
        (
            "an unknown session",
            with_claim("sid", json!("00000000-0000-4000-8000-000000000000")),
            "token_revoked",
        ),
        (
            "a token of another type",
            with_claim("token_type", json!("refresh")),
            "invalid_token",
        ),
        ("no type", without_claim("token_type"), "invalid_token"),
        (
            "no signature",
            format!("{}.{}.", parts[0], parts[1]),
            "invalid_token",
        ),
        (
            "two parts",
            format!("{}.{}", parts[0], parts[1]),
            "invalid_token",
        ),
        ("four parts", format!("{}.x", ada.access), "invalid_token"),
        ("a flipped bit", flipped, "invalid_token"),
        (
            "another payload",
            format!(
                "{}.{}.{}",
                parts[0],
                part(&changed(&claims, |map| {
                    map.insert("sub".into(), json!("2"));
                })),
                parts[2]
            ),
            "invalid_token",
        ),
        ("padding", format!("{}=", ada.access), "invalid_token"),
        ("a refresh token", ada.refresh.clone(), "invalid_token"),
    ];
    for (name, token, code) in attacks {
        let reply = identity.validate(&token).await;
        assert_eq!(reply.status, 401, "{name}");
        assert_eq!(reply.json()["error"], code, "{name}");
        refused(
            identity.api.get("/api/auth/me").bearer(&token).send().await,
            401,
            code,
        );
    }
    identity.validate(&ada.access).await.expect(200);
}
