//! Several tokens judged at once.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::{Reply, wait_until};

use crate::support::{Identity, refused};

async fn ask(identity: &Identity, query: &str, tokens: &[&str]) -> Reply {
    let path = format!("/api/auth/validate/batch{query}");
    let call = identity.api.post(&path).json(json!({ "tokens": tokens }));
    call.send().await
}

/// Asks until there was time for each of them.
async fn ask_all(identity: &Identity, query: &str, tokens: &[&str]) -> Reply {
    wait_until("time for each", Duration::from_secs(30), async || {
        let told = ask(identity, query, tokens).await.expect(200);
        let answers = told.json()["answers"].as_array().unwrap().clone();
        let is_all = answers.iter().all(|answer| answer["status"] != 503);
        is_all.then_some(told)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_token_is_told_what_validate_tells_of_it() {
    let identity = Identity::start_with(|config| config.tokens.access_ttl_seconds = 60).await;
    let old = identity.register("old").await;
    identity.hand.advance(TimeDelta::seconds(60));
    let (ada, bob, gone) = (
        identity.register("ada").await,
        identity.register("bob").await,
        identity.register("gone").await,
    );
    let body = json!({ "name": "Crew", "slug": "crew" });
    let made = identity
        .api
        .post("/api/teams")
        .bearer(&ada.access)
        .json(body);
    made.send().await.expect(201);
    identity.validate(&gone.access).await.expect(200);
    let out = identity.api.post("/api/auth/logout").bearer(&gone.access);
    out.send().await.expect(200);

    let flipped = format!("{}x", ada.access);
    let long = "x".repeat(10_000);
    let tokens = [
        ada.access.as_str(),
        "rubbish",
        bob.access.as_str(),
        &gone.access,
        &ada.access,
        &old.access,
        &flipped,
        &ada.refresh,
        &long,
    ];
    for query in ["", "?include=teams"] {
        // Twice: of some the answer is kept ready then.
        for _ in 0..2 {
            let told = ask_all(&identity, query, &tokens).await;
            assert_eq!(told.header("cache-control"), "no-store");
            let answers = told.json()["answers"].clone();
            let statuses: Vec<u64> = answers
                .as_array()
                .unwrap()
                .iter()
                .map(|answer| answer["status"].as_u64().unwrap())
                .collect();
            assert_eq!(statuses, [200, 401, 200, 401, 200, 401, 401, 401, 401]);
            for (token, answer) in tokens.iter().zip(answers.as_array().unwrap()) {
                let path = format!("/api/auth/validate{query}");
                let alone = identity.api.get(&path).bearer(token).send().await;
                assert_eq!(answer["status"], alone.status);
                assert_eq!(answer["body"], alone.json());
            }
        }
    }
    let out = identity.api.post("/api/auth/logout").bearer(&bob.access);
    out.send().await.expect(200);
    let answers = ask_all(&identity, "", &tokens).await.json();
    assert_eq!(answers["answers"][0]["status"], 200);
    assert_eq!(answers["answers"][2]["body"]["error"], "token_revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_takes_up_to_sixty_four_and_says_so_to_those_who_want_teams() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let none = ask(&identity, "", &[]).await.expect(200);
    assert_eq!(none.json(), json!({ "answers": [] }));
    let many = [ada.access.as_str(); 64];
    let told = ask(&identity, "", &many).await.expect(200).json();
    assert_eq!(told["answers"].as_array().unwrap().len(), 64);
    let too_many = [ada.access.as_str(); 65];
    refused(
        ask(&identity, "", &too_many).await,
        400,
        "validation_failed",
    );
    for body in [
        json!([]),
        json!({ "tokens": "one" }),
        json!({ "tokens": [1] }),
    ] {
        let call = identity.api.post("/api/auth/validate/batch").json(body);
        refused(call.send().await, 400, "validation_failed");
    }
    let large: Vec<String> = (0..60).map(|_| "x".repeat(2_000)).collect();
    let call = identity.api.post("/api/auth/validate/batch");
    let large: Value = json!({ "tokens": large });
    refused(call.json(large).send().await, 413, "payload_too_large");

    let header = async |query: &str| {
        let call = identity.api.get(&format!("/api/auth/validate{query}"));
        let told = call.bearer(&ada.access).send().await.expect(200);
        told.header("x-validate-batch").to_owned()
    };
    assert_eq!(header("").await, "");
    assert_eq!(header("?include=teams").await, "64");
}

/// A token of an unknown key has the keys read again, and waits for its turn to: it says nothing about the others, who
/// are answered meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_takes_its_time_holds_nobody_up() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    // Its answer is kept ready from now on.
    identity.validate(&ada.access).await.expect(200);
    let mut held_up = 0;
    for nth in 0..20 {
        let header = json!({ "alg": "ES256", "typ": "at+jwt", "kid": format!("unknown{nth}") });
        let header = URL_SAFE_NO_PAD.encode(header.to_string());
        let rest = ada.access.split_once('.').unwrap().1;
        let forged = format!("{header}.{rest}");
        let told = ask(&identity, "", &[&forged, &ada.access])
            .await
            .expect(200);
        let answers = told.json()["answers"].clone();
        assert_eq!(answers[1]["status"], 200);
        let status = answers[0]["status"].as_u64().unwrap();
        assert!([401, 503].contains(&status), "{status}");
        held_up += u64::from(status == 503);
        if nth == 0 {
            refused(identity.validate(&forged).await, 401, "invalid_token");
        }
    }
    assert!(held_up > 0);
}
