use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use test_kit::{ApiRequest, ApiResponse};

use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in};

/// Registers a superadmin who has just signed in.
pub(crate) async fn superadmin(identity: &Identity, name: &str) -> SignedIn {
    let admin = identity.register(name).await;
    // The account has not been read yet, so nothing of it is cached.
    identity.sql(&format!(
        "UPDATE users SET role = 'SUPERADMIN' WHERE id = {}",
        admin.id
    ));
    admin
}

fn patch(identity: &Identity, admin: &SignedIn, id: i64, body: Value) -> ApiRequest {
    let path = format!("/api/admin/users/{id}");
    let call = identity.api.call(Method::PATCH, &path);
    call.bearer(&admin.access).json(body)
}

async fn get(identity: &Identity, admin: &SignedIn, path: &str) -> ApiResponse {
    let call = identity.api.get(path).bearer(&admin.access);
    call.send().await
}

fn names(page: &Value) -> Vec<&str> {
    let users = page["users"].as_array().unwrap();
    users
        .iter()
        .map(|user| user["username"].as_str().unwrap())
        .collect()
}

fn entries(identity: &Identity) -> i64 {
    identity.count("SELECT count(*) AS n FROM audit_log")
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_superadmin_with_a_recent_sign_in_may_administer() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    let calls = || {
        let user = format!("/api/admin/users/{}", bob.id);
        let nonsense = |call: ApiRequest| call.body("application/json", "nonsense");
        [
            identity.api.get("/api/admin/users?limit=0"),
            nonsense(identity.api.post("/api/admin/users")),
            identity.api.get(&user),
            identity.api.get("/api/admin/users/99"),
            nonsense(identity.api.call(Method::PATCH, &user)),
            identity.api.post(&format!("{user}/revoke-sessions")),
            nonsense(identity.api.post(&format!("{user}/reset-password"))),
            identity.api.get("/api/admin/audit?limit=x"),
        ]
    };
    for call in calls() {
        refused(call.send().await, 401, "authentication_required");
    }
    for call in calls() {
        refused(call.bearer(&bob.access).send().await, 403, "forbidden");
    }
    let users = "/api/admin/users";
    get(&identity, &ada, users).await.expect(200);
    identity.hand.advance(Duration::hours(12));
    get(&identity, &ada, users).await.expect(200);
    // A refreshed token keeps the age of its sign-in.
    identity.hand.advance(Duration::seconds(1));
    let refreshed = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    for call in calls() {
        let reply = refused(
            call.bearer(&refreshed.access).send().await,
            403,
            "forbidden",
        );
        assert!(reply.text().contains("12 hours"), "{}", reply.text());
    }
    let again = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    get(&identity, &again, users).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_found_by_parts_of_names_and_addresses_and_by_role_plan_and_state() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    for name in ["bob_1", "Bobby", "bobX1", "carol"] {
        identity.register(name).await;
    }
    let dora = json!({ "username": "dora", "password": PASSWORD, "email": "Dora@Bob.example" });
    let dora = identity
        .api
        .post("/api/auth/register")
        .json(dora)
        .send()
        .await;
    let dora = signed_in(&dora.expect(201).json());
    let premium =
        json!({ "premium_tier": "PREMIUM", "premium_expires_at": "2026-12-01T00:00:00Z" });
    patch(&identity, &ada, dora.id, premium)
        .send()
        .await
        .expect(200);
    patch(&identity, &ada, dora.id, json!({ "is_active": false }))
        .send()
        .await
        .expect(200);

    let found = async |query: &str| {
        let reply = get(&identity, &ada, &format!("/api/admin/users?{query}")).await;
        let page = reply.expect(200).json();
        names(&page).join(" ")
    };
    for (query, who) in [
        ("", "ada bob_1 Bobby bobX1 carol dora"),
        ("q=", "ada bob_1 Bobby bobX1 carol dora"),
        ("q=BOB", "bob_1 Bobby bobX1 dora"),
        ("q=bob_1", "bob_1"),
        ("q=%25", ""),
        ("q=%5C", ""),
        ("q=dora@bob", "dora"),
        ("q=placeholder.invalid&limit=2", "ada bob_1"),
        ("role=SUPERADMIN", "ada"),
        ("role=USER&q=o", "bob_1 Bobby bobX1 carol dora"),
        ("premium_tier=PREMIUM", "dora"),
        ("premium_tier=FREE&q=a", "ada bob_1 Bobby bobX1 carol"),
        ("is_active=false", "dora"),
        ("is_active=true&q=dora", ""),
    ] {
        assert_eq!(found(query).await, who, "{query}");
    }
    // An expired plan counts as FREE, although nothing has updated its row.
    identity.hand.advance(Duration::days(11));
    let ada = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let page = get(&identity, &ada, "/api/admin/users?premium_tier=PREMIUM")
        .await
        .expect(200);
    assert!(names(&page.json()).is_empty());
    let page = get(&identity, &ada, "/api/admin/users?premium_tier=FREE&q=dora").await;
    assert_eq!(names(&page.expect(200).json()), ["dora"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn paging_through_accounts_skips_and_repeats_none() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    for n in 0..6 {
        identity.register(&format!("user{n}")).await;
    }
    let (mut seen, mut query) = (Vec::new(), "limit=3".to_owned());
    loop {
        let reply = get(&identity, &ada, &format!("/api/admin/users?{query}")).await;
        let page = reply.expect(200).json();
        seen.extend(names(&page).into_iter().map(str::to_owned));
        match page["next_cursor"].as_i64() {
            Some(cursor) => query = format!("limit=3&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(
        seen,
        ["ada", "user0", "user1", "user2", "user3", "user4", "user5"]
    );
    for query in [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=x",
        "cursor=0",
        "role=BOSS",
        "is_active=1",
        "q=%00",
    ] {
        let reply = get(&identity, &ada, &format!("/api/admin/users?{query}")).await;
        refused(reply, 400, "validation_failed");
    }
    get(&identity, &ada, "/api/admin/users?limit=200")
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_sees_the_address_the_plan_and_the_sign_ins_of_an_account() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    identity.hand.advance(Duration::hours(1));
    identity.login("bob", PASSWORD).await.expect(200);
    let shown = get(&identity, &ada, &format!("/api/admin/users/{}", bob.id))
        .await
        .expect(200);
    assert_eq!(shown.header("cache-control"), "no-store");
    insta::assert_json_snapshot!("admin_user", shown.json());
    for id in ["99", "0", "01", "x", "9223372036854775808"] {
        let reply = get(&identity, &ada, &format!("/api/admin/users/{id}")).await;
        refused(reply, 404, "user_not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_creates_accounts_with_a_given_or_generated_password() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let create = async |body: Value| {
        let call = identity.api.post("/api/admin/users").bearer(&ada.access);
        call.json(body).send().await
    };
    let given = json!({ "username": "bob", "password": PASSWORD, "email": "bob@example.com" });
    let bob = create(given).await.expect(201).json();
    assert_eq!(bob["password"], Value::Null);
    assert_eq!(bob["user"]["role"], "USER");
    assert_eq!(bob["user"]["sessions"], 0);
    identity.login("bob", PASSWORD).await.expect(200);
    assert_eq!(identity.mails()[0].to, "bob@example.com");

    let made = create(json!({ "username": "carol", "role": "SUPERADMIN" }))
        .await
        .expect(201)
        .json();
    assert_eq!(made["user"]["role"], "SUPERADMIN");
    let carol = identity
        .login("carol", made["password"].as_str().unwrap())
        .await;
    let carol = signed_in(&carol.expect(200).json());
    get(&identity, &carol, "/api/admin/users").await.expect(200);

    for (body, code) in [
        (json!({ "username": "BOB" }), "username_taken"),
        (
            json!({ "username": "dora", "email": "BOB@example.com" }),
            "email_taken",
        ),
        (json!({ "username": "d" }), "validation_failed"),
        (
            json!({ "username": "dora", "password": "short" }),
            "validation_failed",
        ),
        (
            json!({ "username": "dora", "password": "x".repeat(73) }),
            "password_too_long",
        ),
        (
            json!({ "username": "dora", "email": "x@y.invalid" }),
            "validation_failed",
        ),
        (
            json!({ "username": "dora", "role": "BOSS" }),
            "validation_failed",
        ),
        (json!({}), "validation_failed"),
    ] {
        refused(create(body).await, 400, code);
    }
    let created = "SELECT count(*) AS n FROM audit_log WHERE action = 'user.created'";
    assert_eq!(
        identity.count(&format!("{created} AND actor_id = {}", ada.id)),
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_audited_once_and_an_update_without_effect_is_not() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    let before = entries(&identity);
    for (body, field, value, entry) in [
        (
            json!({ "role": "SUPERADMIN" }),
            "role",
            json!("SUPERADMIN"),
            "user.promoted",
        ),
        (
            json!({ "role": "USER" }),
            "role",
            json!("USER"),
            "user.demoted",
        ),
        (
            json!({ "premium_tier": "PREMIUM" }),
            "premium_tier",
            json!("PREMIUM"),
            "user.plan_changed",
        ),
        (
            json!({ "is_active": false }),
            "is_active",
            json!(false),
            "user.deactivated",
        ),
        (
            json!({ "is_active": true }),
            "is_active",
            json!(true),
            "user.activated",
        ),
    ] {
        // Of concurrent identical updates only one changes anything.
        let calls =
            (0..8).map(|_| tokio::spawn(patch(&identity, &ada, bob.id, body.clone()).send()));
        for call in calls.collect::<Vec<_>>() {
            let reply = call.await.unwrap().expect(200);
            assert_eq!(reply.json()["user"][field], value);
        }
        let count = format!("SELECT count(*) AS n FROM audit_log WHERE action = '{entry}'");
        assert_eq!(
            identity.count(&format!(
                "{count} AND user_id = {} AND actor_id = {}",
                bob.id, ada.id
            )),
            1
        );
    }
    // The deactivation also revoked the session of the registration.
    assert_eq!(entries(&identity), before + 6);
    assert_eq!(identity.events("identity.user_changed.v1").len(), 5);

    let read = async || {
        get(&identity, &ada, &format!("/api/admin/users/{}", bob.id))
            .await
            .expect(200)
            .json()
    };
    let was = read().await;
    identity.hand.advance(Duration::minutes(1));
    for body in [
        json!({}),
        json!({ "role": "USER", "is_active": true, "premium_tier": "PREMIUM", "premium_expires_at": null }),
        json!({ "role": null, "is_active": null, "premium_tier": null, "nonsense": 1 }),
    ] {
        patch(&identity, &ada, bob.id, body)
            .send()
            .await
            .expect(200);
    }
    assert_eq!(entries(&identity), before + 6);
    assert_eq!(read().await, was);

    for body in [
        json!({ "role": "BOSS" }),
        json!({ "is_active": "no" }),
        json!({ "premium_tier": "GOLD" }),
        json!({ "premium_tier": "FREE", "premium_expires_at": "2027-01-01T00:00:00Z" }),
        json!({ "premium_expires_at": "2026-11-21T12:01:00Z" }),
        json!({ "premium_expires_at": "tomorrow" }),
        json!([]),
    ] {
        refused(
            patch(&identity, &ada, bob.id, body).send().await,
            400,
            "validation_failed",
        );
    }
    refused(
        patch(&identity, &ada, 99, json!({})).send().await,
        404,
        "user_not_found",
    );
    assert_eq!(read().await, was);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_cannot_demote_deactivate_or_reset_their_own_account() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    for body in [
        json!({ "is_active": false }),
        json!({ "role": "USER" }),
        json!({ "premium_tier": "PREMIUM", "role": "USER" }),
    ] {
        let reply = refused(
            patch(&identity, &ada, ada.id, body).send().await,
            403,
            "forbidden",
        );
        assert!(reply.text().contains("command line"), "{}", reply.text());
    }
    let reset = format!("/api/admin/users/{}/reset-password", ada.id);
    let reply = identity.api.post(&reset).bearer(&ada.access).send().await;
    refused(reply, 403, "forbidden");
    patch(
        &identity,
        &ada,
        ada.id,
        json!({ "role": "SUPERADMIN", "is_active": true }),
    )
    .send()
    .await
    .expect(200);
    patch(
        &identity,
        &ada,
        ada.id,
        json!({ "premium_tier": "PREMIUM" }),
    )
    .send()
    .await
    .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deactivation_ends_every_session_at_once_and_activation_restores_none() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    let second = signed_in(&identity.login("bob", PASSWORD).await.expect(200).json());
    for session in [&bob, &second] {
        identity.validate(&session.access).await.expect(200);
    }
    patch(&identity, &ada, bob.id, json!({ "is_active": false }))
        .send()
        .await
        .expect(200);
    for session in [&bob, &second] {
        refused(
            identity.validate(&session.access).await,
            401,
            "token_revoked",
        );
        refused(
            identity.refresh(&session.refresh).await,
            401,
            "invalid_refresh_token",
        );
    }
    refused(
        identity.login("bob", PASSWORD).await,
        401,
        "invalid_credentials",
    );
    let user = identity
        .api
        .get(&format!("/api/auth/user/{}", bob.id))
        .send()
        .await;
    refused(user, 404, "user_not_found");
    let ended = identity.events("identity.session_revoked.v1");
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["sids"].as_array().unwrap().len(), 2);
    let revoked = "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND session_id IS NOT NULL";
    assert_eq!(identity.count(revoked), 2);
    let told = || identity.events("identity.user_changed.v1").pop().unwrap();
    assert_eq!(told()["is_active"], false);
    identity.hand.advance(Duration::seconds(1));

    patch(&identity, &ada, bob.id, json!({ "is_active": true }))
        .send()
        .await
        .expect(200);
    assert_eq!(told()["is_active"], true);
    refused(identity.validate(&bob.access).await, 401, "token_revoked");
    refused(
        identity.refresh(&second.refresh).await,
        401,
        "invalid_refresh_token",
    );
    identity.login("bob", PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrent_sign_in_does_not_survive_deactivation_or_a_password_reset() {
    let identity = Identity::start_with(|config| config.password.bcrypt_cost = 7).await;
    let ada = superadmin(&identity, "ada").await;
    for round in 0..4 {
        let name = format!("bob{round}");
        let bob = identity.register(&name).await;
        let login = json!({ "username": name, "password": PASSWORD });
        let logins: Vec<_> = (0..12)
            .map(|_| {
                let call = identity.api.post("/api/auth/login").json(login.clone());
                tokio::spawn(call.send())
            })
            .collect();
        if round % 2 == 0 {
            patch(&identity, &ada, bob.id, json!({ "is_active": false }))
                .send()
                .await
                .expect(200);
        } else {
            let path = format!("/api/admin/users/{}/reset-password", bob.id);
            identity
                .api
                .post(&path)
                .bearer(&ada.access)
                .send()
                .await
                .expect(200);
        }
        for login in logins {
            let reply = login.await.unwrap();
            if reply.status == 200 {
                let late = signed_in(&reply.json());
                refused(identity.validate(&late.access).await, 401, "token_revoked");
            } else {
                refused(reply, 401, "invalid_credentials");
            }
        }
        let standing = format!(
            "SELECT count(*) AS n FROM sessions WHERE user_id = {} AND revoked_at IS NULL",
            bob.id
        );
        assert_eq!(identity.count(&standing), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_reset_ends_all_sessions_and_invalidates_the_old_password() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    let path = format!("/api/admin/users/{}/reset-password", bob.id);
    let reset = identity
        .api
        .post(&path)
        .bearer(&ada.access)
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(reset["sessions_ended"], 1);
    refused(identity.validate(&bob.access).await, 401, "token_revoked");
    refused(
        identity.login("bob", PASSWORD).await,
        401,
        "invalid_credentials",
    );
    identity
        .login("bob", reset["password"].as_str().unwrap())
        .await
        .expect(200);

    let given = json!({ "password": "another horse" });
    let reset = identity
        .api
        .post(&path)
        .bearer(&ada.access)
        .json(given)
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(reset["password"], Value::Null);
    identity.login("bob", "another horse").await.expect(200);
    let short = json!({ "password": "short" });
    let reply = identity
        .api
        .post(&path)
        .bearer(&ada.access)
        .json(short)
        .send()
        .await;
    refused(reply, 400, "validation_failed");
    let nobody = identity
        .api
        .post("/api/admin/users/99/reset-password")
        .bearer(&ada.access);
    refused(nobody.send().await, 404, "user_not_found");
    let resets = "SELECT count(*) AS n FROM audit_log WHERE action = 'user.password_reset'";
    assert_eq!(identity.count(resets), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_can_end_all_sessions_of_an_account() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    identity.login("bob", PASSWORD).await.expect(200);
    let revoke = async |id: i64| {
        let path = format!("/api/admin/users/{id}/revoke-sessions");
        identity.api.post(&path).bearer(&ada.access).send().await
    };
    assert_eq!(
        revoke(bob.id).await.expect(200).json(),
        json!({ "sessions_ended": 2 })
    );
    refused(identity.validate(&bob.access).await, 401, "token_revoked");
    assert_eq!(
        revoke(bob.id).await.expect(200).json(),
        json!({ "sessions_ended": 0 })
    );
    refused(revoke(99).await, 404, "user_not_found");
    identity.login("bob", PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_premium_plan_counts_until_its_last_microsecond_and_then_reads_as_free() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    let premium = async || identity.validate(&bob.access).await.expect(200).json();
    let free = premium().await;
    assert_eq!(
        free["premium"],
        json!({ "tier": "FREE", "tier_name": "Free", "is_active": false, "expires_at": null, "bandwidth_limit_mb": 1024 })
    );
    let body =
        json!({ "premium_tier": "PREMIUM", "premium_expires_at": "2026-11-22T13:00:00+01:00" });
    patch(&identity, &ada, bob.id, body)
        .send()
        .await
        .expect(200);
    let paid = premium().await;
    assert_eq!(
        paid["premium"],
        json!({ "tier": "PREMIUM", "tier_name": "Premium", "is_active": true, "expires_at": "2026-11-22T12:00:00Z", "bandwidth_limit_mb": 10240 })
    );
    assert_eq!(
        (&paid["premium_tier"], &paid["user"]["premium_tier"]),
        (&json!("PREMIUM"), &json!("PREMIUM"))
    );

    identity
        .hand
        .advance(Duration::hours(24) - Duration::microseconds(1));
    assert_eq!(premium().await["premium"]["is_active"], true);
    identity.hand.advance(Duration::microseconds(1));
    let over = premium().await;
    assert_eq!(over["premium"]["tier"], "FREE");
    assert_eq!(over["premium"]["is_active"], false);
    assert_eq!(over["premium"]["bandwidth_limit_mb"], 1024);
    assert_eq!(over["user"]["premium_tier"], "FREE");
    // A new plan does not get the old end back, and FREE has no end.
    let ada = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    patch(
        &identity,
        &ada,
        bob.id,
        json!({ "premium_tier": "PREMIUM" }),
    )
    .send()
    .await
    .expect(200);
    assert_eq!(premium().await["premium"]["expires_at"], Value::Null);
    patch(&identity, &ada, bob.id, json!({ "premium_tier": "FREE" }))
        .send()
        .await
        .expect(200);
    assert_eq!(premium().await["premium"], free["premium"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_superadmins_who_remove_each_other_at_once_one_remains() {
    let identity = Identity::start().await;
    for round in 0..8 {
        let ada = superadmin(&identity, &format!("ada{round}")).await;
        let bob = superadmin(&identity, &format!("bob{round}")).await;
        let demote = json!({ "role": "USER" });
        let (one, two) = tokio::join!(
            patch(&identity, &ada, bob.id, demote.clone()).send(),
            patch(&identity, &bob, ada.id, json!({ "is_active": false })).send()
        );
        let done = [&one, &two]
            .iter()
            .filter(|reply| reply.status == 200)
            .count();
        assert_eq!(done, 1, "{} {}", one.text(), two.text());
        let left = "SELECT count(*) AS n FROM users WHERE role = 'SUPERADMIN' AND is_active";
        assert_eq!(identity.count(left), round + 1);
    }
}
