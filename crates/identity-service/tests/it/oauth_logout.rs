//! Signing out by a client's request (OpenID Connect RP-Initiated Logout).

use std::time::Duration as StdDuration;

use chrono::Duration;
use serde_json::{Value, json};
use test_kit::wait_until;
use url::form_urlencoded::Serializer;

use crate::admin_cli::run;
use crate::browser::{Browser, Page};
use crate::forged_tokens::decoded;
use crate::oauth_fixture::{CALLBACK, OAuth, SECRET, VERIFIER, answer, brought};
use crate::pages::every_page::is_a_good_page;
use crate::support::{Identity, PASSWORD, refused, signed_in};

/// The registered address after a sign-out.
pub(crate) const AFTER: &str = "https://app.example.com/out?from=holdfast";
const SIGNED_OUT: &str = "/done/signed-out";

/// Registers addresses of a client.
pub(crate) fn set_metadata(identity: &Identity, client: &str, metadata: &Value) {
    identity.sql(&format!(
        "UPDATE oauth_clients SET metadata = '{metadata}' WHERE id = '{client}'"
    ));
}

/// Returns the path of a logout request.
pub(crate) fn logout(parameters: &[(&str, &str)]) -> String {
    let query = Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish();
    format!("/api/oauth/logout?{query}")
}

/// Lets a client in with the sign-in of this browser, and returns its tokens.
pub(crate) async fn let_in(
    oauth: &OAuth,
    browser: &mut Browser,
    client: &str,
    scope: &str,
) -> Value {
    let request = OAuth::request(client, &[("scope", Some(scope))]);
    let mut page = browser.get(&request).await;
    if page.leads_to.is_none() {
        let form = page.form("/consent").set("decision", "allow");
        page = browser.submit(form).await;
    }
    let code = brought(&page)["code"].clone();
    oauth.redeem(client, &code).await.expect(200).json()
}

pub(crate) fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap()
}

/// Returns an identity service at which `web` may send users to [`AFTER`], and a browser in which Ada has signed in and
/// let `web` in, with its tokens.
async fn begin() -> (OAuth, Browser, Value) {
    let oauth = OAuth::start().await;
    let metadata = json!({ "post_logout_redirect_uris": [AFTER, "http://127.0.0.1/out"] });
    set_metadata(&oauth.identity, "web", &metadata);
    let mut browser = oauth.browser().await;
    let tokens = let_in(&oauth, &mut browser, "web", "openid profile").await;
    (oauth, browser, tokens)
}

async fn is_signed_in(browser: &Browser) -> bool {
    browser.clone().get("/account").await.path == "/account"
}

