use std::time::{Duration as StdDuration, Instant};

use chrono::Duration;
use db_kit::Db;
use diesel::connection::SimpleConnection as _;
use event_types::MailTemplate;
use serde_json::json;
use test_kit::{TestBackend, wait_until};

use crate::credential_helpers::OTHER;
use crate::support::{Identity, PASSWORD, refused, signed_in, texts};

#[tokio::test(flavor = "multi_thread")]
async fn a_mailed_link_resets_the_password_once_and_ends_all_sessions() {
    let identity = Identity::start().await;
    let ada = identity.register_verified("Ada", "Ada@example.com").await;
    let there = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    for body in [
        json!({ "username": "ADA" }),
        json!({ "email": "ada@EXAMPLE.com" }),
    ] {
        identity.forgot(body).await.expect(202);
        assert_eq!(identity.mails().last().unwrap().to, "Ada@example.com");
    }
    let mail = identity.mails().pop().unwrap();
    let MailTemplate::ResetPassword { username, link, .. } = mail.text else {
        panic!("{mail:?}");
    };
    assert_eq!(username, "Ada");
    let base = identity.running.base_url();
    assert!(link.starts_with(&format!("{base}/reset-password/")));
    let token = identity.last_link("reset_password");

    assert!(
        identity
            .reset(&token, OTHER)
            .await
            .expect(204)
            .body
            .is_empty()
    );
    for session in [&ada, &there] {
        refused(
            identity.validate(&session.access).await,
            401,
            "token_revoked",
        );
    }
    refused(
        identity.login("ada", PASSWORD).await,
        401,
        "invalid_credentials",
    );
    identity.login("ada", OTHER).await.expect(200);
    refused(identity.reset(&token, PASSWORD).await, 400, "invalid_token");
    assert_eq!(identity.told(), ["password"]);
    assert_eq!(identity.audited("password.reset_requested", &ada), 2);
    assert_eq!(identity.audited("password.reset", &ada), 1);
    assert_eq!(identity.audited("session.revoked", &ada), 2);
    let kept = texts(
        &identity.db.pool(1),
        "SELECT token_hash AS t FROM mail_tokens",
    );
    assert!(kept.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_for_a_reset_link_gets_the_same_response_in_the_same_time() {
    let identity = Identity::start().await;
    identity.register_verified("ada", "ada@example.com").await;
    identity.register("placeholder").await;
    identity.register_verified("gone", "gone@example.com").await;
    identity.sql("UPDATE users SET is_active = FALSE WHERE username = 'gone'");
    identity.register_at("old", "old@example.com").await;
    identity.hand.advance(Duration::hours(24));
    let known = json!({ "username": "ada" });
    let expected = identity.forgot(known.clone()).await.expect(202).text();
    let before = identity.mails().len();
    for body in [
        json!({ "username": "nobody" }),
        json!({ "username": "not a name" }),
        json!({ "email": "nobody@example.com" }),
        json!({ "email": "not an address" }),
        json!({ "username": "placeholder" }),
        json!({ "email": "placeholder@placeholder.invalid" }),
        json!({ "username": "gone" }),
        json!({ "email": "gone@example.com" }),
        json!({ "username": "old" }),
        json!({ "email": "old@example.com" }),
    ] {
        let started = Instant::now();
        let reply = identity.forgot(body.clone()).await.expect(202);
        assert!(started.elapsed() >= StdDuration::from_millis(249), "{body}");
        assert_eq!(reply.text(), expected, "{body}");
        assert_eq!(identity.mails().len(), before, "{body}");
    }
    let started = Instant::now();
    assert_eq!(identity.forgot(known).await.expect(202).text(), expected);
    assert!(started.elapsed() >= StdDuration::from_millis(249));
    assert_eq!(identity.mails().len(), before + 1);
    assert_eq!(
        identity
            .count("SELECT count(*) AS n FROM audit_log WHERE action = 'password.reset_requested'"),
        12
    );
    // The audit log does not contain the names that were entered.
    let details = identity.audit_details();
    assert!(!details.contains("nobody") && details.contains(r#"{"mailed":true}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_request_needs_exactly_one_of_username_and_email() {
    let identity = Identity::start().await;
    for body in [
        json!({}),
        json!({ "username": "ada", "email": "ada@example.com" }),
        json!({ "username": null }),
        json!({ "username": 5 }),
        json!([]),
    ] {
        refused(identity.forgot(body).await, 400, "validation_failed");
    }
    let huge = json!({ "username": "x".repeat(70_000) });
    refused(identity.forgot(huge).await, 413, "payload_too_large");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unverified_address_gets_reset_links_for_a_day_and_only_if_it_was_registered_with() {
    let identity = Identity::start().await;
    identity.register_at("ada", "ada@example.com").await;
    identity.register_at("bob", "bob@example.com").await;
    // Bob's address now looks as if it had been added after the registration.
    identity.sql("UPDATE users SET created_at = '2026-11-21 11:00:00' WHERE username = 'bob'");
    identity
        .hand
        .advance(Duration::hours(24) - Duration::seconds(1));
    identity
        .forgot(json!({ "username": "bob" }))
        .await
        .expect(202);
    assert!(identity.mailed("reset_password").is_empty());
    identity
        .forgot(json!({ "email": "ada@example.com" }))
        .await
        .expect(202);
    assert_eq!(identity.mailed("reset_password"), ["ada@example.com"]);
    identity.hand.advance(Duration::seconds(1));
    identity
        .forgot(json!({ "username": "ada" }))
        .await
        .expect(202);
    assert_eq!(identity.mailed("reset_password").len(), 1);
    // The earlier link still works, and the unverified address gets no notice.
    let token = identity.last_link("reset_password");
    identity.reset(&token, OTHER).await.expect(204);
    assert!(identity.told().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_verifies_the_address_that_its_mail_went_to() {
    let identity = Identity::start().await;
    let ada = identity.register_at("ada", "Ada@example.com").await;
    let forgot = async || {
        let body = json!({ "username": "ada" });
        identity.forgot(body).await.expect(202);
        identity.last_link("reset_password")
    };
    let token = forgot().await;
    refused(
        identity.reset(&token, "short").await,
        400,
        "validation_failed",
    );
    refused(identity.reset("x", OTHER).await, 400, "invalid_token");
    assert_eq!(identity.me(&ada).await["email_verified"], false);
    // Another account shows the same unverified address.
    let eve = identity.register("eve").await;
    identity.sql("UPDATE users SET email = 'ADA@example.com' WHERE username = 'eve'");
    let before = identity.events("identity.user_changed.v1").len();
    identity.reset(&token, OTHER).await.expect(204);
    let ada = signed_in(&identity.login("ada", OTHER).await.expect(200).json());
    let me = identity.me(&ada).await;
    assert_eq!(
        (&me["email"], &me["email_verified"]),
        (&json!("Ada@example.com"), &json!(true))
    );
    assert_eq!(identity.me(&eve).await["email"], "eve@placeholder.invalid");
    assert_eq!(identity.audited("email.verified", &ada), 1);
    let changed = &identity.events("identity.user_changed.v1")[before..];
    for id in [ada.id, eve.id] {
        assert!(
            changed.contains(&json!({ "user_id": id, "deleted": false, "is_active": true })),
            "{changed:?}"
        );
    }
    // The address belongs to the account for good, and gets links after the first day, too.
    identity.hand.advance(Duration::hours(25));
    let body = json!({ "username": "bob", "password": PASSWORD, "email": "ada@example.com" });
    refused(
        identity.open("/api/auth/register", body).await,
        400,
        "email_taken",
    );
    let token = forgot().await;
    identity.reset(&token, PASSWORD).await.expect(204);
    assert_eq!(identity.told(), ["password"]);
    assert_eq!(identity.audited("email.verified", &ada), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_new_password_does_not_use_up_the_link() {
    let identity = Identity::start().await;
    identity.register_verified("ada", "ada@example.com").await;
    identity
        .forgot(json!({ "username": "ada" }))
        .await
        .expect(202);
    let token = identity.last_link("reset_password");
    refused(
        identity.reset(&token, "1234567").await,
        400,
        "validation_failed",
    );
    let long = "x".repeat(73);
    refused(
        identity.reset(&token, &long).await,
        400,
        "password_too_long",
    );
    for body in [
        json!({ "token": token }),
        json!({ "new_password": OTHER }),
        json!({ "token": 1, "new_password": OTHER }),
    ] {
        let reply = identity.open("/api/auth/password/reset", body).await;
        refused(reply, 400, "validation_failed");
    }
    identity.reset(&token, OTHER).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_link_ends_with_time_a_newer_link_or_a_change_of_its_account() {
    let identity = Identity::start().await;
    let ada = identity.register_verified("ada", "ada@example.com").await;
    let link = async || {
        let body = json!({ "username": "ada" });
        identity.forgot(body).await.expect(202);
        identity.last_link("reset_password")
    };
    let dead = async |token: &str| {
        refused(identity.reset(token, OTHER).await, 400, "invalid_token");
    };
    for nonsense in ["", "x", &"x".repeat(10_000), "..", "ünï"] {
        dead(nonsense).await;
    }

    let old = link().await;
    identity.hand.advance(Duration::hours(1));
    dead(&old).await;

    let older = link().await;
    let newer = link().await;
    dead(&older).await;
    // A verification link resets no password, and a reset link verifies no address.
    let body = json!({ "email": "new@example.com", "password": PASSWORD });
    let reply = identity.by(&ada, "/api/auth/email/change", body).await;
    reply.expect(204);
    dead(&identity.last_link("verify_email")).await;
    refused(identity.verify_email(&newer).await, 400, "invalid_token");

    // The link went to an address that the account no longer has.
    let proof = identity.last_link("verify_email");
    identity.verify_email(&proof).await.expect(204);
    dead(&newer).await;

    let before_change = link().await;
    let reply = identity.change_password(&ada, PASSWORD, OTHER).await;
    reply.expect(204);
    dead(&before_change).await;

    let of_inactive = link().await;
    identity.sql("UPDATE users SET is_active = FALSE");
    dead(&of_inactive).await;
    assert!(
        identity
            .count("SELECT count(*) AS n FROM audit_log WHERE action = 'password.reset_refused'")
            >= 10
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_uses_of_a_reset_link_one_succeeds() {
    let identity = Identity::start().await;
    identity.register_verified("ada", "ada@example.com").await;
    for _ in 0..5 {
        identity
            .forgot(json!({ "username": "ada" }))
            .await
            .expect(202);
        let token = identity.last_link("reset_password");
        let wanted = ["first of the two", "second of the two"];
        let (one, two) = tokio::join!(
            identity.reset(&token, wanted[0]),
            identity.reset(&token, wanted[1])
        );
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 400], "{} {}", one.text(), two.text());
        let won = usize::from(one.status != 204);
        identity.login("ada", wanted[won]).await.expect(200);
        let lost = identity.login("ada", wanted[1 - won]).await;
        refused(lost, 401, "invalid_credentials");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_mails_are_limited_to_five_an_hour_without_a_visible_difference() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let ada = identity.register_verified("ada", "ada@example.com").await;
    identity.register_verified("bob", "bob@example.com").await;
    let mut answers = Vec::new();
    for _ in 0..7 {
        let body = json!({ "username": "ada" });
        answers.push(identity.forgot(body).await.expect(202).text());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
    assert_eq!(identity.mailed("reset_password").len(), 5);
    assert_eq!(identity.audited("password.reset_requested", &ada), 7);
    identity
        .forgot(json!({ "username": "bob" }))
        .await
        .expect(202);
    assert_eq!(identity.mailed("reset_password").len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_mail_links_is_rate_limited_by_ip_address() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    // The limit refills while the test runs, so a slow machine gets more attempts.
    for attempt in 1.. {
        let reply = identity.verify_email("guess").await;
        if reply.status == 429 {
            let reply = refused(reply, 429, "rate_limited");
            assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
            assert!(attempt > 60, "{attempt}");
            break;
        }
        assert!(attempt < 200);
    }
    refused(identity.reset("guess", OTHER).await, 429, "rate_limited");
    let reply = identity.forgot(json!({ "username": "ada" })).await;
    refused(reply, 429, "rate_limited");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thief_with_a_token_gets_no_reset_link_to_an_address_set_with_it() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let put = |email: &str| {
        let path = format!("/api/auth/user/{}", ada.id);
        let call = identity.api.put(&path).bearer(&ada.access);
        call.json(json!({ "email": email }))
    };
    put("thief@example.com").send().await.expect(200);
    let proof = identity.last_link("verify_email");
    identity.verify_email(&proof).await.expect(204);
    assert_eq!(identity.me(&ada).await["email_verified"], true);
    let forget = async || {
        for body in [
            json!({ "username": "ada" }),
            json!({ "email": "thief@example.com" }),
        ] {
            identity.forgot(body).await.expect(202);
        }
        identity.mailed("reset_password").len()
    };
    assert_eq!(forget().await, 0);
    // Neither time nor another request without the password changes that.
    identity.hand.advance(Duration::hours(25));
    put("thief@example.com").send().await.expect(200);
    let body = json!({ "email": "thief@example.com", "password": "guessed wrong" });
    let reply = identity.by(&ada, "/api/auth/email/change", body).await;
    refused(reply, 401, "invalid_credentials");
    assert_eq!(forget().await, 0);
    // Once confirmed with the password, the address gets links.
    let body = json!({ "email": "thief@example.com", "password": PASSWORD });
    let reply = identity.by(&ada, "/api/auth/email/change", body).await;
    reply.expect(204);
    assert_eq!(forget().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_set_with_the_password_gets_links_even_after_one_set_without() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let path = format!("/api/auth/user/{}", ada.id);
    let call = identity.api.put(&path).bearer(&ada.access);
    let call = call.json(json!({ "email": "thief@example.com" }));
    call.send().await.expect(200);
    let body = json!({ "email": "ada@example.com", "password": PASSWORD });
    let reply = identity.by(&ada, "/api/auth/email/change", body).await;
    reply.expect(204);
    let proof = identity.last_link("verify_email");
    identity.verify_email(&proof).await.expect(204);
    identity
        .forgot(json!({ "username": "ada" }))
        .await
        .expect(202);
    assert_eq!(identity.mailed("reset_password"), ["ada@example.com"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_waits_for_a_concurrent_removal_of_its_link_and_is_then_refused() {
    if TestBackend::current() == TestBackend::Sqlite {
        return; // SQLite has one writer.
    }
    let identity = Identity::start().await;
    identity.register_verified("ada", "ada@example.com").await;
    identity
        .forgot(json!({ "username": "ada" }))
        .await
        .expect(202);
    let token = identity.last_link("reset_password");
    let mut other = identity.db.pool(1).dedicated().unwrap();
    let run = |db: &mut Db, sql: &str| db.batch_execute(sql);
    run(
        &mut other,
        "BEGIN; SET LOCAL statement_timeout = '5s'; UPDATE users SET bio = bio",
    )
    .unwrap();
    let reset = async {
        let reply = identity.reset(&token, OTHER).await;
        refused(reply, 400, "invalid_token");
    };
    let take_back = async {
        let waiting = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let probe = async || (identity.count(waiting) == 1).then_some(());
        wait_until(
            "the link's holder to wait",
            StdDuration::from_secs(20),
            probe,
        )
        .await;
        run(&mut other, "DELETE FROM mail_tokens; COMMIT").unwrap();
    };
    tokio::join!(reset, take_back);
}
