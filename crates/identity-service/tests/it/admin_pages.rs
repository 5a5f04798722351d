use chrono::Duration;
use serde_json::json;

use crate::admin_api::superadmin;
use crate::browser::Browser;
use crate::pages::every_page::is_a_good_page;
use crate::support::{Identity, PASSWORD, SignedIn};

/// Starts a service with an administrator, their browser and an account to administer.
async fn office() -> (Identity, SignedIn, Browser, SignedIn) {
    let identity = Identity::start().await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register_verified("bob", "bob@example.com").await;
    let browser = Browser::signed_in(&identity, "ada").await;
    (identity, ada, browser, bob)
}

/// The actions on an account that have a page of their own.
const ACTIONS: [&str; 7] = [
    "deactivate",
    "activate",
    "promote",
    "demote",
    "end-sessions",
    "mail-reset",
    "new-password",
];

fn pages(id: i64) -> Vec<String> {
    let mut pages: Vec<_> = [
        "",
        "/users",
        "/clients",
        "/clients/new",
        "/keys",
        "/keys/rotate",
        "/audit",
    ]
    .iter()
    .map(|rest| format!("/admin{rest}"))
    .collect();
    pages.push(format!("/admin/users/{id}"));
    pages.extend(
        ACTIONS
            .iter()
            .map(|action| format!("/admin/users/{id}/{action}")),
    );
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn administration_pages_do_not_exist_for_other_accounts() {
    let (identity, ada, mut admin, bob) = office().await;
    let mut other = Browser::signed_in(&identity, "bob").await;
    assert!(!other.get("/account").await.html.contains("/admin"));
    assert!(admin.get("/account").await.html.contains("/admin"));
    let token = other.get("/account/profile").await.form("/account/profile");
    let token = token.value("csrf").unwrap().to_owned();
    let cookies: Vec<_> = other
        .cookies
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    let entries = || identity.count("SELECT count(*) AS n FROM audit_log");
    let before = entries();
    for path in pages(ada.id) {
        other.fetch(&path).await.expect(404);
        Browser::new(&identity).fetch(&path).await.expect(303);
        let call = identity
            .api
            .post(&path)
            .header("cookie", cookies.join("; "));
        let call = call.header("accept", "text/html");
        let body = format!("csrf={token}");
        let reply = call
            .body("application/x-www-form-urlencoded", body)
            .send()
            .await;
        assert!(
            [404, 405].contains(&reply.status),
            "{path}: {}",
            reply.status
        );
    }
    assert_eq!(entries(), before);
    for path in pages(bob.id) {
        let page = admin.get(&path).await;
        assert_eq!(page.reply.status, 200, "{path}: {}", page.text());
        is_a_good_page(&page);
    }
    admin.fetch("/admin/users/99").await.expect(404);
    admin.fetch("/admin/users/x").await.expect(404);
    admin
        .fetch(&format!("/admin/users/{}/explode", bob.id))
        .await
        .expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_sign_in_must_be_renewed_before_it_can_administer() {
    let (identity, ada, mut browser, bob) = office().await;
    let path = format!("/admin/users/{}/deactivate", bob.id);
    let form = browser.get(&path).await.form(&path);
    identity
        .hand
        .advance(Duration::hours(12) + Duration::seconds(1));
    browser.submit(form).await.expect(403).says("Sign in again");
    assert_eq!(identity.audited("user.deactivated", &bob), 0);
    let page = browser.get("/admin/users").await.expect(403);
    let page = browser.submit(page.form("/admin/sign-in-again")).await;
    assert_eq!(page.path, "/login?return_to=%2Fadmin");
    let form = page
        .form("/login")
        .set("username", "ada")
        .set("password", PASSWORD);
    let page = browser.submit(form).await.expect(200);
    assert_eq!(page.path, "/admin/users");
    assert_eq!(identity.audited("session.revoked", &ada), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_filtered_by_search_text_role_and_state_and_paged() {
    let (identity, _, mut browser, bob) = office().await;
    for n in 0..50 {
        let username = format!("user-{n:02}");
        let query = format!(
            "INSERT INTO users (username, username_lower, email, password_hash, created_at, updated_at) \
             VALUES ('{username}', '{username}', '{username}@placeholder.invalid', 'x', '2026-11-21 12:00:00', '2026-11-21 12:00:00')"
        );
        identity.sql(&query);
    }
    let page = browser
        .get("/admin/users")
        .await
        .expect(200)
        .says("user-47");
    assert!(!page.text().contains("user-48"));
    let next = page
        .links()
        .into_iter()
        .find(|link| link.contains("after="));
    let page = browser.get(&next.unwrap()).await.says("user-49");
    assert!(!page.text().contains("user-47"));
    let page = browser
        .get("/admin/users?q=BOB%40example")
        .await
        .says("bob@example.com");
    assert!(!page.text().contains("user-0"));
    let page = browser.get("/admin/users?role=SUPERADMIN").await;
    assert!(page.links().contains(&"/admin/users/1".to_owned()));
    assert!(!page.text().contains("bob"));
    browser
        .get("/admin/users?q=nobody-at-all")
        .await
        .says("No users match your search.");
    browser
        .get("/admin/users?standing=inactive")
        .await
        .says("No users match your search.");
    let page = browser.get(&format!("/admin/users/{}", bob.id)).await;
    page.says("bob@example.com Verified").says("1 active");
    browser.get("/admin/users?q=%00").await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_action_on_an_account_has_a_confirmation_page_and_takes_effect() {
    let (identity, ada, mut browser, bob) = office().await;
    let id = bob.id;
    let mut act = async |action: &str| {
        let path = format!("/admin/users/{id}/{action}");
        let form = browser.get(&path).await.expect(200).form(&path);
        browser.submit(form).await
    };
    act("end-sessions")
        .await
        .expect(200)
        .says("Account signed out everywhere.");
    identity.validate(&bob.access).await.expect(401);
    act("promote")
        .await
        .expect(200)
        .says("The user is now an administrator.");
    act("demote")
        .await
        .expect(200)
        .says("The user is no longer an administrator.");
    act("deactivate")
        .await
        .expect(200)
        .says("Account deactivated and signed out everywhere.");
    identity.login("bob", PASSWORD).await.expect(401);
    act("activate").await.expect(200).says("Account activated.");
    identity.login("bob", PASSWORD).await.expect(200);
    act("mail-reset")
        .await
        .expect(200)
        .says("a link to choose a new password is on its way");
    assert_eq!(identity.mailed("reset_password"), ["bob@example.com"]);
    let page = act("new-password").await.expect(200);
    let (_, rest) = page.html.split_once("<code class=\"secret\">").unwrap();
    let password = rest.split_once("</code>").unwrap().0.to_owned();
    identity.login("bob", PASSWORD).await.expect(401);
    identity.login("bob", &password).await.expect(200);
    for (action, times) in [
        ("user.promoted", 1),
        ("user.demoted", 1),
        ("user.deactivated", 1),
        ("user.activated", 1),
        ("user.password_reset", 1),
    ] {
        assert_eq!(identity.audited(action, &bob), times, "{action}");
        let query = format!(
            "SELECT count(*) AS n FROM audit_log WHERE action = '{action}' AND actor_id = {}",
            ada.id
        );
        assert_eq!(identity.count(&query), times, "{action}");
    }
    assert!(!identity.audit_details().contains(&password));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_cannot_demote_deactivate_or_reset_their_own_account_by_a_form() {
    let (identity, ada, mut browser, _) = office().await;
    let page = browser.get(&format!("/admin/users/{}", ada.id)).await;
    let links = page.links();
    assert!(!links.iter().any(|link| link.ends_with("/demote")));
    for action in ["demote", "deactivate", "new-password"] {
        let path = format!("/admin/users/{}/{action}", ada.id);
        let form = browser.get(&path).await.form(&path);
        let page = browser.submit(form).await.expect(403);
        assert!(page.html.contains("role=\"alert\""), "{action}");
    }
    identity.validate(&ada.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_and_its_end_are_changed_by_a_form() {
    let (identity, _, mut browser, bob) = office().await;
    let (path, plan) = (
        format!("/admin/users/{}", bob.id),
        format!("/admin/users/{}/plan", bob.id),
    );
    let form = browser.get(&path).await.form(&plan);
    let form = form.set("tier", "PREMIUM").set("until", "2026-12-31");
    let page = browser
        .submit(form.clone())
        .await
        .expect(200)
        .says("Plan changed.");
    let page = page.says("Premium until 31 Dec 2026, 23:59 UTC");
    assert_eq!(page.form(&plan).value("until"), Some("2026-12-31"));
    for (until, typed) in [("2026-01-01", "2026-01-01"), ("soon", "soon")] {
        let page = browser
            .submit(form.clone().set("until", until))
            .await
            .expect(400);
        assert!(page.html.contains("id=\"until-error\""), "{until}");
        assert_eq!(page.form(&plan).value("until"), Some(typed));
    }
    let forged = form.clone().forged("tier", "GOLD");
    browser.submit(forged).await.expect(400);
    let page = browser
        .submit(form.clone().set("until", ""))
        .await
        .expect(200);
    page.says("Premium, no end date");
    let page = browser.submit(form.set("tier", "FREE")).await.expect(200);
    page.says("Free");
    assert_eq!(identity.me(&bob).await["premium_tier"], "FREE");
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_keys_are_shown_and_rotated_by_a_form() {
    let (identity, _, mut browser, bob) = office().await;
    let signing = "SELECT kid AS t FROM signing_keys WHERE retired_at IS NULL ORDER BY kid";
    let before = crate::support::texts(&identity.db.pool(1), signing);
    browser
        .get("/admin/keys")
        .await
        .expect(200)
        .says(&before[0]);
    identity.hand.advance(Duration::seconds(1));
    let form = browser
        .get("/admin/keys/rotate")
        .await
        .form("/admin/keys/rotate");
    let page = browser.submit(form).await.expect(200);
    page.says("New key published. It will start signing tokens in a few minutes.")
        .says("Waiting")
        .says("Signing");
    let after = crate::support::texts(&identity.db.pool(1), signing);
    assert!(before.iter().all(|kid| !after.contains(kid)));
    let form = browser
        .get("/admin/keys/rotate")
        .await
        .form("/admin/keys/rotate");
    let page = browser.submit(form).await.expect(200);
    page.says("The next keys are already published.");
    identity.hand.advance(Duration::minutes(6));
    browser.get("/admin/keys").await.says("Verifying");
    identity.validate(&bob.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_filtered_and_paged() {
    let (identity, _, mut browser, bob) = office().await;
    identity.login("bob", PASSWORD).await.expect(200);
    for _ in 0..30 {
        identity.login("bob", "wrong horse").await.expect(401);
    }
    let page = browser
        .get("/admin/audit?user=BOB&action=session.refused")
        .await
        .expect(200);
    assert_eq!(
        page.html.matches("<code>session.refused</code>").count(),
        30
    );
    let by_id = format!("/admin/audit?user={}&action=session", bob.id);
    let page = browser
        .get(&by_id)
        .await
        .says("session.refused")
        .says("session.opened");
    assert!(!page.text().contains("account.registered"));
    browser
        .get("/admin/audit?since=2026-11-22")
        .await
        .says("No entries match the filter.");
    browser
        .get("/admin/audit?until=2026-11-20")
        .await
        .says("No entries match the filter.");
    browser
        .get("/admin/audit?until=2026-11-21")
        .await
        .says("account.registered");
    for (query, field) in [
        ("user=nobody-at-all", "user"),
        ("actor=nobody-at-all", "actor"),
        ("action=DROP+TABLE", "action"),
        ("since=yesterday", "since"),
    ] {
        let page = browser
            .get(&format!("/admin/audit?{query}"))
            .await
            .expect(400);
        assert!(
            page.html.contains(&format!("id=\"{field}-error\"")),
            "{query}"
        );
    }
    for _ in 0..30 {
        identity.login("bob", "wrong horse").await.expect(401);
    }
    let page = browser
        .get("/admin/audit?action=session.refused&user=bob")
        .await;
    let next = page
        .links()
        .into_iter()
        .find(|link| link.contains("before="));
    let next = next.unwrap();
    assert!(next.contains("user=bob") && next.contains("action=session.refused"));
    let page = browser.get(&next).await;
    assert_eq!(
        page.html.matches("<code>session.refused</code>").count(),
        10
    );
    let body = json!({ "username": "bob", "password": PASSWORD });
    identity.open("/api/auth/login", body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_registered_gets_a_new_secret_and_is_deleted_by_forms() {
    let (identity, _, mut browser, _) = office().await;
    let (list, new) = ("/admin/clients", "/admin/clients/new");
    browser.get(list).await.says("No OAuth clients yet.");
    let form = browser.get(new).await.form(new);
    let form = form.set("name", "The \"Calendar\"").set(
        "redirect_uris",
        "https://cal.example/cb\r\n\r\nhttp://127.0.0.1/cb",
    );
    let bad = form
        .clone()
        .set("redirect_uris", "https://cal.example/cb#x");
    let page = browser.submit(bad).await.expect(400);
    is_a_good_page(&page);
    assert!(page.html.contains("role=\"alert\""));
    let typed = page.form(new);
    assert_eq!(typed.value("name"), Some("The \"Calendar\""));
    assert_eq!(
        typed.value("redirect_uris"),
        Some("https://cal.example/cb#x")
    );
    for (field, value) in [
        ("scope", "openid everything"),
        ("redirect_uris", "https://cal.example/*"),
    ] {
        let bad = form.clone().set(field, value);
        browser.submit(bad).await.expect(400);
    }
    assert_eq!(identity.count("SELECT count(*) AS n FROM oauth_clients"), 0);

    let page = browser
        .submit(form)
        .await
        .expect(200)
        .says("It is not shown again.");
    is_a_good_page(&page);
    let shown = secrets(&page.html);
    let path = format!("{list}/{}", shown[0]);
    let page = browser.get(&path).await.expect(200);
    is_a_good_page(&page);
    let page = page.says("https://cal.example/cb http://127.0.0.1/cb");
    assert!(!page.html.contains(&shown[1]));
    is_a_good_page(&browser.get(list).await.says("The \"Calendar\""));

    let rotate = format!("{path}/rotate-secret");
    let page = browser.get(&rotate).await;
    is_a_good_page(&page);
    let page = browser.submit(page.form(&rotate)).await.expect(200);
    assert_ne!(secrets(&page.html)[1], shown[1]);
    let delete = format!("{path}/delete");
    let page = browser.get(&delete).await;
    let page = browser.submit(page.form(&delete)).await.expect(200);
    page.says("Client deleted.");
    browser.fetch(&path).await.expect(404);
    browser.fetch(&rotate).await.expect(404);
    for action in ["client.created", "client.secret_rotated", "client.deleted"] {
        let query = format!(
            "SELECT count(*) AS n FROM audit_log WHERE action = '{action}' AND actor_id = 1"
        );
        assert_eq!(identity.count(&query), 1, "{action}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_client_gets_no_secret() {
    let (_identity, _, mut browser, _) = office().await;
    let new = "/admin/clients/new";
    let form = browser.get(new).await.form(new);
    let form = form.set("name", "Desk").set("is_public", "yes");
    let page = browser
        .submit(form.forged("is_public", "yes"))
        .await
        .expect(200);
    let shown = secrets(&page.says("A public client has no secret.").html);
    assert_eq!(shown.len(), 1);
    let page = browser.get(&format!("/admin/clients/{}", shown[0])).await;
    assert!(
        !page
            .links()
            .iter()
            .any(|link| link.ends_with("/rotate-secret"))
    );
}

/// Returns the secrets that a page shows only once.
fn secrets(html: &str) -> Vec<String> {
    let codes = html.split("<code class=\"secret\">").skip(1);
    codes
        .map(|rest| rest.split("</code>").next().unwrap().to_owned())
        .collect()
}
