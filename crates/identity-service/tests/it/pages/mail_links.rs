use chrono::Duration;

use crate::browser::Browser;
use crate::credential_helpers::OTHER;
use crate::support::{Identity, PASSWORD};

/// Requests a link. The clock advances first, because mails are ordered by the time they were written.
async fn ask(identity: &Identity, browser: &mut Browser, who: &str) -> String {
    identity.hand.advance(Duration::milliseconds(1));
    let form = browser
        .get("/forgot-password")
        .await
        .form("/forgot-password");
    let page = browser.submit(form.set("who", who)).await.expect(200);
    assert_eq!(page.path, "/done/link-requested");
    page.html
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_password_is_reset_by_a_mailed_link() {
    let identity = Identity::start().await;
    let ada = identity.register_verified("Ada", "ada@example.com").await;
    let mut there = Browser::signed_in(&identity, "ada").await;
    let mut browser = Browser::new(&identity);
    ask(&identity, &mut browser, "ADA@example.com").await;
    ask(&identity, &mut browser, " ada ").await;
    assert_eq!(identity.mailed("reset_password").len(), 2);
    let path = format!("/reset-password/{}", identity.last_link("reset_password"));

    // Opening the link does not use it up.
    for _ in 0..3 {
        browser.get(&path).await.expect(200).says("Ada");
    }
    let form = browser.get(&path).await.form(&path);
    let page = browser.submit(form.clone().set("password", "short")).await;
    let page = page
        .expect(400)
        .says("Password must have at least 8 characters");
    assert_eq!(page.form(&path).value("password"), Some(""));
    let form = page.form(&path).set("password", OTHER);
    let page = browser.submit(form.clone()).await.expect(200);
    assert_eq!(page.path, "/done/password-changed");
    assert_eq!(identity.audited("password.reset", &ada), 1);
    let page = there.get("/login").await.expect(200);
    assert_eq!(page.path, "/login", "the other browser is signed out");

    // The link works once.
    for page in [browser.submit(form).await, browser.get(&path).await] {
        let page = page.expect(410).says("This link is no longer valid");
        assert!(page.links().contains(&"/forgot-password".to_owned()));
    }
    browser.sign_in("ada", PASSWORD).await.expect(401);
    let page = browser.sign_in("ada", OTHER).await;
    assert_eq!(page.path, "/account");
}

#[tokio::test(flavor = "multi_thread")]
async fn requesting_a_reset_link_does_not_reveal_whether_the_account_exists() {
    let identity = Identity::start().await;
    identity.register_verified("ada", "ada@example.com").await;
    identity.register("placeholder").await;
    let mut browser = Browser::new(&identity);
    let known = ask(&identity, &mut browser, "ada").await;
    for who in [
        "nobody",
        "not a name",
        "placeholder",
        "nobody@example.com",
        "@",
        "<b>",
    ] {
        assert_eq!(ask(&identity, &mut browser, who).await, known, "{who}");
    }
    assert_eq!(identity.mailed("reset_password").len(), 1);
    let form = browser
        .get("/forgot-password")
        .await
        .form("/forgot-password");
    let page = browser.submit(form.set("who", "  ")).await.expect(400);
    page.says("Enter your username or e-mail address");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_verified_by_a_button_and_not_by_opening_the_link() {
    let identity = Identity::start().await;
    let ada = identity.register_at("ada", "ada@example.com").await;
    let path = format!("/verify-email/{}", identity.last_link("verify_email"));
    let mut browser = Browser::new(&identity);
    for _ in 0..3 {
        let page = browser.get(&path).await.expect(200);
        page.says("“ada@example.com” will become the e-mail address of the account “ada”");
    }
    assert_eq!(identity.me(&ada).await["email_verified"], false);
    let form = browser.get(&path).await.form(&path);
    let page = browser.submit(form.clone()).await.expect(200);
    assert_eq!(page.path, "/done/email-confirmed");
    assert_eq!(identity.me(&ada).await["email_verified"], true);
    for page in [browser.submit(form).await, browser.get(&path).await] {
        page.expect(410).says("This link is no longer valid");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_link_works_only_for_its_purpose_and_until_it_expires() {
    let identity = Identity::start().await;
    identity.register_at("ada", "ada@example.com").await;
    let mut browser = Browser::new(&identity);
    ask(&identity, &mut browser, "ada").await;
    let verify = identity.last_link("verify_email");
    let reset = identity.last_link("reset_password");
    let dead = "This link is no longer valid";
    for path in [
        format!("/verify-email/{reset}"),
        format!("/reset-password/{verify}"),
        "/verify-email/x".to_owned(),
        "/reset-password/%20".to_owned(),
    ] {
        browser.get(&path).await.expect(410).says(dead);
    }
    identity.hand.advance(Duration::hours(1));
    let path = format!("/reset-password/{reset}");
    browser.get(&path).await.expect(410).says(dead);
    let path = format!("/verify-email/{verify}");
    browser.get(&path).await.expect(200);
    identity.sql("UPDATE users SET is_active = FALSE");
    browser.get(&path).await.expect(410).says(dead);
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_mail_links_is_rate_limited_by_ip_address() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let mut browser = Browser::new(&identity);
    for kind in ["reset-password", "verify-email", "invitations"] {
        let mut is_limited = false;
        for n in 0..200 {
            let page = browser.get(&format!("/{kind}/{n}")).await;
            is_limited |= page.reply.status == 429;
        }
        assert!(is_limited, "{kind}");
    }
}
