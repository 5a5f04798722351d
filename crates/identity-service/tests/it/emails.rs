use chrono::Duration;
use event_types::MailTemplate;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::credential_helpers::OTHER;
use crate::support::{Identity, PASSWORD, SignedIn, refused};

async fn change(identity: &Identity, user: &SignedIn, email: &str) -> ApiResponse {
    let body = json!({ "email": email, "password": PASSWORD });
    identity.by(user, "/api/auth/email/change", body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verification_link_works_once() {
    let identity = Identity::start().await;
    let ada = identity.register_at("ada", "Ada@example.com").await;
    identity.validate(&ada.access).await.expect(200);
    let token = identity.last_link("verify_email");
    let reply = identity.verify_email(&token).await.expect(204);
    assert!(reply.body.is_empty());
    let me = identity.me(&ada).await;
    assert_eq!(me["email"], "Ada@example.com");
    assert_eq!(me["email_verified"], true);
    let seen = identity.validate(&ada.access).await.expect(200).json();
    assert_eq!(seen["email_verified"], true);
    refused(identity.verify_email(&token).await, 400, "invalid_token");
    assert_eq!(identity.audited("email.verified", &ada), 1);
    assert_eq!(identity.audited("email.changed", &ada), 0);
    let claim = "SELECT count(*) AS n FROM email_claims WHERE expires_at IS NULL";
    assert_eq!(identity.count(claim), 1);
    let events = identity.events("identity.user_changed.v1");
    assert_eq!(events.last().unwrap()["user_id"], ada.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_or_expired_verification_link_verifies_nothing() {
    let identity = Identity::start().await;
    let ada = identity.register_at("ada", "ada@example.com").await;
    let token = identity.last_link("verify_email");
    for body in [json!({}), json!({ "token": null }), json!({ "token": 7 })] {
        let reply = identity.open("/api/auth/email/verify", body).await;
        refused(reply, 400, "validation_failed");
    }
    let huge = json!({ "token": "x".repeat(70_000) });
    let reply = identity.open("/api/auth/email/verify", huge).await;
    refused(reply, 413, "payload_too_large");
    refused(identity.verify_email("x").await, 400, "invalid_token");
    identity.sql("UPDATE users SET is_active = FALSE");
    refused(identity.verify_email(&token).await, 400, "invalid_token");
    identity.sql("UPDATE users SET is_active = TRUE");
    identity.hand.advance(Duration::hours(24));
    refused(identity.verify_email(&token).await, 400, "invalid_token");
    assert_eq!(identity.me(&ada).await["email_verified"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn verifying_an_address_takes_it_from_an_account_that_only_claimed_it() {
    let identity = Identity::start_with(|config| config.tokens.remember = true).await;
    let squatter = identity.register_at("squatter", "ada@example.com").await;
    let of_squatter = identity.last_link("verify_email");
    identity.hand.advance(Duration::hours(23));
    let body = json!({ "username": "squatter" });
    identity.forgot(body).await.expect(202);
    let reset_of_squatter = identity.last_link("reset_password");
    // A registration claims its address for a day. The account shows the address after that, too.
    identity.hand.advance(Duration::minutes(61));
    let ada = identity.register_at("ada", "Ada@Example.com").await;
    assert_eq!(identity.me(&squatter).await["email"], "ada@example.com");

    let token = identity.last_link("verify_email");
    identity.verify_email(&token).await.expect(204);
    assert_eq!(identity.me(&ada).await["email"], "Ada@Example.com");
    let lost = identity.me(&squatter).await;
    assert_eq!(lost["email"], "squatter@placeholder.invalid");
    assert_eq!(lost["email_verified"], false);
    assert_eq!(identity.audited("email.lost", &squatter), 1);
    for token in [&of_squatter, &reset_of_squatter] {
        refused(identity.verify_email(token).await, 400, "invalid_token");
        refused(identity.reset(token, OTHER).await, 400, "invalid_token");
    }
    let changed: Vec<Value> = identity
        .events("identity.user_changed.v1")
        .iter()
        .map(|event| event["user_id"].clone())
        .collect();
    assert!(changed.contains(&json!(squatter.id)) && changed.contains(&json!(ada.id)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_address_verified_meanwhile_belongs_to_that_account() {
    let identity = Identity::start().await;
    let slow = identity.register_verified("slow", "slow@example.com").await;
    change(&identity, &slow, "shared@example.com")
        .await
        .expect(204);
    let of_slow = identity.last_link("verify_email");
    let quick = identity
        .register_verified("quick", "shared@example.com")
        .await;
    refused(identity.verify_email(&of_slow).await, 400, "invalid_token");
    assert_eq!(identity.me(&slow).await["email"], "slow@example.com");
    assert_eq!(identity.me(&quick).await["email"], "shared@example.com");
    refused(
        change(&identity, &slow, "SHARED@example.com").await,
        400,
        "email_taken",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_verifications_of_one_address_one_succeeds() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    for round in 0..4 {
        let email = format!("shared{round}@example.com");
        let mut links = Vec::new();
        for user in [&ada, &bob] {
            change(&identity, user, &email).await.expect(204);
            links.push(identity.last_link("verify_email"));
        }
        let (one, two) = tokio::join!(
            identity.verify_email(&links[0]),
            identity.verify_email(&links[1])
        );
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 400], "{} {}", one.text(), two.text());
        let holders = format!("SELECT count(*) AS n FROM users WHERE email = '{email}'");
        assert_eq!(identity.count(&holders), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_email_address_counts_once_verified_and_the_old_one_gets_a_mail() {
    let identity = Identity::start().await;
    let ada = identity.register_verified("ada", "ada@example.com").await;
    change(&identity, &ada, "new@mail.example.org")
        .await
        .expect(204);
    assert_eq!(identity.mails().last().unwrap().to, "new@mail.example.org");
    assert_eq!(identity.me(&ada).await["email"], "ada@example.com");
    assert!(identity.mailed("email_changed").is_empty());
    assert_eq!(identity.audited("email.change_requested", &ada), 1);

    let token = identity.last_link("verify_email");
    identity.verify_email(&token).await.expect(204);
    let me = identity.me(&ada).await;
    assert_eq!(me["email"], "new@mail.example.org");
    assert_eq!(me["email_verified"], true);
    let mail = identity.mails().pop().unwrap();
    assert_eq!(mail.to, "ada@example.com");
    let MailTemplate::EmailChanged {
        username,
        new_address_hint,
        ..
    } = mail.text
    else {
        panic!("{mail:?}");
    };
    assert_eq!((&*username, &*new_address_hint), ("ada", "n…@m….org"));
    assert_eq!(identity.audited("email.changed", &ada), 1);
    // The old address is free again.
    identity.register_verified("bob", "ada@example.com").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_change_requires_a_free_valid_address_and_the_password() {
    let identity = Identity::start().await;
    let ada = identity.register_verified("ada", "ada@example.com").await;
    identity.register_at("bob", "bob@example.com").await;
    refused(
        change(&identity, &ada, "BOB@example.com").await,
        400,
        "email_taken",
    );
    identity.hand.advance(Duration::hours(24));
    change(&identity, &ada, "bob@example.com").await.expect(204);
    for bad in ["", "nonsense", "x@placeholder.invalid"] {
        refused(change(&identity, &ada, bad).await, 400, "validation_failed");
    }
    let body = json!({ "email": "x@example.com" });
    let reply = identity
        .by(&ada, "/api/auth/email/change", body.clone())
        .await;
    refused(reply, 400, "validation_failed");
    let reply = identity.open("/api/auth/email/change", body).await;
    refused(reply, 401, "authentication_required");
    let body = json!({ "email": "x@example.com", "password": "wrong password" });
    let reply = identity.by(&ada, "/api/auth/email/change", body).await;
    refused(reply, 401, "invalid_credentials");
    assert_eq!(identity.audited("password.refused", &ada), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn requesting_the_current_address_resends_the_link_until_it_is_verified() {
    let identity = Identity::start().await;
    let ada = identity.register_at("ada", "ada@example.com").await;
    let lost = identity.last_link("verify_email");
    change(&identity, &ada, "ada@example.com").await.expect(204);
    assert_eq!(identity.mailed("verify_email").len(), 2);
    refused(identity.verify_email(&lost).await, 400, "invalid_token");
    let token = identity.last_link("verify_email");
    identity.verify_email(&token).await.expect(204);
    change(&identity, &ada, "ada@example.com").await.expect(204);
    assert_eq!(identity.mailed("verify_email").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_reset_cancels_a_pending_email_change() {
    let identity = Identity::start().await;
    let ada = identity.register_verified("ada", "ada@example.com").await;
    // Somebody who knows the password tries to take over the account's address.
    change(&identity, &ada, "thief@example.com")
        .await
        .expect(204);
    let token = identity.last_link("verify_email");
    let body = json!({ "username": "ada" });
    identity.forgot(body).await.expect(202);
    let link = identity.last_link("reset_password");
    identity.reset(&link, OTHER).await.expect(204);
    refused(identity.verify_email(&token).await, 400, "invalid_token");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_change_keeps_the_link_that_verifies_the_current_address() {
    let identity = Identity::start().await;
    let ada = identity.register_at("ada", "ada@example.com").await;
    let token = identity.last_link("verify_email");
    let reply = identity.change_password(&ada, PASSWORD, OTHER).await;
    reply.expect(204);
    identity.verify_email(&token).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn email_changes_are_limited_to_five_an_hour() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let ada = identity.register("ada").await;
    for n in 0..5 {
        let email = format!("stranger{n}@example.com");
        change(&identity, &ada, &email).await.expect(204);
    }
    let reply = change(&identity, &ada, "stranger5@example.com").await;
    refused(reply, 429, "rate_limited");
}
