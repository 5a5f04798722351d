//! Pages that were opened before a sign-in or sign-out in another tab.

use chrono::Duration;

use crate::browser::Browser;
use crate::oauth_fixture::{CALLBACK, OAuth, brought};
use crate::pages::every_page::is_a_good_page;
use crate::support::{Identity, PASSWORD};
use crate::team_fixture::TeamFixture;
use crate::totp::enabled;

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_in_a_second_tab_continues_to_its_own_target() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    identity.register("bob").await;
    // The second tab may name another account. For the account that is signed in, the password does not matter.
    for (username, password, leads_to, who) in [
        ("ada", PASSWORD, "/teams", "ada"),
        ("ADA", "not the password", "/teams", "ada"),
        ("bob", PASSWORD, "/teams", "bob"),
    ] {
        let mut browser = Browser::new(&identity);
        let second = browser.get("/login?return_to=/teams").await.form("/login");
        browser.sign_in("ada", PASSWORD).await;
        let form = second.set("username", username).set("password", password);
        let page = browser.post(form).await.expect(303);
        assert_eq!(page.leads_to.as_deref(), Some(leads_to), "{username}");
        browser.get("/account").await.expect(200).says(who);
    }
    let mut browser = Browser::new(&identity);
    let second = browser.get("/login?return_to=/teams").await.form("/login");
    let third = browser.get("/register?return_to=/teams").await;
    browser.sign_in("ada", PASSWORD).await;
    let wrong = second.set("username", "bob").set("password", "wrong");
    browser.post(wrong).await.expect(401);
    browser.get("/account").await.expect(200).says("ada");
    let form = third.form("/register").set("username", "eve");
    let page = browser.post(form.set("password", PASSWORD)).await;
    assert_eq!(page.expect(303).leads_to.as_deref(), Some("/teams"));
    browser.get("/account").await.expect(200).says("eve");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_tab_accepts_the_code_that_the_first_tab_has_used() {
    let identity = Identity::start().await;
    let (_, app, _) = enabled(&identity).await;
    let mut browser = Browser::new(&identity);
    let form = browser.get("/login?return_to=/teams").await.form("/login");
    let form = form.set("username", "ada").set("password", PASSWORD);
    let second = browser.post(form).await.form("/login/code");
    let first = browser.sign_in("ada", PASSWORD).await.form("/login/code");
    let code = app.next(&identity);
    browser.post(first.set("code", &code)).await.expect(303);
    let page = browser.post(second.set("code", &code)).await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/teams"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consent_form_counts_only_for_the_account_it_was_shown_to() {
    let oauth = OAuth::start().await;
    oauth.identity.register("bob").await;
    let codes = || {
        let count = "SELECT count(*) AS n FROM oauth_codes";
        oauth.identity.count(count)
    };
    for client in ["web", "own"] {
        let prompt = (client == "own").then_some("consent");
        let path = OAuth::request(client, &[("prompt", prompt)]);
        let mut browser = oauth.browser().await;
        let second = browser.get(&path).await.form("/consent");
        let second = second.set("decision", "allow");
        // Another account has signed in since. It is asked for its own consent, even for a first-party client.
        let page = browser.get("/account").await;
        browser.submit(page.form("/logout")).await;
        browser.sign_in("bob", PASSWORD).await;
        let before = codes();
        let page = browser.submit(second.clone()).await.expect(200);
        assert_eq!(codes(), before, "{client}");
        let page = page.says("bob");
        is_a_good_page(&page);
        page.form("/consent");
        // The same account has signed in again.
        browser.submit(page.form("/logout")).await;
        browser.sign_in("ada", PASSWORD).await;
        brought(&browser.submit(second.clone()).await.expect(303));
        // Without a session, the visitor signs in and is asked.
        let page = browser.get("/account").await;
        browser.submit(page.form("/logout")).await;
        let page = browser.submit(second).await.expect(200);
        let form = page.form("/login").set("username", "ada");
        let page = browser.submit(form.set("password", PASSWORD)).await;
        let page = browser.submit(page.form("/consent").set("decision", "deny"));
        let address = page.await.leads_to.unwrap();
        assert!(address.starts_with(CALLBACK), "{address}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_sent_after_signing_out_comes_back_with_its_input_after_the_sign_in() {
    let fixture = TeamFixture::start().await;
    let identity = &fixture.identity;
    for (page, action, fields) in [
        (
            "/account/profile",
            "/account/profile",
            &[("bio", "Keeps the <lamp>\r\nlit"), ("website_url", "")][..],
        ),
        (
            "/account/email",
            "/account/email",
            &[("email", "new@example.com"), ("password", PASSWORD)],
        ),
        (
            "/teams/new",
            "/teams/new",
            &[("name", "Night shift"), ("slug", "night-shift")],
        ),
        (
            "/teams/crew/people",
            "/teams/crew/people/add",
            &[("username", "sam"), ("role", "admin")],
        ),
        ("/device", "/device", &[("user_code", "BCDF-GHJK")]),
    ] {
        let mut browser = Browser::signed_in(identity, "olga").await;
        let form = browser.get(page).await.form(action);
        let form = fields
            .iter()
            .fold(form, |form, (name, value)| form.set(name, value));
        for ended in ["signed out", "expired"] {
            if ended == "signed out" {
                let page = browser.get("/account").await;
                browser.submit(page.form("/logout")).await;
            } else {
                identity.hand.advance(Duration::days(31));
            }
            let shown = browser.submit(form.clone()).await.expect(200);
            assert_eq!(shown.path, "/login?return_to=%2Fresume", "{action}");
            let cookie = browser.cookies["holdfast_kept"].clone();
            assert!(!cookie.contains("lamp"));
            let login = shown.form("/login").set("username", "olga");
            let back = browser.submit(login.set("password", PASSWORD)).await;
            assert_eq!(back.path, "/resume", "{action}");
            is_a_good_page(&back);
            assert!(!back.html.contains(PASSWORD), "{action}");
            let again = back.form(action);
            for (name, value) in fields {
                let value = if *name == "password" { "" } else { value };
                let value = value.replace("\r\n", "\n");
                let kept = again.value(name).map(|kept| kept.replace("\r\n", "\n"));
                assert_eq!(kept, Some(value), "{action} {name}");
            }
            // The saved form is shown once.
            let page = browser.get("/resume").await.expect(200);
            assert_eq!(page.path, "/account");
        }
    }
    let mut browser = Browser::signed_in(identity, "olga").await;
    let form = browser.get("/teams/new").await.form("/teams/new");
    let form = form.set("name", "Night shift").set("slug", "night-shift");
    let page = browser.get("/account").await;
    browser.submit(page.form("/logout")).await;
    let login = browser.submit(form).await.form("/login");
    let login = login.set("username", "olga").set("password", PASSWORD);
    let back = browser.submit(login).await;
    let page = browser.submit(back.form("/teams/new")).await.expect(200);
    assert_eq!(page.path, "/teams/night-shift?done=team");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_form_is_shown_only_to_its_account_in_its_browser() {
    let identity = Identity::start().await;
    identity.register("ada").await;
    identity.register("bob").await;
    let mut browser = Browser::signed_in(&identity, "ada").await;
    let page = browser.get("/account/profile").await;
    let form = page.form("/account/profile").set("bio", "A secret of ada");
    browser.submit(page.form("/logout")).await;
    browser.submit(form.clone()).await.expect(200);
    let cookie = browser.cookies["holdfast_kept"].clone();
    // Another account in this browser.
    browser.sign_in("bob", PASSWORD).await;
    let page = browser.get("/resume").await.expect(200);
    assert!(!page.html.contains("A secret"), "{}", page.text());
    browser.post(form.clone()).await.expect(403);
    // The same account in another browser, with a copied cookie.
    let mut other = Browser::signed_in(&identity, "ada").await;
    for planted in [&*cookie, "v2.x.y", ""] {
        let cookies = &mut other.cookies;
        cookies.insert("holdfast_kept".to_owned(), planted.to_owned());
        assert_eq!(other.get("/resume").await.expect(200).path, "/account");
    }
    // A signed-out browser saves no form of another site or another browser.
    let mut nobody = Browser::new(&identity);
    nobody.get("/login").await;
    for (site, form) in [
        ("cross-site", form.clone()),
        ("same-site", form.clone()),
        ("same-origin", form.clone()),
        ("same-origin", form.clone().without("csrf")),
    ] {
        let page = nobody.post_from(site, form).await.expect(403);
        assert!(page.set_cookies().is_empty(), "{site}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_form_is_shown_again_and_choices_and_files_lead_back_to_their_page() {
    let fixture = TeamFixture::start().await;
    let mut browser = Browser::signed_in(&fixture.identity, "olga").await;
    let long = browser.get("/account/profile").await;
    let long = long.form("/account/profile");
    let long = long.set("bio", &"ü".repeat(2_000));
    let role = browser.get("/teams/crew/members/mia").await;
    let role = role.form("/teams/crew/members/Mia").set("role", "admin");
    let photo = browser.get("/account/photo").await.form("/account/photo");
    let photo = photo.file("photo", "a.png", "image/png", b"PNG");
    let page = browser.get("/account").await;
    let second = page.form("/logout");
    browser.submit(page.form("/logout")).await;

    let page = browser.submit(long).await.expect(401);
    is_a_good_page(&page);
    let page = page.says(&"ü".repeat(2_000));
    let back = "/login?return_to=%2Faccount%2Fprofile".to_owned();
    assert!(page.links().contains(&back));
    for (form, page) in [
        (role, "teams%2Fcrew%2Fmembers%2Fmia"),
        (photo, "account%2Fphoto"),
    ] {
        let shown = browser.post(form).await.expect(303);
        let leads_to = format!("/login?return_to=%2F{page}");
        assert_eq!(shown.leads_to, Some(leads_to));
    }
    // Signing out twice is no error.
    let page = browser.post(second).await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/done/signed-out"));
}
