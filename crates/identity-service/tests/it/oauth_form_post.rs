//! Responses in a form (OAuth 2.0 Form Post Response Mode), ID tokens without a code (OpenID Connect Core section 3.2),
//! and authorization requests in a form (section 3.1.2.1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use service_kit::crypto::sha256;
use test_kit::ApiResponse;

use crate::browser::{Browser, Form, Page};
use crate::html_parser::elements;
use crate::oauth_fixture::{CALLBACK, OAuth, SECRET, answer, brought, claims};
use crate::support::PASSWORD;

const BY_FORM: (&str, Option<&str>) = ("response_mode", Some("form_post"));

/// Asks for an ID token in a form.
const ID_TOKEN: [(&str, Option<&str>); 5] = [
    BY_FORM,
    ("response_type", Some("id_token")),
    ("nonce", Some("n-0S6_WzA2Mj")),
    ("code_challenge", None),
    ("code_challenge_method", None),
];

/// Returns a service whose client `web` may get ID tokens without a code.
async fn with_id_tokens() -> OAuth {
    let oauth = OAuth::start().await;
    oauth.identity.sql(
        "UPDATE oauth_clients SET metadata = '{\"response_types\":[\"code\",\"id_token\"]}' WHERE id = 'web'",
    );
    oauth
}

/// Returns the form that the page posts to the client.
#[track_caller]
fn posted(page: &Page) -> Form {
    assert_eq!(page.reply.status, 200, "{}", page.text());
    assert_eq!(page.leads_to, None);
    page.form(CALLBACK)
}

