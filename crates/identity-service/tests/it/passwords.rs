use chrono::Duration;
use serde_json::json;

use crate::admin_api::superadmin;
use crate::browser::Browser;
use crate::credential_helpers::OTHER;
use crate::support::{Identity, PASSWORD, refused, signed_in};

#[tokio::test(flavor = "multi_thread")]
async fn changing_the_password_ends_every_other_session_and_keeps_this_one() {
    let identity = Identity::start().await;
    let first = identity.register_verified("ada", "ada@example.com").await;
    let here = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let there = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let bob = identity.register("bob").await;

    let reply = identity.change_password(&here, PASSWORD, OTHER).await;
    let reply = reply.expect(204);
    assert!(reply.body.is_empty());

    identity.validate(&here.access).await.expect(200);
    identity.refresh(&here.refresh).await.expect(200);
    identity.validate(&bob.access).await.expect(200);
    for other in [&first, &there] {
        refused(identity.validate(&other.access).await, 401, "token_revoked");
        let reply = identity.refresh(&other.refresh).await;
        refused(reply, 401, "invalid_refresh_token");
    }
    refused(
        identity.login("ada", PASSWORD).await,
        401,
        "invalid_credentials",
    );
    identity.login("ada", OTHER).await.expect(200);

    assert_eq!(identity.mailed("security_changed"), ["ada@example.com"]);
    assert_eq!(identity.told(), ["password"]);
    assert_eq!(identity.audited("password.changed", &first), 1);
    assert_eq!(identity.audited("session.revoked", &first), 2);
    let ended: usize = identity
        .events("identity.session_revoked.v1")
        .iter()
        .map(|event| event["sids"].as_array().unwrap().len())
        .sum();
    assert_eq!(ended, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_current_password_changes_nothing_and_counts_like_a_failed_sign_in() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let ada = identity.register("ada").await;
    for _ in 0..10 {
        let reply = identity
            .change_password(&ada, "wrong password", OTHER)
            .await;
        refused(reply, 401, "invalid_credentials");
    }
    let reply = identity.change_password(&ada, PASSWORD, OTHER).await;
    assert_eq!(
        refused(reply, 429, "rate_limited").header("retry-after"),
        "1"
    );
    refused(identity.login("ada", PASSWORD).await, 429, "rate_limited");
    identity.hand.advance(Duration::seconds(1));
    identity.login("ada", PASSWORD).await.expect(200);
    identity.validate(&ada.access).await.expect(200);
    assert_eq!(identity.audited("password.refused", &ada), 10);
    assert!(identity.mails().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_change_refuses_invalid_bodies_and_passwords() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let change = |new: &str| json!({ "current_password": PASSWORD, "new_password": new });
    let cases = [
        (change("1234567"), "validation_failed"),
        (change(&"x".repeat(73)), "password_too_long"),
        (json!({ "new_password": OTHER }), "validation_failed"),
        (json!({ "current_password": PASSWORD }), "validation_failed"),
        (
            json!({ "current_password": PASSWORD, "new_password": 5 }),
            "validation_failed",
        ),
        (json!([]), "validation_failed"),
    ];
    for (body, code) in cases {
        let reply = identity.by(&ada, "/api/auth/password/change", body).await;
        refused(reply, 400, code);
    }
    let huge = change(&"x".repeat(70_000));
    let reply = identity.by(&ada, "/api/auth/password/change", huge).await;
    refused(reply, 413, "payload_too_large");
    // The token is checked first.
    let reply = identity.open("/api/auth/password/change", json!([])).await;
    refused(reply, 401, "authentication_required");
    identity.login("ada", PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unverified_address_gets_no_mail_about_a_changed_password() {
    let identity = Identity::start().await;
    let ada = identity.register_at("ada", "ada@example.com").await;
    let reply = identity.change_password(&ada, PASSWORD, OTHER).await;
    reply.expect(204);
    assert!(identity.told().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_password_changes_one_succeeds() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let wanted = ["first of the two", "second of the two"];
    let (one, two) = tokio::join!(
        identity.change_password(&ada, PASSWORD, wanted[0]),
        identity.change_password(&ada, PASSWORD, wanted[1]),
    );
    let mut statuses = [one.status, two.status];
    let winner = wanted[usize::from(one.status != 204)];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 401], "{} {}", one.text(), two.text());
    identity.login("ada", winner).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sign_in_with_the_old_password_survives_its_change() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let logins = async {
        let logins = (0..24).map(|_| identity.login("ada", PASSWORD));
        futures_util::future::join_all(logins).await
    };
    let (replies, changed) = tokio::join!(logins, identity.change_password(&ada, PASSWORD, OTHER));
    changed.expect(204);
    for reply in replies {
        match reply.status {
            200 => {
                let late = signed_in(&reply.json());
                refused(identity.validate(&late.access).await, 401, "token_revoked");
            }
            _ => drop(refused(reply, 401, "invalid_credentials")),
        }
    }
    identity.validate(&ada.access).await.expect(200);
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM sessions WHERE revoked_at IS NULL"),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_sign_outs_and_a_password_change_do_not_deadlock() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let mut sessions = Vec::new();
    for _ in 0..12 {
        sessions.push(signed_in(
            &identity.login("ada", PASSWORD).await.expect(200).json(),
        ));
    }
    let sign_outs = sessions.chunks(2).map(|pair| {
        let body = json!({ "refresh_token": pair[0].refresh });
        identity.by(&pair[1], "/api/auth/logout", body)
    });
    let (replies, changed) = tokio::join!(
        futures_util::future::join_all(sign_outs),
        identity.change_password(&ada, PASSWORD, OTHER),
    );
    changed.expect(204);
    for reply in replies {
        assert!(matches!(reply.status, 200 | 401), "{}", reply.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strength_policy_refuses_guessable_passwords_wherever_one_is_chosen() {
    let identity = Identity::start_with(|config| config.password.min_strength = 3).await;
    let strong = "vqzr ninth lamp oyster";
    let body = |password: &str| json!({ "username": "lovelace", "password": password, "email": "countess@example.com" });
    for weak in ["password1", "lovelace99", "countess@example.com"] {
        let reply = identity.open("/api/auth/register", body(weak)).await;
        refused(reply, 400, "weak_password");
    }
    let reply = identity.open("/api/auth/register", body(strong)).await;
    let ada = signed_in(&reply.expect(201).json());
    for weak in ["password1", "lovelace2"] {
        let reply = identity.change_password(&ada, strong, weak).await;
        refused(reply, 400, "weak_password");
    }
    identity
        .forgot(json!({ "username": "lovelace" }))
        .await
        .expect(202);
    let token = identity.last_link("reset_password");
    refused(
        identity.reset(&token, "countess1").await,
        400,
        "weak_password",
    );
    // Without a valid link the response says nothing about the password.
    refused(
        identity.reset("unknown", strong).await,
        400,
        "invalid_token",
    );
    identity
        .reset(&token, "oyster ninth vqzr lamp")
        .await
        .expect(204);
    identity
        .login("lovelace", "oyster ninth vqzr lamp")
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_common_passwords_are_refused_wherever_one_is_set() {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register_verified("bob", "bob@example.com").await;
    identity
        .forgot(json!({ "username": "bob" }))
        .await
        .expect(202);
    let token = identity.last_link("reset_password");
    // NFKC maps wide letters to ASCII letters, and the check ignores case.
    let wide = "\u{ff50}\u{ff41}\u{ff53}\u{ff53}\u{ff57}\u{ff4f}\u{ff52}\u{ff44}";
    for common in [
        "password",
        "Password1",
        "12345678",
        "QWERTYUIOP",
        "iloveyou",
        wide,
    ] {
        let body = json!({ "username": "carol", "password": common });
        let reply = identity.open("/api/auth/register", body).await;
        refused(reply, 400, "weak_password");
        let reply = identity.change_password(&bob, PASSWORD, common).await;
        refused(reply, 400, "weak_password");
        refused(identity.reset(&token, common).await, 400, "weak_password");
        let path = format!("/api/admin/users/{}/reset-password", bob.id);
        let body = json!({ "username": "carol", "password": common });
        for path in ["/api/admin/users", &path] {
            let call = identity.api.post(path).bearer(&ada.access);
            refused(call.json(body.clone()).send().await, 400, "weak_password");
        }
        let mut browser = Browser::new(&identity);
        let form = browser.get("/register").await.form("/register");
        let form = form.set("username", "carol").set("password", common);
        let page = browser.submit(form).await;
        assert_eq!(page.reply.status, 400, "{common}");
    }
    identity.login("bob", PASSWORD).await.expect(200);
    assert_eq!(identity.count("SELECT count(*) AS n FROM users"), 2);
}
