use chrono::Duration;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in};

async fn export(identity: &Identity, caller: &SignedIn) -> ApiResponse {
    identity
        .api
        .get("/api/auth/export")
        .bearer(&caller.access)
        .send()
        .await
}

async fn create_team(identity: &Identity, owner: &SignedIn, slug: &str) -> i64 {
    let body = json!({ "name": format!("Team {slug}"), "slug": slug });
    let call = identity.api.post("/api/teams").bearer(&owner.access);
    let reply = call.json(body).send().await.expect(201);
    reply.json()["team"]["id"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_contains_everything_about_the_account() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    identity.hand.advance(Duration::minutes(1));
    let phone = signed_in(&identity.login("Ada", PASSWORD).await.expect(200).json());
    identity.login("ada", "wrong").await.expect(401);
    create_team(&identity, &ada, "crew").await;
    let guests = create_team(&identity, &bob, "guests").await;
    let body = json!({ "username": "ada", "role": "admin" });
    let add = identity
        .api
        .post("/api/teams/guests/members")
        .bearer(&bob.access)
        .json(body);
    add.send().await.expect(201);
    for (id, email, invited_by, accepted_by, status) in [
        ("to-her", "ADA@placeholder.invalid", bob.id, None, "pending"),
        ("by-her", "eve@example.com", ada.id, None, "declined"),
        (
            "hers-elsewhere",
            "old@example.com",
            bob.id,
            Some(ada.id),
            "accepted",
        ),
        ("not-hers", "zoe@example.com", bob.id, None, "pending"),
    ] {
        let accepted_by = accepted_by.map_or("NULL".to_owned(), |id| id.to_string());
        identity.sql(&format!(
            "INSERT INTO invitations (id, team_id, email, email_lower, role, status, token_hash, invited_by, accepted_by, created_at, expires_at) \
             VALUES ('{id}', {guests}, '{email}', lower('{email}'), 'member', '{status}', 'hash of {id}', {invited_by}, {accepted_by}, '2026-11-21 12:00:00', '2026-11-28 12:00:00')"
        ));
    }

    let reply = export(&identity, &phone).await.expect(200);
    assert_eq!(
        reply.header("content-disposition"),
        "attachment; filename=\"holdfast-ada.json\""
    );
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("cache-control"), "no-store");
    let document = reply.json();
    assert_eq!(document["exported_at"], "2026-11-21T12:01:00Z");
    let me = identity
        .api
        .get("/api/auth/me")
        .bearer(&ada.access)
        .send()
        .await;
    assert_eq!(document["account"], me.expect(200).json()["user"]);
    assert_eq!(document["premium"]["tier"], "FREE");
    assert_eq!(document["premium"]["bandwidth_limit_mb"], 1_024);
    assert_eq!(document["totp_enabled"], false);
    assert_eq!(document["profile_photo"], Value::Null);
    assert_eq!(document["truncated"], json!([]));

    let list = |name: &str| document[name].as_array().unwrap().clone();
    let sessions = list("sessions");
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["created_at"], "2026-11-21T12:01:00Z");
    assert_eq!(sessions[1]["address"], "127.0.0.1");
    assert_eq!(sessions[1]["revoked_at"], Value::Null);
    let teams: Vec<_> = list("teams")
        .iter()
        .map(|membership| {
            (
                membership["team"]["slug"].clone(),
                membership["role"].clone(),
            )
        })
        .collect();
    assert_eq!(
        teams,
        [
            (json!("crew"), json!("owner")),
            (json!("guests"), json!("admin"))
        ]
    );
    let ids = |name: &str| {
        let mut ids: Vec<_> = list(name).iter().map(|one| one["id"].to_string()).collect();
        ids.sort();
        ids
    };
    // An unverified address may belong to somebody else.
    assert_eq!(ids("invitations_received"), ["\"hers-elsewhere\""]);
    assert_eq!(ids("invitations_sent"), ["\"by-her\""]);
    let received = &list("invitations_received")[0];
    assert_eq!(received["invited_by"], "bob");
    assert_eq!(received["team"]["slug"], "guests");
    let actions: Vec<_> = list("audit_log")
        .iter()
        .map(|entry| entry["action"].as_str().unwrap().to_owned())
        .collect();
    for action in [
        "account.registered",
        "session.opened",
        "session.refused",
        "account.exported",
    ] {
        assert!(actions.contains(&action.to_owned()), "{actions:?}");
    }
    assert_eq!(actions[0], "account.exported");

    identity.sql(
        "UPDATE users SET email = 'Ada@example.com', email_verified = TRUE WHERE username = 'ada'",
    );
    identity.sql("UPDATE invitations SET email_lower = 'ada@example.com' WHERE id = 'to-her'");
    let call = identity.api.post("/api/teams/guests/leave");
    call.bearer(&ada.access).send().await.expect(204);
    let document = export(&identity, &phone).await.expect(200).json();
    let received = document["invitations_received"].as_array().unwrap();
    assert_eq!(received.len(), 2);
    assert_eq!(document["teams_left"][0]["team"]["slug"], "guests");
    assert_eq!(document["teams_left"][0]["left_at"], "2026-11-21T12:01:00Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_contains_no_secrets() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    identity.sql(&format!(
        "INSERT INTO totp_factors (user_id, secret_sealed, created_at, confirmed_at) VALUES ({}, 'the sealed secret', '2026-11-21 12:00:00', '2026-11-21 12:00:00')",
        ada.id
    ));
    let text = export(&identity, &ada).await.expect(200).text();
    assert!(text.contains("\"totp_enabled\":true"));
    let hashes = crate::support::texts(
        &identity.db.pool(1),
        "SELECT password_hash AS t FROM users UNION SELECT refresh_hash FROM sessions UNION SELECT refresh_lineage FROM sessions",
    );
    assert_eq!(hashes.len(), 3);
    for secret in hashes.iter().map(String::as_str).chain([
        ada.access.as_str(),
        &ada.refresh,
        PASSWORD,
        "the sealed secret",
    ]) {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_contains_the_photo_as_a_data_url() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bytes = match test_kit::TestBackend::current() {
        test_kit::TestBackend::Sqlite => "X'FFD8FF00'",
        test_kit::TestBackend::Postgres => "'\\xFFD8FF00'",
    };
    identity.sql(&format!(
        "INSERT INTO profile_photos (user_id, content_type, bytes) VALUES ({}, 'image/jpeg', {bytes})",
        ada.id
    ));
    let document = export(&identity, &ada).await.expect(200).json();
    assert_eq!(document["profile_photo"], "data:image/jpeg;base64,/9j/AA==");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_omits_the_ip_addresses_of_other_users() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    for (action, actor, address, via, details) in [
        (
            "user.promoted",
            "77",
            "'192.0.2.1'",
            "http",
            "'{\"role\": \"SUPERADMIN\"}'",
        ),
        ("user.demoted", "NULL", "NULL", "command", "'no JSON'"),
        ("session.refused", "NULL", "'192.0.2.2'", "http", "NULL"),
        (
            "session.revoked",
            &ada.id.to_string(),
            "'192.0.2.3'",
            "http",
            "NULL",
        ),
    ] {
        identity.sql(&format!(
            "INSERT INTO audit_log (at, action, user_id, address, actor_id, via, details) VALUES ('2026-11-21 12:00:00', '{action}', {}, {address}, {actor}, '{via}', {details})",
            ada.id
        ));
    }
    let document = export(&identity, &ada).await.expect(200).json();
    let entries = document["audit_log"].as_array().unwrap();
    let seen: Vec<_> = entries[1..5]
        .iter()
        .map(|entry| {
            (
                entry["action"].as_str().unwrap(),
                entry["actor_id"].clone(),
                entry["address"].clone(),
                entry["via"].as_str().unwrap(),
                entry["details"].clone(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (
                "session.revoked",
                json!(ada.id),
                json!("192.0.2.3"),
                "http",
                Value::Null
            ),
            (
                "session.refused",
                Value::Null,
                json!("192.0.2.2"),
                "http",
                Value::Null
            ),
            (
                "user.demoted",
                Value::Null,
                Value::Null,
                "command",
                json!("no JSON")
            ),
            (
                "user.promoted",
                json!(77),
                Value::Null,
                "http",
                json!({ "role": "SUPERADMIN" })
            ),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_truncates_long_lists_and_names_them() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let series = match test_kit::TestBackend::current() {
        test_kit::TestBackend::Sqlite => {
            "WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 1000)"
        }
        test_kit::TestBackend::Postgres => {
            "WITH series AS (SELECT n FROM generate_series(1, 1000) AS n)"
        }
    };
    let insert = "INSERT INTO sessions (id, user_id, created_at, expires_at, refresh_lineage, refresh_hash, refresh_rotated_at, refresh_expires_at)";
    let select = format!(
        "SELECT 's' || n, {}, '2025-01-01 00:00:00', '2025-02-01 00:00:00', 'l' || n, 'h' || n, '2025-01-01 00:00:00', '2025-02-01 00:00:00' FROM series",
        ada.id
    );
    identity.sql(&match test_kit::TestBackend::current() {
        test_kit::TestBackend::Sqlite => format!("{series} {insert} {select}"),
        test_kit::TestBackend::Postgres => {
            format!(
                "{series} {insert} {}",
                select
                    .replace("'2025-01-01 00:00:00'", "TIMESTAMP '2025-01-01'")
                    .replace("'2025-02-01 00:00:00'", "TIMESTAMP '2025-02-01'")
            )
        }
    });
    let document = export(&identity, &ada).await.expect(200).json();
    assert_eq!(document["sessions"].as_array().map(Vec::len), Some(1_000));
    assert_eq!(
        document["sessions"][0]["created_at"],
        "2026-11-21T12:00:00Z"
    );
    assert_eq!(document["truncated"], json!(["sessions"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_requires_a_valid_token() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let get = || identity.api.get("/api/auth/export");
    refused(get().send().await, 401, "authentication_required");
    refused(get().bearer("nonsense").send().await, 401, "invalid_token");
    let logout = identity.api.post("/api/auth/logout").bearer(&ada.access);
    logout.send().await.expect(200);
    refused(export(&identity, &ada).await, 401, "token_revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_are_limited_to_ten_an_hour() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    for _ in 0..10 {
        export(&identity, &ada).await.expect(200);
    }
    let reply = refused(export(&identity, &ada).await, 429, "rate_limited");
    let wait: u64 = reply.header("retry-after").parse().unwrap();
    assert!((1..=360).contains(&wait), "{wait}");
    export(&identity, &bob).await.expect(200);
}
