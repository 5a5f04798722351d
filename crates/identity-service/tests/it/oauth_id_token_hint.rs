//! `id_token_hint` at the authorization endpoint (OpenID Connect Core section 3.1.2.1).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Duration;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use crate::admin_cli::run;
use crate::browser::Browser;
use crate::forged_tokens::{changed, decoded, signed, stolen_key};
use crate::oauth_fixture::{OAuth, SECRET, brought};
use crate::support::PASSWORD;

/// Returns an ID token of Ada's for the client `web`, with her consent.
async fn id_token(oauth: &OAuth) -> String {
    let tokens = oauth.tokens("web", "openid profile").await;
    tokens["id_token"].as_str().unwrap().to_owned()
}

fn request(hint: &str, prompt: Option<&str>) -> String {
    OAuth::request("web", &[("id_token_hint", Some(hint)), ("prompt", prompt)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_of_the_signed_in_user_is_accepted_long_after_it_has_expired() {
    let oauth = OAuth::start().await;
    let hint = id_token(&oauth).await;
    let mut browser = oauth.browser().await;
    for prompt in [None, Some("none")] {
        let page = browser.fetch(&request(&hint, prompt)).await;
        assert!(brought(&page).contains_key("code"), "{prompt:?}");
    }
    run(&oauth.identity.db, &["keys", "rotate", "--now"], "", &[]).good();
    oauth.identity.hand.advance(Duration::hours(3));
    let page = browser.fetch(&request(&hint, Some("none"))).await;
    assert!(brought(&page).contains_key("code"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_expects_one_user_never_gets_another() {
    let oauth = OAuth::start().await;
    let hint = id_token(&oauth).await;
    oauth.identity.register("bob").await;
    let mut browser = Browser::new(&oauth.identity);
    let silent = request(&hint, Some("none"));
    assert_eq!(
        brought(&browser.fetch(&silent).await)["error"],
        "login_required"
    );
    // Bob is signed in, or signs in where Ada is expected.
    for is_signed_in in [false, true] {
        if is_signed_in {
            assert_eq!(
                brought(&browser.fetch(&silent).await)["error"],
                "login_required"
            );
        }
        oauth.identity.hand.advance(Duration::seconds(10));
        let page = browser.get(&request(&hint, None)).await;
        let form = page.form("/login").set("password", PASSWORD);
        let page = browser.submit(form.set("username", "bob")).await;
        assert_eq!(brought(&page)["error"], "login_required");
    }
    oauth.identity.hand.advance(Duration::seconds(10));
    let page = browser.get(&request(&hint, None)).await;
    let form = page.form("/login").set("password", PASSWORD);
    let page = browser.submit(form.set("username", "ada")).await;
    assert!(brought(&page).contains_key("code"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_that_is_no_id_token_of_this_client_is_refused() {
    let oauth = OAuth::start().await;
    oauth.add_client("other", Some(SECRET), false);
    let hint = id_token(&oauth).await;
    let tokens = oauth.tokens("web", "openid profile").await;
    let (header, claims) = (decoded(&hint, 0), decoded(&hint, 1));
    let (stored, ours) = stolen_key(&oauth.identity);
    let with = |value: &Value, name: &str, to: Value| {
        changed(value, |map| {
            map.insert(name.to_owned(), to);
        })
    };
    let es256 = |header: &Value, claims: &Value| signed(header, claims, &ours, Algorithm::ES256);
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let hs256 = signed(
        &with(&header, "alg", json!("HS256")),
        &claims,
        &EncodingKey::from_secret(stored.public_jwk.as_bytes()),
        Algorithm::HS256,
    );
    let unsigned = format!(
        "{}.{}.",
        part(&with(&header, "alg", json!("none"))),
        part(&claims)
    );
    let signature = hint.rsplit('.').next().unwrap();
    let another_users = part(&with(&claims, "sub", json!("2")));
    let mut browser = oauth.browser().await;
    // A copy that is signed with the same key passes. Each attack differs from it in one point.
    let copy = request(&es256(&header, &claims), Some("none"));
    assert!(brought(&browser.fetch(&copy).await).contains_key("code"));
    for (attack, hint) in [
        ("alg none", unsigned),
        ("HS256 with the public key", hs256),
        (
            "another user",
            format!("{}.{another_users}.{signature}", part(&header)),
        ),
        (
            "an access token",
            tokens["access_token"].as_str().unwrap().to_owned(),
        ),
        (
            "a refresh token",
            tokens["refresh_token"].as_str().unwrap().to_owned(),
        ),
        (
            "another client's",
            es256(&header, &with(&claims, "aud", json!("other"))),
        ),
        (
            "two audiences",
            es256(&header, &with(&claims, "aud", json!(["web", "other"]))),
        ),
        (
            "another issuer",
            es256(
                &header,
                &with(&claims, "iss", json!("https://evil.example")),
            ),
        ),
        (
            "a logout token",
            es256(&with(&header, "typ", json!("logout+jwt")), &claims),
        ),
        (
            "an access token's type",
            es256(&with(&header, "typ", json!("at+jwt")), &claims),
        ),
        (
            "an unknown key",
            es256(&with(&header, "kid", json!("x")), &claims),
        ),
        (
            "another algorithm's key",
            es256(&with(&header, "alg", json!("RS256")), &claims),
        ),
        (
            "a subject that is no account",
            es256(&header, &with(&claims, "sub", json!("ada"))),
        ),
        ("no token", "x.y.z".to_owned()),
    ] {
        for prompt in [None, Some("none")] {
            let answer = brought(&browser.fetch(&request(&hint, prompt)).await);
            assert_eq!(answer["error"], "invalid_request", "{attack}");
            assert!(!answer.contains_key("code"), "{attack}");
        }
    }
    let twice = format!("{copy}&id_token_hint={hint}");
    let answer = brought(&browser.fetch(&twice).await);
    assert_eq!(answer["error"], "invalid_request");
}