/// Sends an authorization request as the form of another site does: without a cookie.
async fn post(oauth: &OAuth, body: &str) -> ApiResponse {
    let call = oauth.identity.api.post("/api/oauth/authorize");
    let call = call.header("sec-fetch-site", "cross-site");
    let call = call.header("origin", "https://app.example.com");
    call.body("application/x-www-form-urlencoded", body.to_owned())
        .send()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_brings_the_code_with_state_and_iss_to_the_redirect_uri() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    let form = browser
        .get(&OAuth::request("web", &[BY_FORM]))
        .await
        .form("/consent");
    let page = browser.post(form.set("decision", "allow")).await;
    let form = posted(&page);
    assert_eq!(form.method, "post");
    assert_eq!(form.fields.len(), 3, "{form:?}");
    assert_eq!(form.value("state"), Some("s +&/ü"));
    assert_eq!(form.value("iss"), Some(oauth.identity.running.base_url()));
    let code = form.value("code").unwrap().to_owned();
    let again = browser.get(&OAuth::request("web", &[BY_FORM])).await;
    let main = again.html.split("<main").nth(1).unwrap();
    let other = posted(&again).value("code").unwrap().to_owned();
    let main = main.replace(&other, "CODE");
    insta::assert_snapshot!(
        "form_post_page",
        main.replace(oauth.identity.running.base_url(), "ISSUER")
    );
    oauth.redeem("web", &code).await.expect(200);

    // The page keeps nothing, and runs this one script only. Without scripts, its button works.
    assert_eq!(page.reply.header("cache-control"), "no-store");
    assert_eq!(page.reply.header("referrer-policy"), "no-referrer");
    let scripts = elements(&page.html, &["script"]);
    assert_eq!(scripts.len(), 1);
    let hash = STANDARD.encode(sha256(scripts[0].text.as_bytes()));
    let policy = page.reply.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(
        policy.ends_with(&format!("; script-src 'sha256-{hash}'")),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(elements(&page.html, &["button"]).len(), 1);

    let again = OAuth::request("web", &[BY_FORM, ("prompt", Some("consent"))]);
    let form = browser
        .get(&again)
        .await
        .form("/consent")
        .set("decision", "deny");
    let form = posted(&browser.post(form).await);
    assert_eq!(form.value("error"), Some("access_denied"));
    assert_eq!(form.value("state"), Some("s +&/ü"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_alone_has_the_claims_of_the_scopes_and_no_access_token() {
    let oauth = with_id_tokens().await;
    let mut browser = oauth.browser().await;
    let form = browser
        .get(&OAuth::request("web", &ID_TOKEN))
        .await
        .form("/consent");
    let form = posted(&browser.post(form.set("decision", "allow")).await);
    let names: Vec<_> = form.fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["id_token", "state", "iss"]);
    let token = form.value("id_token").unwrap();
    let claims = claims(token);
    assert_eq!(claims["nonce"], "n-0S6_WzA2Mj");
    assert_eq!(claims["aud"], "web");
    assert_eq!(claims["preferred_username"], "ada");
    assert_eq!(
        (&claims["acr"], &claims["amr"]),
        (&json!("1"), &json!(["pwd"]))
    );
    assert!(claims.get("at_hash").is_none() && claims.get("email").is_none());
    // It names a session that the user sees and ends like every other.
    let session = format!(
        "SELECT count(*) AS n FROM sessions WHERE kind = 'client' AND client_id = 'web' AND id = {}",
        claims["sid"].to_string().replace('"', "'")
    );
    assert_eq!(oauth.identity.count(&session), 1);
    assert_eq!(oauth.audited("oauth.granted"), 1);
    // It is no access token, and the session has no other.
    let call = oauth.identity.api.get("/api/oauth/userinfo");
    call.bearer(token).send().await.expect(401);
    let silent = [&ID_TOKEN[..], &[("prompt", Some("none"))]].concat();
    let form = posted(&browser.fetch(&OAuth::request("web", &silent)).await);
    assert!(form.value("id_token").is_some());
    let codes = "SELECT count(*) AS n FROM oauth_codes";
    assert_eq!(oauth.identity.count(codes), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_leaves_the_server_in_an_address_or_for_an_unregistered_client() {
    let oauth = with_id_tokens().await;
    oauth.add_client("other", Some(SECRET), false);
    let app =
        "UPDATE oauth_clients SET redirect_uris = '[\"com.example.app:/cb\"]' WHERE id = 'native'";
    oauth.identity.sql(app);
    let mut browser = oauth.browser().await;
    for (attack, client, change, error) in [
        ("no nonce", "web", ("nonce", None), "invalid_request"),
        (
            "an empty nonce",
            "web",
            ("nonce", Some("")),
            "invalid_request",
        ),
        (
            "the default mode",
            "web",
            ("response_mode", None),
            "invalid_request",
        ),
        (
            "a query",
            "web",
            ("response_mode", Some("query")),
            "invalid_request",
        ),
        (
            "a fragment",
            "web",
            ("response_mode", Some("fragment")),
            "invalid_request",
        ),
        (
            "a message",
            "web",
            ("response_mode", Some("web_message")),
            "invalid_request",
        ),
        (
            "a signed response",
            "web",
            ("response_mode", Some("form_post.jwt")),
            "invalid_request",
        ),
        (
            "an access token",
            "web",
            ("response_type", Some("token")),
            "unsupported_response_type",
        ),
        (
            "both tokens",
            "web",
            ("response_type", Some("id_token token")),
            "unsupported_response_type",
        ),
        (
            "a code beside it",
            "web",
            ("response_type", Some("code id_token")),
            "unsupported_response_type",
        ),
        (
            "everything",
            "web",
            ("response_type", Some("code id_token token")),
            "unsupported_response_type",
        ),
        (
            "without openid",
            "web",
            ("scope", Some("profile")),
            "invalid_scope",
        ),
        (
            "an unregistered client",
            "other",
            ("state", Some("x")),
            "unauthorized_client",
        ),
    ] {
        let changes = [&ID_TOKEN[..], &[change]].concat();
        let page = browser.fetch(&OAuth::request(client, &changes)).await;
        let found = match page.leads_to {
            Some(_) => brought(&page)["error"].clone(),
            None => posted(&page).value("error").unwrap().to_owned(),
        };
        assert_eq!(found, error, "{attack}");
        assert!(!page.html.contains("eyJ"), "{attack}");
    }
    let to_app = [BY_FORM, ("redirect_uri", Some("com.example.app:/cb"))];
    let page = browser.fetch(&OAuth::request("native", &to_app)).await;
    let address = page.leads_to.unwrap_or_default();
    assert_eq!(
        answer(&address)["error"],
        "invalid_request",
        "a form for an app"
    );
    let given = "SELECT count(*) AS n FROM sessions WHERE kind = 'client'";
    assert_eq!(oauth.identity.count(given), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_a_request_becomes_markup_or_another_target_of_the_form() {
    let oauth = OAuth::start().await;
    let mut browser = Browser::new(&oauth.identity);
    for hostile in [
        "\"><script>alert(1)</script>",
        "'><img src=x onerror=alert(1)>",
        "</form><form action=https://evil.example>",
        "\" formaction=\"https://evil.example",
        "{{7*7}}${7*7}",
        "&#34;&gt;",
    ] {
        let changes = [BY_FORM, ("prompt", Some("none")), ("state", Some(hostile))];
        let page = browser.fetch(&OAuth::request("web", &changes)).await;
        let form = posted(&page);
        assert_eq!(form.value("state"), Some(hostile));
        assert_eq!(form.value("error"), Some("login_required"));
        assert_eq!(elements(&page.html, &["form"]).len(), 1, "{hostile}");
        assert_eq!(elements(&page.html, &["script"]).len(), 1, "{hostile}");
        assert!(elements(&page.html, &["img"]).is_empty(), "{hostile}");
    }
    // What a client gets wrong is named, never repeated.
    let wrong = [BY_FORM, ("prompt", Some("<b>none</b>"))];
    let page = browser.fetch(&OAuth::request("web", &wrong)).await;
    assert_eq!(posted(&page).value("error"), Some("invalid_request"));
    assert!(!page.html.contains("none</b>"));
    for evil in [
        "https://evil.example/cb",
        "javascript:alert(1)//cb",
        "data:text/html,x",
    ] {
        let changes = [BY_FORM, ("redirect_uri", Some(evil))];
        let page = browser
            .fetch(&OAuth::request("web", &changes))
            .await
            .expect(400);
        assert!(elements(&page.html, &["form"]).is_empty(), "{evil}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_posted_request_is_continued_as_get_with_the_same_parameters() {
    let oauth = OAuth::start().await;
    let path = OAuth::request("own", &[("max_age", Some("600"))]);
    let query = path.split_once('?').unwrap().1;
    let reply = post(&oauth, &format!("{query}&unknown=1&unknown=2"))
        .await
        .expect(303);
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(reply.header("location"), path);
    assert_eq!(reply.header("set-cookie"), "");
    let mut browser = oauth.browser().await;
    assert!(brought(&browser.fetch(reply.header("location")).await).contains_key("code"));
    // A visitor who is not signed in continues after the sign-in.
    let mut browser = Browser::new(&oauth.identity);
    let page = browser.get(reply.header("location")).await;
    let form = page
        .form("/login")
        .set("username", "ada")
        .set("password", PASSWORD);
    assert!(brought(&browser.submit(form).await).contains_key("code"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_posted_request_never_counts_as_consent_and_never_leads_to_another_site() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    let path = OAuth::request("web", &[]);
    let query = path.split_once('?').unwrap().1;
    let consent = browser.get(&path).await.form("/consent");
    let csrf = consent.value("csrf").unwrap();
    for (attack, body) in [
        ("a decision", format!("{query}&decision=allow")),
        (
            "the fields of the page",
            format!("{query}&decision=allow&csrf={csrf}"),
        ),
        ("an earlier sign-in", format!("{query}&signed_in_after=1")),
    ] {
        let reply = post(&oauth, &body).await.expect(303);
        let location = reply.header("location");
        assert!(location.starts_with("/api/oauth/authorize?"), "{attack}");
        assert!(!location.contains("decision"), "{attack}");
        let page = browser.get(location).await.expect(200);
        page.form("/consent");
    }
    // The consent page's own form counts in its own browser and site only.
    let allowed = consent.clone().set("decision", "allow");
    browser
        .post_from("cross-site", allowed.clone())
        .await
        .expect(403);
    browser
        .post_from("same-site", allowed.clone())
        .await
        .expect(403);
    Browser::new(&oauth.identity)
        .post(allowed)
        .await
        .expect(403);
    let long = "s".repeat(4_000);
    for (attack, body) in [
        ("no client", "state=x".to_owned()),
        ("two clients", format!("{query}&client_id=web")),
        ("a long request", format!("{query}&nonce={long}")),
        ("nothing", String::new()),
    ] {
        let reply = post(&oauth, &body).await.expect(400);
        assert_eq!(reply.header("location"), "", "{attack}");
    }
    // The browser is redirected within this site. The redirect URI is checked after that.
    let evil = OAuth::request("web", &[("redirect_uri", Some("https://evil.example/cb"))]);
    let reply = post(&oauth, evil.split_once('?').unwrap().1)
        .await
        .expect(303);
    let page = browser.fetch(reply.header("location")).await.expect(400);
    assert_eq!(page.leads_to, None);
    let call = oauth.identity.api.post("/api/oauth/authorize");
    let body = json!({ "client_id": "web" });
    call.json(body).send().await.expect(400);
    let codes = "SELECT count(*) AS n FROM oauth_codes";
    assert_eq!(oauth.identity.count(codes), 0);
}
