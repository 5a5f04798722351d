use chrono::Duration;
use serde_json::{Value, json};

use crate::support::{Identity, PASSWORD, refused, signed_in, texts};

fn snapshot(name: &str, body: &Value) {
    insta::assert_json_snapshot!(name, body, {
        ".access_token" => "[access token]",
        ".refresh_token" => "[refresh token]",
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_returns_201_and_a_working_token_pair() {
    let identity = Identity::start().await;
    let body = json!({ "username": "Ada_L-1", "password": PASSWORD, "email": "Ada@example.com" });
    let reply = identity
        .api
        .post("/api/auth/register")
        .json(body)
        .send()
        .await
        .expect(201);
    assert_eq!(reply.header("cache-control"), "no-store");
    snapshot("register", &reply.json());
    let ada = signed_in(&reply.json());
    identity.validate(&ada.access).await.expect(200);
    identity.refresh(&ada.refresh).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_email_gets_a_placeholder_that_only_it_sees() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let me = identity
        .api
        .get("/api/auth/me")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(me["user"]["email"], "ada@placeholder.invalid");
    assert_eq!(me["user"]["email_verified"], false);
    let seen = identity
        .api
        .get(&format!("/api/auth/user/{}", ada.id))
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(seen["user"]["email"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_refuses_invalid_fields_and_taken_names() {
    let identity = Identity::start().await;
    identity.register("taken").await;
    let long = "x".repeat(73);
    let cases = [
        (
            json!({ "username": "ab", "password": PASSWORD }),
            "validation_failed",
        ),
        (
            json!({ "username": "a b c", "password": PASSWORD }),
            "validation_failed",
        ),
        (
            json!({ "username": "x".repeat(65), "password": PASSWORD }),
            "validation_failed",
        ),
        (
            json!({ "username": "fine", "password": "1234567" }),
            "validation_failed",
        ),
        (
            json!({ "username": "fine", "password": long }),
            "password_too_long",
        ),
        (
            json!({ "username": "fine", "password": "π".repeat(37) }),
            "password_too_long",
        ),
        (
            json!({ "username": "fine", "password": PASSWORD, "email": "nonsense" }),
            "validation_failed",
        ),
        (
            json!({ "username": "fine", "password": PASSWORD, "email": "" }),
            "validation_failed",
        ),
        (
            json!({ "username": "fine", "password": PASSWORD, "email": "x@placeholder.invalid" }),
            "validation_failed",
        ),
        (
            json!({ "username": "fine", "password": PASSWORD, "email": 5 }),
            "validation_failed",
        ),
        (json!({ "username": "fine" }), "validation_failed"),
        (json!({ "password": PASSWORD }), "validation_failed"),
        (
            json!({ "username": null, "password": PASSWORD }),
            "validation_failed",
        ),
        (
            json!({ "username": "TAKEN", "password": PASSWORD }),
            "username_taken",
        ),
        (json!([]), "validation_failed"),
    ];
    for (body, code) in cases {
        let reply = identity
            .api
            .post("/api/auth/register")
            .json(body)
            .send()
            .await;
        refused(reply, 400, code);
    }
    assert_eq!(identity.count("SELECT count(*) AS n FROM users"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_cannot_set_its_role_premium_tier_or_id() {
    let identity = Identity::start().await;
    let body = json!({
        "username": "mallory", "password": PASSWORD, "role": "SUPERADMIN", "premium_tier": "PREMIUM", "id": 99,
        "is_active": false, "email_verified": true,
    });
    let user = identity
        .api
        .post("/api/auth/register")
        .json(body)
        .send()
        .await
        .expect(201)
        .json()["user"]
        .clone();
    assert_eq!(
        (&user["role"], &user["premium_tier"], &user["id"]),
        (&json!("USER"), &json!("FREE"), &json!(1))
    );
    assert_eq!(
        (&user["is_active"], &user["email_verified"]),
        (&json!(true), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_of_72_bytes_in_any_script_and_unicode_form_sign_in() {
    let identity = Identity::start().await;
    for (name, registered, typed) in [
        ("bytes", "x".repeat(72), "x".repeat(72)),
        ("greek", "π".repeat(36), "π".repeat(36)),
        ("nfkc", "e\u{301}1234567".into(), "é1234567".into()),
    ] {
        let body = json!({ "username": name, "password": registered });
        identity
            .api
            .post("/api/auth/register")
            .json(body)
            .send()
            .await
            .expect(201);
        identity.login(name, &typed).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_registrations_of_case_variants_of_a_name_create_one_account() {
    let identity = Identity::start().await;
    let attempts = (0..16_u32).map(|bits| {
        let name: String = "race"
            .chars()
            .enumerate()
            .map(|(at, c)| {
                if bits >> at & 1 == 1 {
                    c.to_ascii_uppercase()
                } else {
                    c
                }
            })
            .collect();
        let api = identity.api.clone();
        tokio::spawn(async move {
            api.post("/api/auth/register")
                .json(json!({ "username": name, "password": PASSWORD }))
                .send()
                .await
        })
    });
    let mut made = 0;
    for attempt in attempts.collect::<Vec<_>>() {
        let reply = attempt.await.unwrap();
        if reply.status == 201 {
            made += 1;
        } else {
            refused(reply, 400, "username_taken");
        }
    }
    assert_eq!(made, 1);
    assert_eq!(identity.count("SELECT count(*) AS n FROM users"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unverified_email_is_reserved_for_a_day_and_a_verified_one_for_good() {
    let identity = Identity::start().await;
    let register = async |name: &str, email: &str| {
        identity
            .api
            .post("/api/auth/register")
            .json(json!({ "username": name, "password": PASSWORD, "email": email }))
            .send()
            .await
    };
    register("first", "shared@example.com").await.expect(201);
    refused(
        register("second", "Shared@Example.com").await,
        400,
        "email_taken",
    );
    identity.hand.advance(Duration::hours(24));
    register("second", "SHARED@example.com").await.expect(201);
    refused(
        register("third", "shared@example.com").await,
        400,
        "email_taken",
    );
    identity.sql("UPDATE email_claims SET expires_at = NULL");
    identity.hand.advance(Duration::days(400));
    refused(
        register("third", "shared@example.com").await,
        400,
        "email_taken",
    );
    assert_eq!(identity.count("SELECT count(*) AS n FROM users"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_registrations_with_one_email_create_one_account() {
    let identity = Identity::start().await;
    let attempts: Vec<_> = (0..12)
        .map(|n| {
            let api = identity.api.clone();
            let body = json!({ "username": format!("user{n}"), "password": PASSWORD, "email": "one@example.com" });
            tokio::spawn(async move { api.post("/api/auth/register").json(body).send().await })
        })
        .collect();
    let mut made = 0;
    for attempt in attempts {
        made += usize::from(attempt.await.unwrap().status == 201);
    }
    assert_eq!(made, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn me_returns_the_account_with_its_email() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let reply = identity
        .api
        .get("/api/auth/me")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    snapshot("me", &reply.json());
    refused(
        identity.api.get("/api/auth/me").send().await,
        401,
        "authentication_required",
    );
    refused(
        identity
            .api
            .get("/api/auth/me")
            .bearer("x.y.z")
            .send()
            .await,
        401,
        "invalid_token",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_account_itself_and_a_superadmin_see_its_email() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let root = identity.register("root").await;
    identity.sql("UPDATE users SET role = 'SUPERADMIN' WHERE username = 'root'");
    let path = format!("/api/auth/user/{}", ada.id);
    let seen_by = async |token: Option<&str>| {
        let call = identity.api.get(&path);
        let call = match token {
            Some(token) => call.bearer(token),
            None => call,
        };
        call.send().await.expect(200).json()["user"]["email"].clone()
    };
    snapshot(
        "user_seen_by_anybody",
        &identity.api.get(&path).send().await.expect(200).json(),
    );
    let own = json!("ada@placeholder.invalid");
    assert_eq!(seen_by(None).await, Value::Null);
    assert_eq!(seen_by(Some(&bob.access)).await, Value::Null);
    assert_eq!(seen_by(Some("not.a.token")).await, Value::Null);
    assert_eq!(seen_by(Some(&ada.access)).await, own);
    assert_eq!(seen_by(Some(&root.access)).await, own);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inactive_account_cannot_sign_in_and_only_a_superadmin_finds_it() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let root = identity.register("root").await;
    identity.sql("UPDATE users SET is_active = FALSE WHERE username = 'ada'");
    identity.sql("UPDATE users SET role = 'SUPERADMIN' WHERE username = 'root'");
    let path = format!("/api/auth/user/{}", ada.id);
    refused(identity.api.get(&path).send().await, 404, "user_not_found");
    refused(
        identity.api.get(&path).bearer(&bob.access).send().await,
        404,
        "user_not_found",
    );
    let seen = identity
        .api
        .get(&path)
        .bearer(&root.access)
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(seen["user"]["is_active"], false);
    refused(identity.validate(&ada.access).await, 401, "token_revoked");
    refused(
        identity.refresh(&ada.refresh).await,
        401,
        "invalid_refresh_token",
    );
    refused(
        identity.login("ada", PASSWORD).await,
        401,
        "invalid_credentials",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_canonical_id_finds_a_user() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    for id in [
        "2",
        "0",
        "-1",
        "01",
        "+1",
        "1e0",
        "1.0",
        "9223372036854775808",
        "ada",
        "%31%00",
        "%20",
        "%FF",
        "1%2F",
    ] {
        let reply = identity
            .api
            .get(&format!("/api/auth/user/{id}"))
            .send()
            .await
            .expect(404);
        assert!(
            reply.json()["error"]
                .as_str()
                .unwrap()
                .ends_with("not_found"),
            "{id}: {}",
            reply.text()
        );
    }
    identity
        .api
        .get("/api/auth/user/%31")
        .send()
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn status_counts_active_accounts_and_may_be_five_seconds_old() {
    let identity = Identity::start().await;
    let status = async || {
        identity
            .api
            .get("/api/status")
            .send()
            .await
            .expect(200)
            .json()
    };
    assert_eq!(status().await, json!({ "status": "ok", "total_users": 0 }));
    identity.register("ada").await;
    identity.register("bob").await;
    identity.sql("UPDATE users SET is_active = FALSE WHERE username = 'bob'");
    assert_eq!(status().await["total_users"], 0);
    identity.hand.advance(Duration::seconds(5));
    assert_eq!(status().await["total_users"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn account_ids_are_never_reused() {
    let identity = Identity::start().await;
    let first = identity.register("first").await;
    identity.sql("DELETE FROM users");
    assert!(identity.register("second").await.id > first.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_mails_a_verification_link_unless_the_address_is_a_placeholder() {
    let identity = Identity::start().await;
    identity.register("nobody").await;
    assert!(identity.mails().is_empty());
    let body = json!({ "username": "ada", "password": PASSWORD, "email": "Ada@example.com" });
    let call = identity.api.post("/api/auth/register").json(body);
    call.send().await.expect(201);
    let mails = identity.mails();
    let [mail] = mails.as_slice() else {
        panic!("{mails:?}");
    };
    assert_eq!(mail.to, "Ada@example.com");
    let event_types::MailTemplate::VerifyEmail { username, link, .. } = &mail.text else {
        panic!("{mail:?}");
    };
    assert_eq!(username, "ada");
    let token = link
        .strip_prefix(&format!("{}/verify-email/", identity.running.base_url()))
        .unwrap();
    assert!(token.len() >= 43, "{token}");
    // The outbox contains neither the token nor the address in clear, and the token's table only its hash.
    let outbox = texts(&identity.db.pool(1), "SELECT body AS t FROM outbox").join(" ");
    assert!(!outbox.contains(token) && !outbox.to_lowercase().contains("ada@example"));
    let kept = texts(
        &identity.db.pool(1),
        "SELECT token_hash AS t FROM mail_tokens",
    )
    .join(" ");
    assert!(!kept.contains(token) && !kept.is_empty());
}
