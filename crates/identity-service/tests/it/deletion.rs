use serde_json::{Value, json};
use test_kit::{ApiClient, ApiResponse};

use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in, while_written};

async fn delete(api: &ApiClient, caller: &SignedIn, body: Value) -> ApiResponse {
    let path = format!("/api/auth/user/{}", caller.id);
    let call = api.delete(&path).bearer(&caller.access);
    call.json(body).send().await
}

async fn delete_account(identity: &Identity, caller: &SignedIn) -> ApiResponse {
    delete(&identity.api, caller, json!({ "password": PASSWORD })).await
}

async fn create_team(identity: &Identity, owner: &SignedIn, slug: &str) {
    let body = json!({ "name": slug, "slug": slug });
    let call = identity.api.post("/api/teams").bearer(&owner.access);
    call.json(body).send().await.expect(201);
}

async fn add_member(identity: &Identity, by: &SignedIn, slug: &str, name: &str, role: &str) {
    let path = format!("/api/teams/{slug}/members");
    let body = json!({ "username": name, "role": role });
    let call = identity.api.post(&path).bearer(&by.access).json(body);
    call.send().await.expect(201);
}

/// Counts the rows of a table that name this account in a column.
fn rows(identity: &Identity, table: &str, column: &str, id: i64) -> i64 {
    identity.count(&format!(
        "SELECT count(*) AS n FROM {table} WHERE {column} = {id}"
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_account_removes_its_data_and_sessions_but_not_its_audit_entries() {
    let identity = Identity::start().await;
    let register = identity.api.post("/api/auth/register").json(json!({
        "username": "ada", "password": PASSWORD, "email": "ada@example.com"
    }));
    let ada = signed_in(&register.send().await.expect(201).json());
    let phone = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let bob = identity.register("bob").await;
    for (table, values) in [
        (
            "profile_photos (user_id, content_type, bytes)",
            "'image/png', ''",
        ),
        (
            "recovery_codes (user_id, code_hash)",
            "'the hash of a code'",
        ),
    ] {
        let id = ada.id;
        identity.sql(&format!("INSERT INTO {table} VALUES ({id}, {values})"));
    }
    let reply = delete_account(&identity, &phone).await.expect(204);
    assert_eq!(reply.text(), "");

    for device in [&ada, &phone] {
        refused(
            identity.validate(&device.access).await,
            401,
            "token_revoked",
        );
        refused(
            identity.refresh(&device.refresh).await,
            401,
            "invalid_refresh_token",
        );
        refused(
            delete_account(&identity, device).await,
            401,
            "token_revoked",
        );
        for path in ["/api/auth/me", "/api/auth/sessions", "/api/teams"] {
            let call = identity.api.get(path).bearer(&device.access);
            refused(call.send().await, 401, "token_revoked");
        }
    }
    refused(
        identity.login("ada", PASSWORD).await,
        401,
        "invalid_credentials",
    );
    let profile = format!("/api/auth/user/{}", ada.id);
    for viewer in [None, Some(&bob)] {
        let mut call = identity.api.get(&profile);
        if let Some(viewer) = viewer {
            call = call.bearer(&viewer.access);
        }
        refused(call.send().await, 404, "user_not_found");
    }
    let status = identity.api.get("/api/status").send().await;
    assert_eq!(status.expect(200).json()["total_users"], 1);
    for (table, column) in [
        ("users", "id"),
        ("sessions", "user_id"),
        ("email_claims", "user_id"),
        ("mail_tokens", "user_id"),
        ("profile_photos", "user_id"),
        ("recovery_codes", "user_id"),
        ("team_members", "user_id"),
        ("team_departures", "user_id"),
    ] {
        assert_eq!(rows(&identity, table, column, ada.id), 0, "{table}");
    }

    // The audit log keeps its entries, and records the deletion.
    let entries = crate::support::texts(
        &identity.db.pool(1),
        &format!(
            "SELECT action AS t FROM audit_log WHERE user_id = {} ORDER BY id",
            ada.id
        ),
    );
    assert_eq!(entries[..2], ["account.registered", "session.opened"]);
    assert_eq!(entries.last().unwrap(), "account.deleted");
    assert_eq!(
        identity.events("identity.user_changed.v1"),
        [json!({ "user_id": ada.id, "deleted": true, "is_active": false })]
    );
    let ended = &identity.events("identity.session_revoked.v1")[0];
    assert_eq!(ended["user_id"], ada.id);
    assert_eq!(ended["sids"].as_array().map(Vec::len), Some(2));
    identity.validate(&bob.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_and_address_of_a_deleted_account_can_be_reused_but_not_its_id() {
    let identity = Identity::start().await;
    let account = json!({ "username": "ada", "password": PASSWORD, "email": "ada@example.com" });
    let register = || {
        identity
            .api
            .post("/api/auth/register")
            .json(account.clone())
    };
    let first = signed_in(&register().send().await.expect(201).json());
    delete_account(&identity, &first).await.expect(204);
    let second = signed_in(&register().send().await.expect(201).json());
    assert!(second.id > first.id);
    refused(identity.validate(&first.access).await, 401, "token_revoked");
    identity.validate(&second.access).await.expect(200);
    refused(
        delete(
            &identity.api,
            &SignedIn {
                id: second.id,
                ..first
            },
            json!({ "password": PASSWORD }),
        )
        .await,
        401,
        "token_revoked",
    );
    delete_account(&identity, &second).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_can_delete_another_account() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let at = |id: &str| identity.api.delete(&format!("/api/auth/user/{id}"));
    let good = json!({ "password": PASSWORD });
    let mut seen = None;
    for id in [bob.id.to_string(), "4711".to_owned(), i64::MAX.to_string()] {
        let call = at(&id).bearer(&ada.access).json(good.clone());
        let body = refused(call.send().await, 403, "forbidden").json();
        assert_eq!(*seen.get_or_insert(body.clone()), body);
        // The ownership of the account is checked before the body.
        let call = at(&id).bearer(&ada.access).json(json!({}));
        refused(call.send().await, 403, "forbidden");
    }
    for id in ["0", "-1", "007", "1e3", "9223372036854775808", "ada", "%20"] {
        let call = at(id).bearer(&ada.access).json(good.clone());
        refused(call.send().await, 404, "user_not_found");
    }
    identity.sql(&format!(
        "UPDATE users SET role = 'SUPERADMIN' WHERE id = {}",
        ada.id
    ));
    let call = at(&bob.id.to_string()).bearer(&ada.access).json(good);
    refused(call.send().await, 403, "forbidden");
    identity.validate(&bob.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_requires_a_token_and_a_valid_body() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let path = format!("/api/auth/user/{}", ada.id);
    let call = || identity.api.delete(&path);
    refused(call().send().await, 401, "authentication_required");
    refused(
        call().json(json!({ "password": PASSWORD })).send().await,
        401,
        "authentication_required",
    );
    refused(
        call().bearer("nonsense").json(json!({})).send().await,
        401,
        "invalid_token",
    );
    for body in [
        json!({}),
        json!([]),
        json!({ "password": null }),
        json!({ "password": 5 }),
        json!({ "password": PASSWORD, "totp_code": 123_456 }),
    ] {
        refused(
            delete(&identity.api, &ada, body).await,
            400,
            "validation_failed",
        );
    }
    refused(
        call().bearer(&ada.access).send().await,
        400,
        "validation_failed",
    );
    let huge = json!({ "password": "x".repeat(70_000) });
    refused(
        delete(&identity.api, &ada, huge).await,
        413,
        "payload_too_large",
    );
    identity.validate(&ada.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_deletes_nothing() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    for password in ["", "wrong", "Correct horse", &"x".repeat(1_000)] {
        refused(
            delete(&identity.api, &ada, json!({ "password": password })).await,
            401,
            "invalid_credentials",
        );
    }
    identity.validate(&ada.access).await.expect(200);
    identity.refresh(&ada.refresh).await.expect(200);
    assert!(identity.events("identity.user_changed.v1").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn password_guesses_at_deletion_are_delayed_like_those_at_sign_in() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let ada = identity.register("ada").await;
    for _ in 0..10 {
        refused(
            delete(&identity.api, &ada, json!({ "password": "wrong" })).await,
            401,
            "invalid_credentials",
        );
    }
    let reply = refused(delete_account(&identity, &ada).await, 429, "rate_limited");
    assert_eq!(reply.header("retry-after"), "1");
    refused(identity.login("ada", PASSWORD).await, 429, "rate_limited");
    identity.hand.advance(chrono::Duration::seconds(1));
    delete_account(&identity, &ada).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_a_team_with_other_members_cannot_delete_their_account() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    create_team(&identity, &ada, "alone").await;
    create_team(&identity, &ada, "crew").await;
    add_member(&identity, &ada, "crew", "bob", "member").await;
    let before = identity.events("identity.team_changed.v1").len();
    refused(delete_account(&identity, &ada).await, 409, "last_owner");
    // The other team still exists too, and the owner is still signed in.
    let teams = identity.api.get("/api/teams").bearer(&ada.access);
    let teams = teams.send().await.expect(200).json();
    assert_eq!(teams["teams"].as_array().map(Vec::len), Some(2));
    identity.refresh(&ada.refresh).await.expect(200);
    assert_eq!(identity.events("identity.team_changed.v1").len(), before);
    // A caller with a wrong password learns nothing about teams.
    refused(
        delete(&identity.api, &ada, json!({ "password": "wrong" })).await,
        401,
        "invalid_credentials",
    );

    let hand_over = identity
        .api
        .put("/api/teams/crew/members/bob")
        .bearer(&ada.access)
        .json(json!({ "role": "owner" }));
    hand_over.send().await.expect(200);
    delete_account(&identity, &ada).await.expect(204);
    let members = identity
        .api
        .get("/api/teams/crew/members")
        .bearer(&bob.access);
    let members = members.send().await.expect(200).json();
    assert_eq!(members["total"], 1);
    assert_eq!(members["members"][0]["role"], "owner");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_without_other_members_is_deleted_with_its_owner() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    create_team(&identity, &ada, "alone").await;
    let invite = identity
        .api
        .post("/api/teams/alone/invite")
        .bearer(&ada.access)
        .json(json!({ "email": "eve@example.com" }));
    invite.send().await.expect(200);
    delete_account(&identity, &ada).await.expect(204);
    let changes = || identity.events("identity.team_changed.v1");
    let told = changes();
    let gone = told.iter().find(|event| event["deleted"] == true).unwrap();
    assert_eq!(gone["team"]["slug"], "alone");
    let old = gone["team"]["id"].as_i64().unwrap();
    for table in ["teams", "team_members", "invitations"] {
        let left = identity.count(&format!("SELECT count(*) AS n FROM {table}"));
        assert_eq!(left, 0, "{table}");
    }
    create_team(&identity, &bob, "alone").await;
    let ids = |event: &Value| event["team"]["id"].as_i64();
    assert!(changes().iter().filter_map(ids).any(|id| id > old));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_account_ends_its_memberships_and_the_invitations_it_sent() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    for slug in ["one", "two"] {
        create_team(&identity, &bob, slug).await;
        add_member(&identity, &bob, slug, "ada", "admin").await;
    }
    let invite = identity
        .api
        .post("/api/teams/one/invite")
        .bearer(&ada.access)
        .json(json!({ "email": "eve@example.com" }));
    invite.send().await.expect(200);
    delete_account(&identity, &ada).await.expect(204);
    let mut ended: Vec<_> = identity
        .events("identity.membership_changed.v1")
        .into_iter()
        .filter(|event| event["user_id"] == ada.id && event["role"].is_null())
        .map(|event| event["team"]["slug"].to_string())
        .collect();
    ended.sort();
    assert_eq!(ended, ["\"one\"", "\"two\""]);
    for slug in ["one", "two"] {
        let path = format!("/api/teams/{slug}/members");
        let members = identity.api.get(&path).bearer(&bob.access);
        assert_eq!(members.send().await.expect(200).json()["total"], 1);
    }
    let pending = "SELECT count(*) AS n FROM invitations WHERE status = 'pending'";
    assert_eq!(identity.count(pending), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_deletions_of_an_account_one_succeeds() {
    let identity = Identity::start().await;
    for round in 0..5 {
        let name = format!("ada{round}");
        let phone = identity.register(&name).await;
        let laptop = signed_in(&identity.login(&name, PASSWORD).await.expect(200).json());
        create_team(&identity, &phone, &name).await;
        let calls = [phone, laptop].map(|device| {
            let api = identity.api.clone();
            tokio::spawn(async move {
                delete(&api, &device, json!({ "password": PASSWORD }))
                    .await
                    .status
            })
        });
        let mut statuses = Vec::new();
        for call in calls {
            statuses.push(call.await.unwrap());
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 401]);
    }
    assert_eq!(identity.events("identity.user_changed.v1").len(), 5);
    assert_eq!(identity.count("SELECT count(*) AS n FROM teams"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_deletions_and_team_changes_leave_no_team_without_its_owner() {
    let identity = Identity::start().await;
    for round in 0..8 {
        let (a, b, c) = (
            format!("ada{round}"),
            format!("bob{round}"),
            format!("carol{round}"),
        );
        let ada = identity.register(&a).await;
        let bob = identity.register(&b).await;
        let carol = identity.register(&c).await;
        let (first, second) = (format!("first{round}"), format!("second{round}"));
        create_team(&identity, &ada, &first).await;
        create_team(&identity, &bob, &second).await;
        add_member(&identity, &ada, &first, &b, "admin").await;
        add_member(&identity, &bob, &second, &a, "admin").await;
        let put = |slug: &str, who: &str, by: &SignedIn| {
            let path = format!("/api/teams/{slug}/members/{who}");
            let call = identity.api.put(&path).bearer(&by.access);
            call.json(json!({ "role": "owner" }))
        };
        let post = |slug: &str, who: &str, by: &SignedIn| {
            let path = format!("/api/teams/{slug}/members");
            let call = identity.api.post(&path).bearer(&by.access);
            call.json(json!({ "username": who }))
        };
        let gone = |who: &SignedIn| {
            let path = format!("/api/auth/user/{}", who.id);
            let call = identity.api.delete(&path).bearer(&who.access);
            call.json(json!({ "password": PASSWORD }))
        };
        let make = |slug: &str, by: &SignedIn| {
            let call = identity.api.post("/api/teams").bearer(&by.access);
            call.json(json!({ "name": "new", "slug": slug }))
        };
        let calls = [
            gone(&ada),
            gone(&bob),
            put(&first, &b, &ada),
            put(&second, &a, &bob),
            post(&first, &c, &bob),
            post(&second, &c, &ada),
            make(&format!("third{round}"), &ada),
            make(&format!("fourth{round}"), &bob),
            gone(&carol),
            identity
                .api
                .post("/api/auth/login")
                .json(json!({ "username": a, "password": PASSWORD })),
        ];
        let calls = calls.map(|call| tokio::spawn(call.send()));
        for call in calls {
            let reply = call.await.unwrap();
            assert!(
                [200, 201, 204, 401, 403, 404, 409].contains(&reply.status),
                "{}: {}",
                reply.call,
                reply.text()
            );
        }
        for (what, query) in [
            (
                "a team without an owner",
                "SELECT count(*) AS n FROM teams LEFT JOIN users ON users.id = owner_id WHERE users.id IS NULL",
            ),
            (
                "an owner who is no member",
                "SELECT count(*) AS n FROM teams WHERE NOT EXISTS (SELECT 1 FROM team_members WHERE team_id = teams.id AND user_id = owner_id)",
            ),
            (
                "a session of nobody",
                "SELECT count(*) AS n FROM sessions LEFT JOIN users ON users.id = user_id WHERE users.id IS NULL",
            ),
        ] {
            assert_eq!(identity.count(query), 0, "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_owners_deletion_and_a_concurrent_join_exactly_one_succeeds() {
    let identity = Identity::start().await;
    for round in 0..8 {
        let (a, b) = (format!("ada{round}"), format!("bob{round}"));
        let ada = identity.register(&a).await;
        let bob = identity.register(&b).await;
        create_team(&identity, &ada, &a).await;
        let join = identity
            .api
            .post(&format!("/api/teams/{a}/members"))
            .bearer(&ada.access)
            .json(json!({ "username": b }));
        let join = tokio::spawn(join.send());
        let gone = delete_account(&identity, &ada).await.status;
        let joined = join.await.unwrap().status;
        match (gone, joined) {
            (409, 201) | (204, 401 | 404) => {}
            other => panic!("{other:?}"),
        }
        let teams = identity.api.get("/api/teams").bearer(&bob.access);
        let teams = teams.send().await.expect(200).json();
        let expected = usize::from(joined == 201);
        assert_eq!(teams["teams"].as_array().map(Vec::len), Some(expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_change_during_the_deletion_stops_it() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let change = "UPDATE users SET password_hash = '$2b$04$KKKKKKKKKKKKKKKKKKKKKOdddddddddddddddddddddddddddddddu'";
    // The old hash matches, and then the deletion waits for the change.
    let deletion = delete(&identity.api, &ada, json!({ "password": PASSWORD }));
    let reply = while_written(&identity, change.to_owned(), deletion).await;
    refused(reply, 401, "invalid_credentials");
    identity.validate(&ada.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_asks_for_the_second_factor_only_after_the_right_password() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    identity.sql(&format!(
        "INSERT INTO totp_factors (user_id, secret_sealed, created_at, confirmed_at) VALUES ({}, 'sealed', '2026-11-21 12:00:00', '2026-11-21 12:00:00')",
        ada.id
    ));
    refused(delete_account(&identity, &ada).await, 401, "totp_required");
    refused(
        delete(&identity.api, &ada, json!({ "password": "wrong" })).await,
        401,
        "invalid_credentials",
    );
    identity.validate(&ada.access).await.expect(200);
}
