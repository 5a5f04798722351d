use std::time::Duration as StdDuration;

use chrono::Duration;
use diesel::connection::SimpleConnection as _;
use serde_json::{Value, json};
use test_kit::{TestBackend, wait_until};

use crate::support::{Identity, PASSWORD, refused, signed_in};

#[tokio::test(flavor = "multi_thread")]
async fn login_returns_a_token_pair_and_ignores_the_case_of_the_name() {
    let identity = Identity::start().await;
    let ada = identity.register("Ada").await;
    for name in ["Ada", "ada", "ADA"] {
        let pair = identity.login(name, PASSWORD).await.expect(200);
        assert_eq!(pair.header("cache-control"), "no-store");
        insta::assert_json_snapshot!("login", pair.json(), { ".access_token" => "[access token]", ".refresh_token" => "[refresh token]" });
        assert_eq!(signed_in(&pair.json()).id, ada.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failed_login_gets_the_same_401() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    identity.register("gone").await;
    identity.sql("UPDATE users SET is_active = FALSE WHERE username = 'gone'");
    let mut bodies = Vec::new();
    for (name, password) in [
        ("ada", "wrong password"),
        ("ada", ""),
        ("ada", &"x".repeat(73)),
        ("ada", &"x".repeat(10_000)),
        ("nobody", PASSWORD),
        ("gone", PASSWORD),
        ("", PASSWORD),
        ("ada@placeholder.invalid", PASSWORD),
        ("ada ' OR 1=1 --", PASSWORD),
    ] {
        bodies.push(
            refused(
                identity.login(name, password).await,
                401,
                "invalid_credentials",
            )
            .body,
        );
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
    for body in [
        json!({ "username": "ada" }),
        json!({ "password": PASSWORD }),
        json!({ "username": 1, "password": PASSWORD }),
    ] {
        refused(
            identity.api.post("/api/auth/login").json(body).send().await,
            400,
            "validation_failed",
        );
    }
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM audit_log WHERE action = 'session.refused'"),
        9
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_of_a_lower_cost_is_upgraded_at_the_next_successful_login() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    let mut config = crate::support::config(&identity.db);
    config.password.bcrypt_cost = 5;
    let stronger = identity_service::start(config, crate::support::deps(&identity.clock))
        .await
        .unwrap();
    let api = test_kit::ApiClient::new(stronger.base_url());
    let login = async |password: &str| {
        api.post("/api/auth/login")
            .json(json!({ "username": "ada", "password": password }))
            .send()
            .await
    };
    let upgraded =
        || identity.count("SELECT count(*) AS n FROM users WHERE password_hash LIKE '$2b$05$%'");
    login("wrong password").await.expect(401);
    assert_eq!(upgraded(), 0);
    login(PASSWORD).await.expect(200);
    assert_eq!(upgraded(), 1);
    login(PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_takes_the_same_time_for_every_account_and_hash_cost() {
    let identity = Identity::start().await;
    identity.register("old").await;
    identity.register("gone").await;
    identity.sql("UPDATE users SET is_active = FALSE WHERE username = 'gone'");
    let mut config = crate::support::config(&identity.db);
    config.password.bcrypt_cost = 9;
    let stronger = identity_service::start(config, crate::support::deps(&identity.clock))
        .await
        .unwrap();
    let api = test_kit::ApiClient::new(stronger.base_url());
    let cases = [
        ("nobody", "wrong password"),
        ("old", "wrong password"),
        ("gone", "wrong password"),
        ("gone", PASSWORD),
    ];
    // Only the quickest attempt of each case counts, because other work can only add time. A difference of five bcrypt
    // costs would be a factor of 32.
    let mut quickest = [std::time::Duration::MAX; 4];
    for round in 1.. {
        for ((username, password), quickest) in cases.into_iter().zip(&mut quickest) {
            let body = json!({ "username": username, "password": password });
            let begun = std::time::Instant::now();
            let reply = api.post("/api/auth/login").json(body).send().await;
            *quickest = begun.elapsed().min(*quickest);
            refused(reply, 401, "invalid_credentials");
        }
        let (low, high) = (
            quickest.iter().min().unwrap(),
            quickest.iter().max().unwrap(),
        );
        if *high < *low * 2 {
            break;
        }
        assert!(round < 60, "{cases:?} took {quickest:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_returns_the_account_flat_and_nested_by_get_and_post() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let get = identity
        .api
        .get("/api/auth/validate")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
    let post = identity
        .api
        .post("/api/auth/validate")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
    assert_eq!(get.header("cache-control"), "no-store");
    assert_eq!(get.json(), post.json());
    let body = get.json();
    insta::assert_json_snapshot!("validate", body, { ".session_id" => "[sid]" });
    for (field, value) in body["user"].as_object().unwrap() {
        assert_eq!(&body[field], value, "{field}");
    }
    assert!(body.get("teams").is_none());
    let lower = identity
        .api
        .get("/api/auth/validate")
        .header("authorization", format!("bEaReR {}", ada.access))
        .send()
        .await;
    lower.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_adds_the_teams_with_roles_when_asked() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let include = async |token: &str, query: &str| {
        identity
            .api
            .get(&format!("/api/auth/validate{query}"))
            .bearer(token)
            .send()
            .await
            .expect(200)
            .json()["teams"]
            .clone()
    };
    assert_eq!(include(&ada.access, "?include=teams").await, json!([]));
    identity
        .api
        .post("/api/teams")
        .bearer(&ada.access)
        .json(json!({ "name": "Alpha", "slug": "Alpha" }))
        .send()
        .await
        .expect(201);
    identity
        .api
        .post("/api/teams/alpha/members")
        .bearer(&ada.access)
        .json(json!({ "username": "bob" }))
        .send()
        .await
        .expect(201);
    let team = |role: &str| json!([{ "id": 1, "slug": "Alpha", "name": "Alpha", "role": role }]);
    assert_eq!(include(&ada.access, "?include=teams").await, team("owner"));
    assert_eq!(
        include(&bob.access, "?include=photos,teams").await,
        team("member")
    );
    for query in ["", "?include=", "?include=team", "?%ff=1"] {
        assert_eq!(include(&ada.access, query).await, Value::Null, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn premium_counts_until_its_end_and_then_reads_as_free() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let until = "2026-11-21 13:00:00";
    identity.sql(&format!(
        "UPDATE users SET premium_tier = 'PREMIUM', premium_expires_at = '{until}'"
    ));
    let body = identity.validate(&ada.access).await.expect(200).json();
    assert_eq!(body["premium_tier"], "PREMIUM");
    assert_eq!(
        body["premium"],
        json!({ "tier": "PREMIUM", "tier_name": "Premium", "is_active": true, "expires_at": "2026-11-21T13:00:00Z", "bandwidth_limit_mb": 10240 })
    );
    identity.hand.advance(Duration::hours(1));
    let body = identity.validate(&ada.access).await.expect(200).json();
    assert_eq!(body["premium_tier"], "FREE");
    assert_eq!(body["user"]["premium_tier"], "FREE");
    assert_eq!(body["premium"]["is_active"], false);
    assert_eq!(body["premium"]["bandwidth_limit_mb"], 1024);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_is_valid_until_the_second_it_expires() {
    let identity = Identity::start_with(|config| config.tokens.access_ttl_seconds = 60).await;
    let ada = identity.register("ada").await;
    let body = identity.validate(&ada.access).await.expect(200).json();
    assert_eq!(
        body["expires_at"].as_i64().unwrap(),
        crate::support::beginning().timestamp() + 60
    );
    identity.hand.advance(Duration::seconds(59));
    identity.validate(&ada.access).await.expect(200);
    identity.hand.advance(Duration::seconds(1));
    let reply = refused(identity.validate(&ada.access).await, 401, "token_expired");
    assert_eq!(reply.json()["valid"], false);
    refused(
        identity
            .api
            .get("/api/auth/me")
            .bearer(&ada.access)
            .send()
            .await,
        401,
        "token_expired",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_401_of_validate_has_valid_false() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
    for (call, code) in [
        (
            identity.api.get("/api/auth/validate"),
            "authentication_required",
        ),
        (
            identity.api.post("/api/auth/validate"),
            "authentication_required",
        ),
        (
            identity.api.get("/api/auth/validate").bearer("nonsense"),
            "invalid_token",
        ),
        (
            identity.api.get("/api/auth/validate").bearer(&ada.access),
            "token_revoked",
        ),
        (
            identity
                .api
                .get(&format!("/api/auth/validate?access_token={}", ada.access)),
            "authentication_required",
        ),
    ] {
        let reply = refused(call.send().await, 401, code);
        assert_eq!(reply.json()["valid"], false);
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logout_ends_only_this_session_with_all_its_tokens() {
    let identity = Identity::start().await;
    let first = identity.register("ada").await;
    let second = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let refreshed = signed_in(&identity.refresh(&first.refresh).await.expect(200).json());
    let reply = identity
        .api
        .post("/api/auth/logout")
        .bearer(&first.access)
        .send()
        .await
        .expect(200);
    assert_eq!(reply.json(), json!({ "message": "Logged out" }));
    refused(identity.validate(&first.access).await, 401, "token_revoked");
    refused(
        identity.validate(&refreshed.access).await,
        401,
        "token_revoked",
    );
    refused(
        identity.refresh(&refreshed.refresh).await,
        401,
        "invalid_refresh_token",
    );
    refused(
        identity
            .api
            .post("/api/auth/logout")
            .bearer(&first.access)
            .send()
            .await,
        401,
        "token_revoked",
    );
    identity.validate(&second.access).await.expect(200);
    refused(
        identity.api.post("/api/auth/logout").send().await,
        401,
        "authentication_required",
    );
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked'"),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn logout_ends_the_session_of_a_named_refresh_token_only_if_it_is_the_callers() {
    let identity = Identity::start().await;
    let phone = identity.register("ada").await;
    let laptop = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let tablet = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let bob = identity.register("bob").await;
    let logout = async |token: &str, refresh: Value| {
        identity
            .api
            .post("/api/auth/logout")
            .bearer(token)
            .json(json!({ "refresh_token": refresh }))
            .send()
            .await
    };
    logout(&phone.access, json!(bob.refresh)).await.expect(200);
    identity.validate(&bob.access).await.expect(200);
    logout(&laptop.access, json!(tablet.refresh))
        .await
        .expect(200);
    refused(
        identity.validate(&tablet.access).await,
        401,
        "token_revoked",
    );
    refused(
        identity.refresh(&laptop.refresh).await,
        401,
        "invalid_refresh_token",
    );

    let carol = identity.register("carol").await;
    refused(
        logout(&carol.access, json!(5)).await,
        400,
        "validation_failed",
    );
    identity.validate(&carol.access).await.expect(200);
    logout(&carol.access, Value::Null).await.expect(200);
    let dora = identity.register("dora").await;
    logout(&dora.access, json!("nonsense")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_that_sign_each_other_out_concurrently_are_all_signed_out() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    for _ in 0..10 {
        let phone = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
        let laptop = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
        let logouts: Vec<_> = [(&phone, &laptop), (&laptop, &phone)]
            .repeat(4)
            .into_iter()
            .map(|(caller, other)| {
                let call = identity
                    .api
                    .post("/api/auth/logout")
                    .bearer(&caller.access)
                    .json(json!({ "refresh_token": other.refresh }));
                tokio::spawn(call.send())
            })
            .collect();
        for logout in logouts {
            let reply = logout.await.unwrap();
            // A late caller is already signed out.
            assert!([200, 401].contains(&reply.status), "{}", reply.text());
        }
        for device in [phone, laptop] {
            refused(
                identity.validate(&device.access).await,
                401,
                "token_revoked",
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_one_database_share_sessions_and_revocations() {
    let identity = Identity::start().await;
    let issuer = identity.running.base_url().to_owned();
    let ada = identity.register("ada").await;
    let again = identity.replica(&issuer).await;
    let api = test_kit::ApiClient::new(format!("http://{}", again.addr()));
    api.get("/api/auth/validate")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
    let refusal = test_kit::wait_until(
        "a refusal by the other process",
        std::time::Duration::from_secs(1),
        async || {
            let reply = api
                .get("/api/auth/validate")
                .bearer(&ada.access)
                .send()
                .await;
            (reply.status != 200).then_some(reply)
        },
    )
    .await;
    refused(refusal, 401, "token_revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_whose_password_changes_during_the_check_is_refused_and_audited() {
    if TestBackend::current() == TestBackend::Sqlite {
        return; // A wait for SQLite's one writer cannot be observed.
    }
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let ada = identity.register("ada").await;
    let mut other = identity.db.pool(1).dedicated().unwrap();
    for _ in 0..10 {
        other
            .batch_execute("BEGIN; UPDATE users SET password_hash = password_hash || ' '")
            .unwrap();
        let login = async {
            let reply = identity.login("ada", PASSWORD).await;
            refused(reply, 401, "invalid_credentials");
        };
        let change = async {
            let waiting = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
            let probe = async || (identity.count(waiting) == 1).then_some(());
            wait_until("the sign-in to wait", StdDuration::from_secs(20), probe).await;
            other.batch_execute("COMMIT").unwrap();
        };
        tokio::join!(login, change);
        identity.sql("UPDATE users SET password_hash = trim(password_hash)");
    }
    let written = format!(
        "SELECT count(*) AS n FROM audit_log WHERE action = 'session.refused' AND user_id = {}",
        ada.id
    );
    assert_eq!(identity.count(&written), 10);
    refused(identity.login("ada", PASSWORD).await, 429, "rate_limited");
}
