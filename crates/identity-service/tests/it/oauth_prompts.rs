//! `prompt=select_account` and `prompt=create`, and how the user signed in (`acr`, `amr`).

use chrono::Duration;
use serde_json::{Value, json};

use crate::browser::{Browser, Page};
use crate::oauth_fixture::{OAuth, brought, claims};
use crate::pages::every_page::is_a_good_page;
use crate::support::PASSWORD;
use crate::totp::enabled_for;

fn prompt(words: &str) -> String {
    OAuth::request("own", &[("prompt", Some(words))])
}

/// Returns the claims of the ID token for the code that a page brings to the client.
async fn id_token(oauth: &OAuth, page: &Page) -> Value {
    let code = brought(page)["code"].clone();
    let tokens = oauth.redeem("own", &code).await.expect(200).json();
    claims(tokens["id_token"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_signed_in_confirms_the_account_or_chooses_another() {
    let oauth = OAuth::start().await;
    let bob = oauth.identity.register("bob").await;
    let mut browser = oauth.browser().await;
    let path = prompt("select_account");
    let page = browser.get(&path).await.expect(200);
    is_a_good_page(&page);
    let form = page.form("/consent");
    let main = page.html.split("<main").nth(1).unwrap();
    let main = main.replace(form.value("csrf").unwrap(), "CSRF");
    insta::assert_snapshot!("select_account_page", main);
    let chosen = browser.submit(form.set("decision", "continue")).await;
    assert_eq!(id_token(&oauth, &chosen).await["sub"], "1");

    // The next request asks again. Going back without a new sign-in does not choose another account.
    oauth.identity.hand.advance(Duration::seconds(10));
    let page = browser.get(&path).await.expect(200);
    let other = page
        .links()
        .into_iter()
        .find(|to| to.starts_with("/login?"));
    let form = browser.get(&other.unwrap()).await.form("/login");
    let back = browser.get(form.value("return_to").unwrap()).await;
    let form = back.form("/login").set("password", PASSWORD);
    let page = browser.submit(form.set("username", "bob")).await;
    assert_eq!(id_token(&oauth, &page).await["sub"], bob.id.to_string());

    // Who is not signed in chooses an account by signing in.
    let mut browser = Browser::new(&oauth.identity);
    let form = browser.get(&path).await.form("/login");
    let form = form.set("username", "ada").set("password", PASSWORD);
    assert!(brought(&browser.submit(form).await).contains_key("code"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_choice_of_an_account_cannot_be_skipped() {
    let oauth = OAuth::start().await;
    oauth.identity.register("bob").await;
    let mut browser = oauth.browser().await;
    let path = prompt("select_account");
    let form = browser.get(&path).await.form("/consent");
    // Consent is no choice, and no other site can make it.
    let allowed = form.clone().forged("decision", "allow");
    browser.submit(allowed).await.expect(200).form("/consent");
    let chosen = form.clone().set("decision", "continue");
    browser
        .post_from("cross-site", chosen.clone())
        .await
        .expect(403);
    browser
        .submit(form.forged("decision", "skip"))
        .await
        .expect(400);
    // Another account has signed in in another tab, and has not chosen yet.
    let page = browser.get("/login?again=true").await.form("/login");
    let page = page.set("username", "bob").set("password", PASSWORD);
    browser.submit(page).await.expect(200);
    browser
        .submit(chosen)
        .await
        .expect(200)
        .says("Continue as bob")
        .form("/consent");
    // A program with a token shows no page.
    let reply = oauth.authorize(&path, &oauth.ada.access).await.expect(302);
    let location = reply.header("location");
    assert!(
        location.contains("error=account_selection_required"),
        "{location}"
    );
    for words in ["none select_account", "none create", "none login create"] {
        let page = browser.fetch(&prompt(words)).await;
        assert_eq!(brought(&page)["error"], "invalid_request", "{words}");
    }
    // The consent page comes after the choice.
    let both = OAuth::request("web", &[("prompt", Some("select_account consent"))]);
    let form = browser.get(&both).await.form("/consent");
    let page = browser.submit(form.set("decision", "continue")).await;
    let form = page.says("Allow The web <app>").form("/consent");
    let page = browser.submit(form.set("decision", "allow")).await;
    assert!(brought(&page).contains_key("code"));
    let codes = "SELECT count(*) AS n FROM oauth_codes";
    assert_eq!(oauth.identity.count(codes), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_can_require_a_new_account() {
    let oauth = OAuth::start().await;
    for (is_signed_in, username) in [(false, "eve"), (true, "fay")] {
        let mut browser = match is_signed_in {
            true => oauth.browser().await,
            false => Browser::new(&oauth.identity),
        };
        oauth.identity.hand.advance(Duration::seconds(10));
        let page = browser.get(&prompt("create")).await.expect(200);
        assert!(page.path.starts_with("/register?"), "{}", page.path);
        let form = page.form("/register");
        // Going back without an account leads to the sign-in page.
        let back = browser.get(form.value("return_to").unwrap()).await;
        back.form("/login");
        let form = form.set("username", username).set("password", PASSWORD);
        let page = browser.submit(form).await;
        assert_eq!(
            id_token(&oauth, &page).await["preferred_username"],
            username
        );
    }
    // Who already has an account signs in instead.
    let mut browser = oauth.browser().await;
    oauth.identity.hand.advance(Duration::seconds(10));
    let page = browser.get(&prompt("create")).await;
    let sign_in = page
        .links()
        .into_iter()
        .find(|to| to.starts_with("/login?"));
    let form = browser.get(&sign_in.unwrap()).await.form("/login");
    let form = form.set("username", "ada").set("password", PASSWORD);
    assert_eq!(
        id_token(&oauth, &browser.submit(form).await).await["sub"],
        "1"
    );
    let program = oauth.identity.api.get(&prompt("create"));
    let reply = program.header("accept", "application/json").send().await;
    reply.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_that_only_express_a_wish_change_nothing() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    for (name, value) in [
        ("display", "page"),
        ("display", "popup"),
        ("ui_locales", "de fr"),
        ("claims_locales", "se"),
        ("acr_values", "urn:mace:incommon:iap:silver"),
        ("claims", "{\"userinfo\":{\"name\":{\"essential\":true}}}"),
        ("extra", "foobar"),
        ("login_hint", "bob"),
        ("max_age", "10000"),
    ] {
        let page = browser
            .fetch(&OAuth::request("own", &[(name, Some(value))]))
            .await;
        assert!(brought(&page).contains_key("code"), "{name}={value}");
    }
    // The hint is filled in where a user signs in.
    let hint = [("login_hint", Some("bob")), ("prompt", Some("login"))];
    let form = browser
        .get(&OAuth::request("own", &hint))
        .await
        .form("/login");
    assert_eq!(form.value("username"), Some("bob"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_says_whether_a_second_factor_was_used() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    let ways = OAuth::request("own", &[("acr_values", Some("2 1"))]);
    let page = browser.get(&ways).await;
    let claims_before = id_token(&oauth, &page).await;
    let (app, _) = enabled_for(&oauth.identity, &oauth.ada).await;
    // The second factor counts from the next sign-in.
    let page = browser.get(&ways).await;
    let claims_after = id_token(&oauth, &page).await;
    for found in [claims_before, claims_after] {
        assert_eq!(
            (&found["acr"], &found["amr"]),
            (&json!("1"), &json!(["pwd"]))
        );
    }
    oauth.identity.hand.advance(Duration::seconds(60));
    let mut browser = Browser::new(&oauth.identity);
    let page = browser.sign_in("ada", PASSWORD).await;
    let form = page
        .form("/login/code")
        .set("code", &app.next(&oauth.identity));
    browser.submit(form).await.expect(200);
    let code = brought(&browser.get(&ways).await)["code"].clone();
    let tokens = oauth.redeem("own", &code).await.expect(200).json();
    let refreshed = oauth
        .refresh("own", tokens["refresh_token"].as_str().unwrap(), None)
        .await;
    let strong = (json!("2"), json!(["pwd", "otp", "mfa"]));
    for tokens in [tokens, refreshed.expect(200).json()] {
        let found = claims(tokens["id_token"].as_str().unwrap());
        assert_eq!((found["acr"].clone(), found["amr"].clone()), strong);
    }
}
