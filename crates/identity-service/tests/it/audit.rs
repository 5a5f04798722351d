use chrono::Duration;
use db_kit::{DbError, on_backend};
use diesel::RunQueryDsl as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::admin_api::superadmin;
use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in};

async fn log(identity: &Identity, admin: &SignedIn, query: &str) -> Value {
    let path = format!("/api/admin/audit?{query}");
    let call = identity.api.get(&path).bearer(&admin.access);
    call.send().await.expect(200).json()
}

fn actions(page: &Value) -> Vec<&str> {
    let entries = page["entries"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| entry["action"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_lists_actor_action_and_subject_newest_first() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    identity.login("bob", "wrong password").await.expect(401);
    identity.login("nobody", "wrong password").await.expect(401);
    identity.hand.advance(Duration::minutes(1));
    let path = format!("/api/admin/users/{}", bob.id);
    let promotion = identity.api.call(Method::PATCH, &path).bearer(&ada.access);
    promotion
        .json(json!({ "role": "SUPERADMIN" }))
        .send()
        .await
        .expect(200);

    let all = log(&identity, &ada, "").await;
    insta::assert_json_snapshot!("audit", all, { ".entries[3].session_id" => "[session]", ".entries[4].session_id" => "[session]" });
    for (query, expected) in [
        (
            format!("user={}", bob.id),
            &["user.promoted", "session.refused", "account.registered"][..],
        ),
        (format!("actor={}", ada.id), &["user.promoted"]),
        (
            "action=session.refused".into(),
            &["session.refused", "session.refused"],
        ),
        (
            "action=session".into(),
            &["session.refused", "session.refused"],
        ),
        ("action=sess".into(), &[]),
        (
            format!("action=session&user={}", bob.id),
            &["session.refused"],
        ),
        ("since=2026-11-21T12:01:00Z".into(), &["user.promoted"]),
        (
            "until=2026-11-21T12:01:00Z&limit=1".into(),
            &["session.refused"],
        ),
        (
            "since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:00Z".into(),
            &[],
        ),
        ("user=99".into(), &[]),
    ] {
        assert_eq!(
            actions(&log(&identity, &ada, &query).await),
            expected,
            "{query}"
        );
    }
    for query in [
        "limit=0",
        "limit=201",
        "action=%25",
        "since=yesterday",
        "user=bob",
        "cursor=x",
    ] {
        let path = format!("/api/admin/audit?{query}");
        let reply = identity.api.get(&path).bearer(&ada.access).send().await;
        refused(reply, 400, "validation_failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paging_through_the_audit_log_is_stable_while_it_grows() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    for _ in 0..6 {
        identity.login("ada", "wrong password").await.expect(401);
    }
    let (mut seen, mut query) = (Vec::new(), "limit=3".to_owned());
    loop {
        let page = log(&identity, &ada, &query).await;
        let ids = page["entries"].as_array().unwrap().iter();
        seen.extend(ids.map(|entry| entry["id"].as_i64().unwrap()));
        // Entries added meanwhile are newer, and do not shift the pages.
        identity.login("ada", "wrong password").await.expect(401);
        match page["next_cursor"].as_i64() {
            Some(cursor) => query = format!("limit=3&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_append_only() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    let pool = identity.db.pool(1);
    for statement in [
        "UPDATE audit_log SET action = 'nothing'",
        "UPDATE audit_log SET at = at",
        "DELETE FROM audit_log",
        "DELETE FROM audit_log WHERE id = 1",
    ] {
        let outcome = pool.read_blocking(|db| {
            on_backend!(db, c => diesel::sql_query(statement).execute(c)).map_err(DbError::from)
        });
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("append-only"), "{statement}: {error}");
    }
    assert_eq!(identity.count("SELECT count(*) AS n FROM audit_log"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sign_in_failed_sign_in_and_revocation_is_audited() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register("bob").await;
    let second = signed_in(&identity.login("bob", PASSWORD).await.expect(200).json());
    identity.login("bob", "wrong password").await.expect(401);
    let rotated = signed_in(&identity.refresh(&second.refresh).await.expect(200).json());
    identity.refresh(&rotated.refresh).await.expect(200);
    identity.hand.advance(Duration::minutes(1));
    refused(
        identity.refresh(&second.refresh).await,
        401,
        "refresh_token_reused",
    );
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&bob.access)
        .send()
        .await
        .expect(200);

    let page = log(&identity, &ada, &format!("user={}", bob.id)).await;
    assert_eq!(
        actions(&page),
        [
            "session.revoked",
            "session.revoked_by_reuse",
            "session.refused",
            "session.opened",
            "account.registered"
        ]
    );
    let entries = page["entries"].as_array().unwrap();
    for entry in entries {
        assert_eq!(entry["via"], "http");
        assert_eq!(entry["address"], "127.0.0.1");
        let in_a_session = entry["action"] != "session.refused";
        assert_eq!(entry["session_id"].is_string(), in_a_session, "{entry}");
    }
    // A caller who presents a bad token or password is not recorded as an actor.
    let known = entries
        .iter()
        .filter(|entry| entry["actor"]["id"] == bob.id)
        .count();
    assert_eq!(known, 2, "{page}");
}
