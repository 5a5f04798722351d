use chrono::Duration;
use serde_json::json;

use crate::browser::Browser;
use crate::oauth_fixture::{CALLBACK, CHALLENGE, OAuth, VERIFIER, answer, brought};
use crate::support::{PASSWORD, refused};

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_ins_token_gets_a_code_with_state_and_iss_at_the_redirect_uri() {
    let oauth = OAuth::start().await;
    let path = OAuth::request("web", &[]);
    let reply = oauth.authorize(&path, &oauth.ada.access).await.expect(302);
    let address = reply.header("location");
    assert!(
        address.starts_with(&format!("{CALLBACK}?code=")),
        "{address}"
    );
    let answer = answer(address);
    assert_eq!(answer["code"].len(), 43);
    assert_eq!(answer["state"], "s +&/ü");
    assert_eq!(answer["iss"], oauth.identity.running.base_url());
    assert_eq!(answer.len(), 3);
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(reply.header("referrer-policy"), "no-referrer");
    let stored = oauth.identity.count(&format!(
        "SELECT count(*) AS n FROM oauth_codes WHERE code_hash = '{}'",
        answer["code"]
    ));
    assert_eq!(stored, 0, "codes are stored as hashes");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_client_or_redirect_uri_gets_an_error_page_and_no_redirect() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    for changes in [
        &[("client_id", None)][..],
        &[("client_id", Some("nobody"))],
        &[("client_id", Some("web' OR '1'='1"))],
        &[("client_id", Some("web\0"))],
        &[("redirect_uri", None)],
        &[("redirect_uri", Some("https://evil.example/cb"))],
        &[("redirect_uri", Some("https://app.example.com/cb/../evil"))],
        &[("redirect_uri", Some("https://app.example.com/cb#x"))],
        &[(
            "redirect_uri",
            Some("https://app.example.com.evil.example/cb"),
        )],
        &[("redirect_uri", Some("http://127.0.0.1.evil.example/cb"))],
        &[("redirect_uri", Some("http://127.0.0.1:80@evil.example/cb"))],
        &[("redirect_uri", Some("javascript:alert(1)//cb"))],
        &[
            ("redirect_uri", Some("https://evil.example")),
            ("response_type", None),
        ],
    ] {
        let path = OAuth::request("web", changes);
        let page = browser.fetch(&path).await.expect(400);
        assert_eq!(page.leads_to, None, "{path}");
        assert!(page.reply.header("content-type").starts_with("text/html"));
        let reply = oauth.authorize(&path, &oauth.ada.access).await;
        let reply = refused(reply, 400, "invalid_request");
        assert_eq!(reply.header("location"), "", "{path}");
    }
    for doubled in [
        "&client_id=web",
        "&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcb",
    ] {
        let path = format!("{}{doubled}", OAuth::request("web", &[]));
        let page = browser.fetch(&path).await.expect(400);
        assert_eq!(page.leads_to, None, "{path}");
    }
    let codes = oauth
        .identity
        .count("SELECT count(*) AS n FROM oauth_codes");
    assert_eq!(codes, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn authorization_errors_are_returned_to_the_client_with_state_and_iss() {
    let oauth = OAuth::start().await;
    let long = "a".repeat(129);
    for (client, changes, code) in [
        ("web", [("response_type", None)], "invalid_request"),
        (
            "web",
            [("response_type", Some("token"))],
            "unsupported_response_type",
        ),
        ("web", [("scope", Some("admin"))], "invalid_scope"),
        ("web", [("scope", Some("sessions:write"))], "invalid_scope"),
        (
            "web",
            [("code_challenge", Some("short"))],
            "invalid_request",
        ),
        (
            "web",
            [("code_challenge", Some(long.as_str()))],
            "invalid_request",
        ),
        (
            "web",
            [("code_challenge_method", Some("s256"))],
            "invalid_request",
        ),
        ("native", [("code_challenge", None)], "invalid_request"),
        ("own", [("code_challenge", None)], "invalid_request"),
        (
            "web",
            [("request", Some("e30.e30."))],
            "request_not_supported",
        ),
    ] {
        let path = OAuth::request(client, &changes);
        // The error is the same with and without a sign-in.
        let (with, without) = (
            oauth.authorize(&path, &oauth.ada.access).await,
            oauth.identity.api.get(&path).send().await,
        );
        for reply in [with, without] {
            let answer = answer(reply.expect(302).header("location"));
            assert_eq!(answer["error"], code, "{path}");
            assert_eq!(answer["state"], "s +&/ü");
            assert_eq!(answer["iss"], oauth.identity.running.base_url());
            assert!(!answer.contains_key("code"));
        }
    }
    let doubled = format!("{}&scope=openid&state=2", OAuth::request("web", &[]));
    let reply = oauth.authorize(&doubled, &oauth.ada.access).await;
    let answer = answer(reply.expect(302).header("location"));
    assert_eq!(answer["error"], "invalid_request");
    assert!(!answer.contains_key("state"), "which of two is not known");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_request_without_a_session_goes_through_the_sign_in_page() {
    let oauth = OAuth::start().await;
    let path = OAuth::request("own", &[]);
    let mut browser = Browser::new(&oauth.identity);
    let page = browser.get(&path).await.expect(200);
    assert!(page.path.starts_with("/login?return_to="), "{}", page.path);
    let form = page.form("/login");
    let form = form.set("username", "ada").set("password", PASSWORD);
    let page = browser.submit(form).await;
    let answer = brought(&page);
    oauth.redeem("own", &answer["code"]).await.expect(200);

    let program = oauth.identity.api.get(&path);
    let reply = program.header("accept", "application/json").send().await;
    refused(reply, 401, "authentication_required");
    let both = oauth.identity.api.get(&path);
    let reply = both
        .header("accept", "text/html, application/json")
        .send()
        .await;
    assert!(reply.expect(302).header("location").starts_with("/login?"));
    let reply = oauth.authorize(&path, "nonsense").await;
    refused(reply, 401, "invalid_token");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_token_of_a_live_sign_in_can_authorize_a_client() {
    let oauth = OAuth::start().await;
    let path = OAuth::request("web", &[]);
    for client in ["web", "own"] {
        let tokens = oauth.tokens(client, "openid profile email teams").await;
        let access = tokens["access_token"].as_str().unwrap();
        refused(
            oauth.authorize(&path, access).await,
            403,
            "insufficient_scope",
        );
    }
    let logout = oauth.identity.api.post("/api/auth/logout");
    logout.bearer(&oauth.ada.access).send().await.expect(200);
    refused(
        oauth.authorize(&path, &oauth.ada.access).await,
        401,
        "token_revoked",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_none_never_shows_a_page() {
    let oauth = OAuth::start().await;
    let path = OAuth::request("web", &[("prompt", Some("none"))]);
    let mut browser = Browser::new(&oauth.identity);
    assert_eq!(
        brought(&browser.fetch(&path).await)["error"],
        "login_required"
    );
    let mut browser = oauth.browser().await;
    assert_eq!(
        brought(&browser.fetch(&path).await)["error"],
        "consent_required"
    );
    let form = browser
        .get(&OAuth::request("web", &[]))
        .await
        .form("/consent");
    brought(&browser.submit(form.set("decision", "allow")).await);
    assert!(brought(&browser.fetch(&path).await).contains_key("code"));
    let old = OAuth::request("web", &[("prompt", Some("none")), ("max_age", Some("60"))]);
    oauth.identity.hand.advance(Duration::seconds(61));
    assert_eq!(
        brought(&browser.fetch(&old).await)["error"],
        "login_required"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_and_max_age_can_require_one_new_sign_in() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    for (name, value) in [("prompt", "login"), ("max_age", "0")] {
        oauth.identity.hand.advance(Duration::seconds(10));
        let page = browser
            .get(&OAuth::request("own", &[(name, Some(value))]))
            .await;
        assert!(
            page.path.starts_with("/login?"),
            "{name}={value}: {}",
            page.path
        );
        // Going back without signing in leads to the sign-in page again.
        let form = page.form("/login");
        let back = form.value("return_to").unwrap().to_owned();
        let page = browser.get(&back).await;
        assert!(
            page.path.starts_with("/login?"),
            "{name}={value}: {}",
            page.path
        );
        let form = form.set("username", "ada").set("password", PASSWORD);
        let code = brought(&browser.submit(form).await)["code"].clone();
        let tokens = oauth.redeem("own", &code).await.expect(200).json();
        let claims = crate::oauth_fixture::claims(tokens["id_token"].as_str().unwrap());
        let now = oauth.identity.clock.now().timestamp();
        assert_eq!(claims["auth_time"], now);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_challenges_can_be_disabled() {
    let plain = [
        ("code_challenge", Some(VERIFIER)),
        ("code_challenge_method", None),
    ];
    let oauth = OAuth::start().await;
    let code = oauth.code("native", &plain).await;
    oauth.redeem("native", &code).await.expect(200);

    let oauth = OAuth::start_with(|config| config.oauth.allow_plain_pkce = false).await;
    let path = OAuth::request("native", &plain);
    let reply = oauth.authorize(&path, &oauth.ada.access).await.expect(302);
    assert_eq!(answer(reply.header("location"))["error"], "invalid_request");
    let code = oauth
        .code("native", &[("code_challenge", Some(CHALLENGE))])
        .await;
    oauth.redeem("native", &code).await.expect(200);
}

/// Returns the error of an authorization request with Ada's token, if any.
async fn error(oauth: &OAuth, client: &str, changes: &[(&str, Option<&str>)]) -> Option<String> {
    let path = OAuth::request(client, changes);
    let reply = oauth.authorize(&path, &oauth.ada.access).await.expect(302);
    answer(reply.header("location")).get("error").cloned()
}

#[tokio::test(flavor = "multi_thread")]
async fn pkce_with_s256_can_be_required_of_one_client_or_of_all() {
    let none = [("code_challenge", None), ("code_challenge_method", None)];
    let plain = [
        ("code_challenge", Some(VERIFIER)),
        ("code_challenge_method", Some("plain")),
    ];
    let silent = [("code_challenge_method", None)];
    let ways = [&none[..], &plain, &silent];
    let oauth = OAuth::start().await;
    oauth
        .identity
        .sql("UPDATE oauth_clients SET requires_pkce_s256 = true WHERE id = 'own'");
    for way in ways {
        assert_eq!(error(&oauth, "web", way).await, None);
        assert!(error(&oauth, "own", way).await.is_some());
    }
    assert_eq!(error(&oauth, "own", &[]).await, None);

    let oauth = OAuth::start_with(|config| config.oauth.require_pkce_s256 = true).await;
    for client in ["web", "native", "own"] {
        for way in ways {
            let error = error(&oauth, client, way).await;
            assert_eq!(
                error.as_deref(),
                Some("invalid_request"),
                "{client} {way:?}"
            );
        }
        assert_eq!(error(&oauth, client, &[]).await, None);
    }
    let metadata = oauth.identity.api.get("/.well-known/openid-configuration");
    let metadata = metadata.send().await.expect(200).json();
    assert_eq!(
        metadata["code_challenge_methods_supported"],
        json!(["S256"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_challenge_method_that_a_client_uses_is_recorded_and_shown() {
    let oauth = OAuth::start().await;
    oauth.identity.sql("UPDATE users SET role = 'SUPERADMIN'");
    let plain = [
        ("code_challenge", Some(VERIFIER)),
        ("code_challenge_method", Some("plain")),
    ];
    let none = [("code_challenge", None), ("code_challenge_method", None)];
    let mut browser = oauth.browser().await;
    for (changes, seen, said) in [
        (None, json!(null), "No code requested yet"),
        (Some(&none[..]), json!("none"), "No challenge sent"),
        (Some(&plain), json!("plain"), "Uses plain"),
        (Some(&[]), json!("S256"), "Uses S256"),
    ] {
        if let Some(changes) = changes {
            assert_eq!(error(&oauth, "web", changes).await, None);
        }
        let call = oauth.identity.api.get("/api/admin/oauth-clients/web");
        let shown = call.bearer(&oauth.ada.access).send().await.expect(200);
        assert_eq!(shown.json()["client"]["pkce_seen"], seen);
        let page = browser.get("/admin/clients/web").await;
        assert!(page.html.contains(said), "{}", page.html);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_native_client_is_redirected_to_any_loopback_port() {
    let oauth = OAuth::start().await;
    let here = "http://127.0.0.1:51789/cb";
    let path = OAuth::request("native", &[("redirect_uri", Some(here))]);
    let reply = oauth.authorize(&path, &oauth.ada.access).await.expect(302);
    let code = answer(reply.header("location"))["code"].clone();
    assert!(
        reply
            .header("location")
            .starts_with(&format!("{here}?code="))
    );
    let form = |to: &'static str| {
        [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", to),
            ("code_verifier", VERIFIER),
        ]
    };
    let other_port = oauth
        .token(("native", None), &form("http://127.0.0.1:51790/cb"))
        .await;
    refused(other_port, 400, "invalid_grant");
    oauth.token(("native", None), &form(here)).await.expect(200);
}