async fn decide(browser: &mut Browser, page: &Page, decision: &str) -> Page {
    let form = page.form("/logout/confirm").set("decision", decision);
    browser.submit(form).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_signs_its_user_out_of_this_browser_without_a_question() {
    let (oauth, mut browser, tokens) = begin().await;
    let mut before = browser.clone();
    // An ID token serves as a hint long after it has expired.
    oauth.identity.hand.advance(Duration::days(20));
    let path = logout(&[
        ("id_token_hint", text(&tokens, "id_token")),
        ("post_logout_redirect_uri", AFTER),
        ("state", "s +&/ü"),
        ("logout_hint", "ada"),
        ("ui_locales", "de"),
    ]);
    let page = browser.fetch(&path).await.expect(303);
    assert_eq!(page.reply.header("cache-control"), "no-store");
    assert_eq!(page.reply.header("referrer-policy"), "no-referrer");
    let address = page.leads_to.as_deref().unwrap();
    assert!(address.starts_with(AFTER), "{address}");
    assert_eq!(answer(address)["state"], "s +&/ü");
    // The cookie is gone, and no longer works where it was copied to.
    assert!(!browser.cookies.contains_key("holdfast_id"));
    assert!(!is_signed_in(&before).await);
    let pair = signed_in(&tokens);
    refused(
        oauth.identity.validate(&pair.access).await,
        401,
        "token_revoked",
    );
    let reply = oauth.refresh("web", &pair.refresh, None).await;
    refused(reply, 400, "invalid_grant");
    oauth.identity.validate(&oauth.ada.access).await.expect(200);
    // The same request again has nothing to end.
    let page = before.fetch(&path).await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some(address));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_post_the_request_which_the_browser_repeats_with_its_cookie() {
    let (oauth, mut browser, tokens) = begin().await;
    let hint = text(&tokens, "id_token");
    let body = Serializer::new(String::new())
        .extend_pairs([("id_token_hint", hint), ("state", "x"), ("other", "y")])
        .finish();
    let post = || {
        let call = oauth.identity.api.post("/api/oauth/logout");
        call.header("sec-fetch-site", "cross-site")
    };
    let form = "application/x-www-form-urlencoded";
    // A form of another site carries no cookie (SameSite=Lax).
    let reply = post().body(form, body).send().await.expect(303);
    assert_eq!(reply.header("cache-control"), "no-store");
    let path = reply.header("location").to_owned();
    assert_eq!(path, logout(&[("id_token_hint", hint), ("state", "x")]));
    assert!(is_signed_in(&browser).await);
    let page = browser.get(&path).await.expect(200);
    assert_eq!(page.path, SIGNED_OUT);
    page.says("You are signed out");
    assert!(!is_signed_in(&browser).await);

    let long = format!("state={}", "x".repeat(13_000));
    refused(post().body(form, long).send().await, 400, "invalid_request");
    let huge = format!("state={}", "x".repeat(70_000));
    refused(
        post().body(form, huge).send().await,
        413,
        "payload_too_large",
    );
    let json = post().json(json!({ "state": "x" })).send().await;
    assert_eq!(json.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_asked_before_any_other_sign_out_and_can_stay() {
    let (oauth, mut browser, tokens) = begin().await;
    let mut other = oauth.browser().await;
    let theirs = let_in(&oauth, &mut other, "web", "openid").await;
    oauth.identity.register("bob").await;
    let mut bobs = Browser::signed_in(&oauth.identity, "bob").await;
    let of_bob = let_in(&oauth, &mut bobs, "web", "openid").await;
    let requests: [&[(&str, &str)]; 5] = [
        &[],
        &[("client_id", "web")],
        &[("client_id", "web"), ("post_logout_redirect_uri", AFTER)],
        // A hint of the same account, but of a sign-in in another browser.
        &[("id_token_hint", text(&theirs, "id_token"))],
        // Somebody else's hint.
        &[("id_token_hint", text(&of_bob, "id_token"))],
    ];
    for parameters in requests {
        let page = browser.get(&logout(parameters)).await.expect(200);
        let names_client = page
            .text()
            .contains("“The web <app>” asks to sign you out.");
        assert_eq!(names_client, !parameters.is_empty());
        let page = page.says("You are signed in as “ada”.");
        assert!(!page.html.contains("<app>"), "a name is text");
        is_a_good_page(&page);
        let stayed = decide(&mut browser, &page, "stay").await;
        assert_eq!((stayed.path.as_str(), stayed.leads_to), ("/account", None));
    }
    let pair = signed_in(&tokens);
    oauth.identity.validate(&pair.access).await.expect(200);

    let path = logout(&[("client_id", "web"), ("post_logout_redirect_uri", AFTER)]);
    let page = browser.get(&path).await.expect(200);
    insta::assert_snapshot!("logout_page", page.text());
    let page = decide(&mut browser, &page, "sign_out").await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some(AFTER));
    assert!(!is_signed_in(&browser).await);
    assert!(is_signed_in(&other).await && is_signed_in(&bobs).await);
    // Without a back-channel logout address, a client is signed out only by its own hint.
    oauth.identity.validate(&pair.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_sign_out_ends_the_session_of_the_hint_but_nobody_elses() {
    let (oauth, mut browser, tokens) = begin().await;
    let mut other = oauth.browser().await;
    oauth.identity.register("bob").await;
    let mut bobs = Browser::signed_in(&oauth.identity, "bob").await;
    let of_bob = let_in(&oauth, &mut bobs, "web", "openid").await;
    for (browser, hint, ended) in [(&mut browser, &of_bob, false), (&mut other, &tokens, true)] {
        let path = logout(&[("id_token_hint", text(hint, "id_token"))]);
        let page = browser.get(&path).await.expect(200);
        let page = decide(browser, &page, "sign_out").await;
        assert_eq!(page.path, SIGNED_OUT);
        assert!(!is_signed_in(browser).await);
        let status = oauth
            .identity
            .validate(&signed_in(hint).access)
            .await
            .status;
        assert_eq!(status, if ended { 401 } else { 200 });
    }
    assert!(is_signed_in(&bobs).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_a_sign_in_goes_on_to_the_registered_address_or_a_page() {
    let (oauth, _, tokens) = begin().await;
    let access = signed_in(&tokens).access;
    let form = [("token", access.as_str())];
    let web = ("web", Some(SECRET));
    let revoked = oauth.post("/api/oauth/revoke", web, &form).await;
    revoked.expect(200);
    let mut browser = Browser::new(&oauth.identity);
    // The session of the hint has ended.
    let hint = ("id_token_hint", text(&tokens, "id_token"));
    let client = ("client_id", "web");
    for request in [hint, client] {
        let page = browser.get(&logout(&[request])).await;
        assert_eq!(page.path, SIGNED_OUT);
        for address in [AFTER, "http://127.0.0.1:51234/out"] {
            let path = logout(&[request, ("post_logout_redirect_uri", address)]);
            let page = browser.get(&path).await.expect(303);
            assert_eq!(page.leads_to.as_deref(), Some(address));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sign_in_the_user_is_asked_before_the_session_of_the_hint_ends() {
    let (oauth, ada, tokens) = begin().await;
    let access = signed_in(&tokens).access;
    let metadata = json!({
        "post_logout_redirect_uris": [AFTER], "backchannel_logout_uri": "https://app.example.com/back",
    });
    set_metadata(&oauth.identity, "web", &metadata);
    let path = logout(&[
        ("id_token_hint", text(&tokens, "id_token")),
        ("post_logout_redirect_uri", AFTER),
        ("state", "x"),
    ]);
    let mut browser = Browser::new(&oauth.identity);
    let page = browser.get(&path).await.expect(200);
    is_a_good_page(&page);
    insta::assert_snapshot!("logout_page_without_sign_in", page.text());
    // Possession of a hint ends nothing. A form of another browser, another site or an earlier sign-in does not, either.
    let form = page.form("/logout/confirm").set("decision", "sign_out");
    let mut other = Browser::new(&oauth.identity);
    other.get(&path).await.expect(200);
    other.post(form.clone()).await.expect(403);
    browser
        .post_from("cross-site", form.clone())
        .await
        .expect(403);
    let page = decide(&mut browser, &page, "stay").await;
    assert!(page.path.starts_with("/login"), "{}", page.path);
    let mut hers = ada.clone();
    let asked = hers.get(&logout(&[])).await.expect(200);
    let early = asked.form("/logout/confirm").set("decision", "sign_out");
    hers.cookies.remove("holdfast_id");
    let early = early.forged("request", path.split_once('?').unwrap().1);
    hers.post(early).await.expect(200).form("/logout/confirm");
    oauth.identity.validate(&access).await.expect(200);

    let page = browser.get(&path).await.expect(200);
    let page = decide(&mut browser, &page, "sign_out").await;
    let address = page.leads_to.as_deref().unwrap();
    assert_eq!(address, format!("{AFTER}&state=x"));
    refused(oauth.identity.validate(&access).await, 401, "token_revoked");
    let calls = oauth.identity.events("identity.logout_requested.v1");
    assert_eq!(calls.len(), 1);
    // Her own sign-in goes on, and nothing says that it was she who confirmed.
    assert!(is_signed_in(&ada).await);
    let entries =
        "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND actor_id IS NULL";
    assert_eq!(oauth.identity.count(entries), 1);
    // The same form again has nothing to end.
    assert_eq!(browser.get(&path).await.leads_to.as_deref(), Some(address));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_offline_access_does_not_end_with_the_hint() {
    let (oauth, mut browser, _) = begin().await;
    oauth
        .identity
        .sql("UPDATE oauth_clients SET scope = 'openid offline_access' WHERE id = 'web'");
    let tokens = let_in(&oauth, &mut browser, "web", "openid offline_access").await;
    let path = logout(&[("id_token_hint", text(&tokens, "id_token"))]);
    let mut nobodys = Browser::new(&oauth.identity);
    assert_eq!(nobodys.get(&path).await.path, SIGNED_OUT);
    assert_eq!(browser.get(&path).await.path, SIGNED_OUT);
    let access = signed_in(&tokens).access;
    oauth.identity.validate(&access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_account_that_signed_in_since_the_question_is_asked_again() {
    let (oauth, mut browser, _) = begin().await;
    oauth.identity.register("bob").await;
    let asked = browser.get(&logout(&[])).await.expect(200);
    let page = browser.get("/login?again=true").await;
    let form = page.form("/login").set("username", "bob");
    browser.submit(form.set("password", PASSWORD)).await;
    let page = decide(&mut browser, &asked, "sign_out").await.expect(200);
    let page = page.says("You are signed in as “bob”.");
    let page = decide(&mut browser, &page, "sign_out").await;
    assert_eq!(page.path, SIGNED_OUT);
    // The same form once more, without a sign-in.
    assert_eq!(
        decide(&mut browser, &asked, "sign_out").await.path,
        SIGNED_OUT
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_stays_signed_in_when_its_user_authenticates_again() {
    let (oauth, mut browser, tokens) = begin().await;
    let metadata = json!({ "backchannel_logout_uri": "https://app.example.com/back" });
    set_metadata(&oauth.identity, "web", &metadata);
    let page = browser.get("/login?again=true").await;
    let form = page.form("/login").set("username", "ada");
    browser.submit(form.set("password", PASSWORD)).await;
    let access = signed_in(&tokens).access;
    oauth.identity.validate(&access).await.expect(200);
    // Its hint now belongs to the new sign-in.
    let path = logout(&[("id_token_hint", text(&tokens, "id_token"))]);
    assert_eq!(browser.get(&path).await.path, SIGNED_OUT);
    refused(oauth.identity.validate(&access).await, 401, "token_revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_is_verified_with_retired_keys_and_either_algorithm() {
    let oauth = OAuth::start_with(|config| config.housekeeping_seconds = 1).await;
    let mut browser = oauth.browser().await;
    let mut hints = Vec::new();
    for algorithm in ["ES256", "RS256"] {
        oauth.add_client(algorithm, Some(SECRET), false);
        let change = "UPDATE oauth_clients SET id_token_alg =";
        oauth
            .identity
            .sql(&format!("{change} '{algorithm}' WHERE id = '{algorithm}'"));
        let path = OAuth::request(algorithm, &[]);
        let page = browser.get(&path).await;
        let form = page.form("/consent").set("decision", "allow");
        let code = brought(&browser.submit(form).await)["code"].clone();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        let tokens = oauth.token((algorithm, Some(SECRET)), &form).await;
        let tokens = tokens.expect(200).json();
        let header = decoded(text(&tokens, "id_token"), 0);
        assert_eq!(header["alg"], algorithm);
        hints.push(text(&tokens, "id_token").to_owned());
    }
    let rotated = run(&oauth.identity.db, &["keys", "rotate"], "", &[]);
    assert_eq!(rotated.code, 0, "{}", rotated.err);
    // The command has the clock of the machine.
    for moment in ["signs_from", "retired_at"] {
        let change = format!("UPDATE signing_keys SET {moment} = '2026-11-21 12:00:00'");
        let changed = format!("{change} WHERE {moment} > '2026-11-21 12:00:00'");
        oauth.identity.sql(&changed);
    }
    oauth.identity.hand.advance(Duration::days(29));
    let mut browser = oauth.browser().await;
    for hint in &hints {
        assert!(is_asked_by_client(&mut browser, hint).await);
    }
    // Housekeeping removes the retired keys. Then the hints are ignored.
    oauth.identity.hand.advance(Duration::days(3));
    let browser = oauth.browser().await;
    for hint in &hints {
        wait_until(
            "the key to be gone",
            StdDuration::from_secs(20),
            async || {
                let is_named = is_asked_by_client(&mut browser.clone(), hint).await;
                (!is_named).then_some(())
            },
        )
        .await;
    }
}

/// Whether the question after a logout request with this hint names the client.
async fn is_asked_by_client(browser: &mut Browser, hint: &str) -> bool {
    let page = browser.get(&logout(&[("id_token_hint", hint)])).await;
    let text = page.expect(200).says("You are signed in as “ada”.").text();
    text.contains("asks to sign you out")
}
