use chrono::Duration;
use identity_service::Config;

use crate::browser::{Browser, Form, Page};
use crate::html_parser::elements;
use crate::oauth_fixture::OAuth;
use crate::pages::every_page::is_a_good_page;
use crate::support::{Identity, PASSWORD};
use crate::totp::enabled;

/// Sets the public address of the service.
fn public(address: &str) -> impl FnOnce(&mut Config) {
    let address = address.parse().unwrap();
    move |config| config.base_url = Some(address)
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_by_the_form_opens_a_browser_session_with_a_cookie() {
    let identity = Identity::start().await;
    let ada = identity.register("Ada").await;
    let mut browser = Browser::signed_in(&identity, "ADA").await;
    assert_eq!(identity.audited("session.opened", &ada), 1);
    let kinds = "SELECT count(*) AS n FROM sessions WHERE kind = 'browser'";
    assert_eq!(identity.count(kinds), 1);
    // A signed-in browser is redirected from the sign-in page.
    let page = browser.fetch("/login?return_to=/teams").await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/teams"));
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_out_of_reach_of_scripts_and_other_sites() {
    for (address, prefix, secure) in [
        ("https://id.example.com", "__Host-holdfast", "; Secure"),
        ("http://localhost:4444", "holdfast", ""),
    ] {
        let identity = Identity::start_with(public(address)).await;
        let mut browser = Browser::behind_proxy(&identity);
        let page = browser.fetch("/register").await;
        let expected = format!("HttpOnly; SameSite=Lax{secure}; Path=/");
        let cookie = page.set_cookies().remove(0).to_owned();
        let (pair, attributes) = cookie.split_once("; ").unwrap();
        assert_eq!(pair.len(), format!("{prefix}_forms=").len() + 43, "{pair}");
        assert_eq!(attributes, expected, "{address}");

        let expected = format!("{expected}; Max-Age=2592000");
        let form = page.form("/register").set("username", "ada");
        let registered = browser.post(form.set("password", PASSWORD)).await;
        let mut browser = Browser::behind_proxy(&identity);
        let form = browser.get("/login").await.form("/login");
        let form = form.set("username", "ada").set("password", PASSWORD);
        for page in [registered, browser.post(form).await] {
            let cookie = page.expect(303).set_cookies().remove(0).to_owned();
            let (pair, attributes) = cookie.split_once("; ").unwrap();
            assert!(pair.starts_with(&format!("{prefix}_id=")), "{pair}");
            assert_eq!(attributes, expected, "{address}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_over_plain_http_works_only_on_localhost_unless_allowed() {
    let identity = Identity::start_with(public("http://id.example.com")).await;
    let mut browser = Browser::behind_proxy(&identity);
    let page = browser.get("/login").await.expect(403);
    let page = page.says("Signing in with a browser requires HTTPS");
    assert!(page.forms("/login").is_empty());
    // This service has a local address, but is reached under another one.
    let identity = Identity::start().await;
    let call = identity.api.get("/login").header("host", "192.0.2.5:8080");
    let call = call.header("accept", "text/html");
    assert_eq!(call.send().await.status, 403);
    let identity = Identity::start_with(|config| {
        config.allow_insecure_cookies = true;
        public("http://id.example.com")(config);
    })
    .await;
    let mut browser = Browser::behind_proxy(&identity);
    browser.get("/login").await.expect(200).form("/login");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_accepted_only_from_its_page_and_browser() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    let mut browser = Browser::new(&identity);
    let mut other = Browser::new(&identity);
    let filled = |page: Page| -> Form {
        let form = page.form("/login").set("username", "ada");
        form.set("password", PASSWORD)
    };
    let own = filled(browser.get("/login").await);
    let foreign = filled(other.get("/login").await);
    let token = foreign.value("csrf").unwrap().to_owned();
    // An attacker whose form worked in another browser could sign its user in to the attacker's account.
    for (site, form) in [
        ("same-origin", foreign),
        ("same-origin", own.clone().without("csrf")),
        ("same-origin", own.clone().forged("csrf", "")),
        ("same-origin", own.clone().forged("csrf", &token)),
        ("cross-site", own.clone()),
        ("same-site", own.clone()),
    ] {
        let page = browser.post_from(site, form).await.expect(403);
        let page = page.says("This form was opened in another browser or by another account");
        assert!(page.set_cookies().is_empty());
    }
    assert_eq!(identity.count("SELECT count(*) AS n FROM sessions"), 1);
    browser.post_from("none", own).await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_return_target_after_a_sign_in_never_leaves_the_site() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    for (asked, led) in [
        ("/teams?page=2", "/teams?page=2"),
        ("https://evil.example/", "/account"),
        ("//evil.example/", "/account"),
        ("/%5Cevil.example/", "/account"),
        ("/%09/evil.example/", "/account"),
        ("javascript:alert(1)", "/account"),
        ("teams", "/account"),
    ] {
        let mut browser = Browser::new(&identity);
        let page = browser.get(&format!("/login?return_to={asked}")).await;
        for link in page.links() {
            assert!(link.starts_with(['/', '#']), "{asked}: {link}");
        }
        let form = page.form("/login").set("username", "ada");
        let page = browser.post(form.set("password", PASSWORD)).await;
        assert_eq!(page.leads_to.as_deref(), Some(led), "{asked}");

        // A target in the form is checked like one in the link.
        let mut browser = Browser::new(&identity);
        let form = browser.get("/login").await.form("/login");
        let form = form.set("username", "ada").set("password", PASSWORD);
        let page = browser.post(form.forged("return_to", asked)).await;
        let led = if asked.contains('%') { asked } else { led };
        assert_eq!(page.leads_to.as_deref(), Some(led), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sign_in_shows_the_name_again_and_never_the_password() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    let mut browser = Browser::new(&identity);
    let hostile = "\"><script>alert(1)</script>";
    for name in ["ada", "nobody", hostile] {
        let page = browser.sign_in(name, "a wrong password").await.expect(401);
        let page = page.says("Incorrect username or password.");
        let form = page.form("/login");
        assert_eq!(form.value("username"), Some(name));
        assert_eq!(form.value("password"), Some(""));
        assert!(elements(&page.html, &["script"]).is_empty());
        assert!(!browser.cookies.contains_key("holdfast_id"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_sign_in_gets_a_new_cookie_whatever_the_browser_sent() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let mut browser = Browser::signed_in(&identity, "ada").await;
    let first = browser.cookies["holdfast_id"].clone();
    let mut other = Browser::signed_in(&identity, "ada").await;
    assert_ne!(other.cookies["holdfast_id"], first);

    // A planted value is never adopted as the new cookie, and no other token works as a cookie.
    for planted in [&*"A".repeat(first.len()), &ada.refresh, &ada.access] {
        let cookies = &mut browser.cookies;
        cookies.insert("holdfast_id".to_owned(), planted.to_owned());
        let page = browser.sign_in("ada", PASSWORD).await;
        assert_eq!(page.path, "/account");
        let cookie = browser.cookies["holdfast_id"].clone();
        assert!(![planted, &*first].contains(&&*cookie));
    }
    // The first cookie works until it is signed out.
    other
        .cookies
        .insert("holdfast_id".to_owned(), first.clone());
    other.fetch("/login").await.expect(303);
    let page = other.get("/done/signed-out").await;
    let page = other.submit(page.form("/logout")).await.expect(200);
    assert_eq!(page.path, "/done/signed-out");
    assert!(!other.cookies.contains_key("holdfast_id"));
    other.cookies.insert("holdfast_id".to_owned(), first);
    other.fetch("/login").await.expect(200);
    assert_eq!(identity.audited("session.revoked", &ada), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_again_ends_only_the_browsers_previous_session() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let mut elsewhere = Browser::signed_in(&identity, "ada").await;
    let mut browser = Browser::signed_in(&identity, "ada").await;
    let live = "SELECT count(*) AS n FROM sessions WHERE kind = 'browser' AND revoked_at IS NULL";
    let is_good = async |cookie: &str| {
        let mut thief = Browser::new(&identity);
        let cookie = cookie.to_owned();
        thief.cookies.insert("holdfast_id".to_owned(), cookie);
        thief.fetch("/login").await.reply.status == 303
    };
    // The same account, another one and a new one.
    for username in ["ada", "bob", "eve"] {
        let before = browser.cookies["holdfast_id"].clone();
        assert!(is_good(&before).await);
        let (path, page) = match username {
            "eve" => ("/register", "/register"),
            _ => ("/login", "/login?again=true"),
        };
        // `again` shows the sign-in form to a visitor who is signed in. The form to register comes from an older tab.
        let mut tab = browser.clone();
        if path == "/register" {
            tab.cookies.remove("holdfast_id");
        }
        let form = tab.get(page).await.form(path);
        let csrf = browser.get("/account").await.form("/logout");
        let form = form.forged("csrf", csrf.value("csrf").unwrap());
        let form = form.set("username", username).set("password", PASSWORD);
        let page = browser.submit(form).await;
        assert_eq!(page.path, "/account", "{username}");
        assert!(!is_good(&before).await, "{username}");
        assert!(is_good(&browser.cookies["holdfast_id"]).await);
        assert_eq!(identity.count(live), 2);
    }
    assert_eq!(elsewhere.get("/account").await.path, "/account");
    for device in [&ada, &bob] {
        identity.validate(&device.access).await.expect(200);
    }
    let told = "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND details LIKE '%signed_in_again%'";
    assert_eq!(identity.count(told), 3);
    let heard = "SELECT count(*) AS n FROM changes WHERE kind = 'session'";
    assert_eq!(identity.count(heard), 3);

    // A wrong password ends nothing.
    let form = browser.get("/login?again=true").await.form("/login");
    let form = form
        .set("username", "ada")
        .set("password", "wrong password");
    browser.post(form).await.expect(401);
    assert_eq!(browser.get("/account").await.path, "/account");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_expires_after_thirty_days_and_is_refused_for_an_inactive_account() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    let mut browser = Browser::signed_in(&identity, "ada").await;
    identity.sql("UPDATE users SET is_active = FALSE");
    browser.fetch("/login").await.expect(200);
    identity.sql("UPDATE users SET is_active = TRUE");
    identity
        .hand
        .advance(Duration::days(30) - Duration::seconds(1));
    browser.fetch("/login").await.expect(303);
    identity.hand.advance(Duration::seconds(1));
    browser.fetch("/login").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_that_signs_in_redirects_to_the_return_target() {
    let identity = Identity::start().await;
    let (_, app, _) = enabled(&identity).await;
    identity.register("bob").await;
    let there = "/api/oauth/authorize?client_id=none";
    let asked = format!("return_to={}", there.replace('?', "%3F"));
    let mut browser = Browser::new(&identity);
    let form = browser.get(&format!("/login?{asked}")).await.form("/login");
    let form = form.set("username", "bob").set("password", PASSWORD);
    let first = browser.post(form).await;

    let mut browser = Browser::new(&identity);
    let page = browser.get(&format!("/register?{asked}")).await;
    let form = page.form("/register").set("username", "eve");
    let new = browser.post(form.set("password", PASSWORD)).await;

    let mut browser = Browser::new(&identity);
    let form = browser.get(&format!("/login?{asked}")).await.form("/login");
    let form = form.set("username", "ada").set("password", PASSWORD);
    let page = browser.post(form).await.expect(200);
    let form = page.form("/login/code").set("code", &app.next(&identity));
    let second = browser.post(form).await;
    for page in [first, new, second] {
        assert_eq!(page.leads_to.as_deref(), Some(there));
        assert!(page.expect(303).html.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn form_action_is_restricted_except_on_pages_that_may_lead_to_another_site() {
    let oauth = OAuth::start().await;
    let identity = &oauth.identity;
    let request = OAuth::request("web", &[]);
    let to = |page: &str, path: &str| web_kit::text::with_query(page, &[("return_to", path)]);
    let sso = "/api/auth/sso/authorize?redirect_uri=https://app.example.com/";
    let (nobody, ada) = (Browser::new(identity), oauth.browser().await);
    for (browser, path, leads_elsewhere) in [
        (&nobody, request.as_str(), true),
        (&nobody, &to("/login", &request), true),
        (&nobody, &to("/register", &request), true),
        (&nobody, &to("/login", sso), true),
        (&nobody, &to("/register", sso), true),
        (&ada, &request, true),
        (&nobody, "/login", false),
        (&nobody, &to("/login", "/teams"), false),
        (&nobody, "/register", false),
        (&nobody, "/forgot-password", false),
        (&nobody, "/nonsense", false),
        (&ada, "/account", false),
        (&ada, "/account/profile", false),
        (&ada, "/account/applications", false),
        (&ada, "/device", false),
        (&ada, "/teams/new", false),
        (&ada, "/done/signed-out", false),
        (&ada, "/api/oauth/authorize?client_id=nobody", false),
    ] {
        let page = browser.clone().get(path).await;
        is_a_good_page(&page);
        let policy = page.reply.header("content-security-policy");
        let is_kept_here = policy.contains("form-action 'self'");
        assert_eq!(is_kept_here, !leads_elsewhere, "{path}: {policy}");
        assert_eq!(policy.contains("form-action"), is_kept_here, "{path}");
    }
    // The pages after a wrong password and before the code may lead there, too.
    let identity = Identity::start().await;
    enabled(&identity).await;
    for (password, action) in [("a wrong password", "/login"), (PASSWORD, "/login/code")] {
        let mut browser = Browser::new(&identity);
        let form = browser.get(&to("/login", &request)).await.form("/login");
        let form = form.set("username", "ada").set("password", password);
        let page = browser.post(form).await;
        page.form(action);
        let policy = page.reply.header("content-security-policy");
        assert!(!policy.contains("form-action"), "{action}: {policy}");
    }
}
