use test_kit::ApiResponse;
use url::Url;

use crate::oauth_fixture::claims;
use crate::support::{Identity, SignedIn, refused, signed_in};

const SITE: &str = "https://app.example.com";

async fn with_site() -> Identity {
    Identity::start_with(|config| {
        config.sso.allowed_origins.0 = vec![SITE.to_owned(), "https://*.mini.example".to_owned()];
    })
    .await
}

fn encoded(query: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish()
}

async fn authorize(
    identity: &Identity,
    token: Option<&str>,
    query: &[(&str, &str)],
) -> ApiResponse {
    let call = identity
        .api
        .get(&format!("/api/auth/sso/authorize?{}", encoded(query)));
    match token {
        Some(token) => call.bearer(token).send().await,
        None => call.header("accept", "text/html").send().await,
    }
}

/// Returns the address that a response redirects to.
fn location(reply: &ApiResponse) -> Url {
    reply.header("location").parse().unwrap()
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut found = url.query_pairs().filter(|(key, _)| key == name);
    let value = found.next().map(|(_, value)| value.into_owned());
    assert!(found.next().is_none(), "{name} twice in {url}");
    value
}

async fn handed_over(identity: &Identity, ada: &SignedIn) -> String {
    let reply = authorize(identity, Some(&ada.access), &[("redirect_uri", SITE)])
        .await
        .expect(302);
    parameter(&location(&reply), "token").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sso_redirects_with_the_parameters_of_the_contract() {
    let identity = with_site().await;
    let ada = identity.register("ada").await;
    let target = format!("{SITE}/in?tab=2&token=theirs&user_id=9#part");
    let query = [("redirect_uri", target.as_str()), ("service", "Timer")];
    let reply = authorize(&identity, Some(&ada.access), &query)
        .await
        .expect(302);
    assert_eq!(reply.header("referrer-policy"), "no-referrer");
    assert_eq!(reply.header("cache-control"), "no-store");

    let there = location(&reply);
    assert_eq!(there.origin().ascii_serialization(), SITE);
    assert_eq!((there.path(), there.fragment()), ("/in", None));
    assert_eq!(parameter(&there, "tab").as_deref(), Some("2"));
    let token = parameter(&there, "token").unwrap();
    assert_eq!(parameter(&there, "access_token").as_ref(), Some(&token));
    assert_eq!(parameter(&there, "user_id"), Some(ada.id.to_string()));
    assert_eq!(parameter(&there, "username").as_deref(), Some("ada"));
    assert_eq!(parameter(&there, "profile_photo_url"), None);
    assert_eq!(parameter(&there, "has_profile_photo"), None);
    let validated = identity.validate(&token).await.expect(200).json();
    assert_eq!(validated["origin"], "sso");
    let own = identity.validate(&ada.access).await.expect(200).json();
    assert_eq!(own.get("origin"), None);

    let photo = test_kit::images::png(8, 8);
    identity
        .api
        .put(&format!("/api/auth/user/{}/profile-photo", ada.id))
        .bearer(&ada.access)
        .body("image/png", photo)
        .send()
        .await
        .expect(200);
    let reply = authorize(&identity, Some(&ada.access), &[("redirect_uri", SITE)]).await;
    let there = location(&reply.expect(302));
    assert_eq!(
        parameter(&there, "has_profile_photo").as_deref(),
        Some("true")
    );
    assert!(
        parameter(&there, "profile_photo_url")
            .unwrap()
            .contains("/profile-photo/file?v=")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_sso_redirect_opens_its_own_session_which_global_logout_ends() {
    let identity = with_site().await;
    let ada = identity.register("ada").await;
    let (first, second) = (
        handed_over(&identity, &ada).await,
        handed_over(&identity, &ada).await,
    );
    assert_eq!(
        identity.count(
            "SELECT COUNT(*) AS n FROM sessions WHERE kind = 'sso' AND service = 'app.example.com'"
        ),
        2
    );
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&first)
        .send()
        .await
        .expect(200);
    refused(identity.validate(&first).await, 401, "token_revoked");
    identity.validate(&second).await.expect(200);
    identity
        .api
        .get(&format!(
            "/api/auth/global-logout?{}",
            encoded(&[("redirect_uri", SITE)])
        ))
        .bearer(&second)
        .send()
        .await
        .expect(302);
    for token in [&second, &ada.access] {
        refused(identity.validate(token).await, 401, "token_revoked");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sso_token_can_read_and_edit_the_profile_but_reaches_nothing_sensitive() {
    let identity = with_site().await;
    let ada = identity.register("ada").await;
    let token = handed_over(&identity, &ada).await;
    let user = format!("/api/auth/user/{}", ada.id);
    for path in [
        "/api/auth/me",
        "/api/user/teams",
        "/api/auth/validate?include=teams",
        user.as_str(),
    ] {
        identity
            .api
            .get(path)
            .bearer(&token)
            .send()
            .await
            .expect(200);
    }
    let changed = serde_json::json!({ "bio": "from a mini-app" });
    identity
        .api
        .put(&user)
        .bearer(&token)
        .json(changed)
        .send()
        .await
        .expect(200);

    let empty = || serde_json::json!({});
    let get = |path: &str| identity.api.get(path).bearer(&token);
    let post = |path: &str| identity.api.post(path).bearer(&token).json(empty());
    let again = format!(
        "/api/auth/sso/authorize?{}",
        encoded(&[("redirect_uri", SITE)])
    );
    for call in [
        get("/api/auth/export"),
        get("/api/auth/sessions"),
        get("/api/auth/totp"),
        get("/api/admin/users"),
        get("/api/admin/audit"),
        get(&again),
        post("/api/auth/password/change"),
        post("/api/auth/email/change"),
        post("/api/auth/totp/setup"),
        identity.api.delete("/api/auth/sessions").bearer(&token),
        identity.api.delete(&user).bearer(&token).json(empty()),
    ] {
        refused(call.send().await, 403, "insufficient_scope");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_derived_token_pair_has_its_own_session_and_the_limits_of_its_parent() {
    let identity = with_site().await;
    let ada = identity.register("ada").await;
    let handed = handed_over(&identity, &ada).await;
    for (token, export) in [(&ada.access, 200), (&handed, 403)] {
        let pair = identity
            .api
            .post("/api/auth/sso/token")
            .bearer(token)
            .send()
            .await
            .expect(200)
            .json();
        assert_eq!(pair["expires_in"], 2_592_000);
        let own = signed_in(&pair);
        // Its refresh token works as usual, and a refresh keeps the limits of the session.
        let refreshed = signed_in(&identity.refresh(&own.refresh).await.expect(200).json());
        for access in [&own.access, &refreshed.access] {
            identity
                .api
                .get("/api/auth/export")
                .bearer(access)
                .send()
                .await
                .expect(export);
        }
        identity
            .api
            .post("/api/auth/logout")
            .bearer(&own.access)
            .send()
            .await
            .expect(200);
        identity.validate(token).await.expect(200);
    }
    assert_eq!(
        identity.count("SELECT COUNT(*) AS n FROM sessions WHERE service = 'app.example.com'"),
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_derived_session_keeps_the_age_of_the_sign_in() {
    let identity = with_site().await;
    let root = identity.register("root").await;
    identity.sql("UPDATE users SET role = 'SUPERADMIN' WHERE username = 'root'");
    identity.hand.advance(chrono::TimeDelta::hours(13));
    let pair = identity
        .api
        .post("/api/auth/sso/token")
        .bearer(&root.access)
        .send()
        .await
        .expect(200)
        .json();
    let reply = identity
        .api
        .get("/api/admin/users")
        .bearer(&signed_in(&pair).access)
        .send()
        .await;
    refused(reply, 403, "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn sso_without_a_session_redirects_to_sign_in_or_answers_401() {
    let identity = with_site().await;
    let query = [("redirect_uri", SITE), ("service", "Timer")];
    let reply = authorize(&identity, None, &query).await.expect(302);
    let page = Url::parse("https://id.example/")
        .unwrap()
        .join(reply.header("location"))
        .unwrap();
    assert_eq!(
        (page.path(), page.host_str()),
        ("/login", Some("id.example"))
    );
    let back = parameter(&page, "return_to").unwrap();
    assert_eq!(back, format!("/api/auth/sso/authorize?{}", encoded(&query)));

    let path = format!("/api/auth/sso/authorize?{}", encoded(&query));
    for (accept, status) in [
        ("application/json", 401),
        ("application/json, text/plain, */*", 401),
        ("text/html,application/json;q=0.9", 302),
        ("application/json, text/html;q=0.9", 302),
        ("application/json, text/html", 302),
        ("*/*", 302),
    ] {
        identity
            .api
            .get(&path)
            .header("accept", accept)
            .send()
            .await
            .expect(status);
    }
    let reply = identity.api.get(&path).bearer("nonsense").send().await;
    refused(reply, 401, "invalid_token");
    // Errors are JSON, too.
    for accept in ["application/json", "*/*"] {
        let bad = "/api/auth/sso/authorize?redirect_uri=https://evil.example/";
        let reply = identity.api.get(bad).header("accept", accept).send().await;
        refused(reply, 400, "redirect_not_allowed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unlisted_redirect_uri_is_refused_and_opens_no_session() {
    let identity = with_site().await;
    let ada = identity.register("ada").await;
    for bad in [
        "",
        "https://evil.example",
        "https://app.example.com.evil.example",
        "https://app.example.com@evil.example",
        "https://evil.example\\@app.example.com",
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://mini.example",
        "https://a.b.mini.example",
        "//app.example.com",
        "javascript:alert(1)//app.example.com",
        "https://app.example.com\u{0}.evil.example",
        "https://app.example.com%2f.evil.example",
        "https://ａpp.example.com.evil.example",
    ] {
        for token in [Some(ada.access.as_str()), None] {
            let call = identity.api.get(&format!(
                "/api/auth/sso/authorize?{}",
                encoded(&[("redirect_uri", bad)])
            ));
            let call = match token {
                Some(token) => call.bearer(token),
                None => call,
            };
            let reply = refused(call.send().await, 400, "redirect_not_allowed");
            assert_eq!(reply.header("location"), "", "{bad}");
        }
    }
    let twice = [("redirect_uri", SITE), ("redirect_uri", SITE)];
    let reply = authorize(&identity, Some(&ada.access), &twice).await;
    refused(reply, 400, "redirect_not_allowed");
    let service = "x".repeat(65);
    let query = [("redirect_uri", SITE), ("service", service.as_str())];
    refused(
        authorize(&identity, Some(&ada.access), &query).await,
        400,
        "validation_failed",
    );
    assert_eq!(identity.count("SELECT COUNT(*) AS n FROM sessions"), 1);

    // A browser gets an error page.
    let page = authorize(&identity, None, &[("redirect_uri", "https://evil.example")])
        .await
        .expect(400);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(!page.text().contains("evil.example"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_callback_accepts_only_a_valid_token_with_its_owners_id_and_name() {
    let identity = with_site().await;
    let (ada, bob) = (
        identity.register("ada").await,
        identity.register("bob").await,
    );
    let token = handed_over(&identity, &ada).await;
    let (id, bobs) = (ada.id.to_string(), bob.id.to_string());
    let callback = async |query: &[(&str, &str)]| {
        identity
            .api
            .get(&format!("/api/auth/sso/callback?{}", encoded(query)))
            .send()
            .await
    };
    let own = [
        ("token", token.as_str()),
        ("access_token", &token),
        ("user_id", &id),
        ("username", "ada"),
    ];
    let body = callback(&own).await.expect(200).json();
    assert_eq!(
        body,
        serde_json::json!({ "success": true, "token": token, "user_id": ada.id, "username": "ada" })
    );
    callback(
        &own[..1]
            .iter()
            .chain(&own[2..])
            .copied()
            .collect::<Vec<_>>(),
    )
    .await
    .expect(200);
    for bad in [
        vec![],
        own[..2].to_vec(),
        own[2..].to_vec(),
        vec![own[0], own[2]],
        vec![own[0], own[3]],
        vec![own[0], ("user_id", bobs.as_str()), own[3]],
        vec![own[0], own[2], ("username", "bob")],
        vec![own[0], ("user_id", "0"), own[3]],
        vec![
            own[0],
            ("access_token", bob.access.as_str()),
            own[2],
            own[3],
        ],
        vec![("token", "nonsense"), own[2], own[3]],
        vec![("token", ada.refresh.as_str()), own[2], own[3]],
    ] {
        refused(callback(&bad).await, 401, "invalid_token");
    }
    let twice = [own[0], own[0], own[2], own[3]];
    refused(callback(&twice).await, 400, "validation_failed");
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&token)
        .send()
        .await
        .expect(200);
    refused(callback(&own).await, 401, "token_revoked");
    // The callback accepts a first-party token, too. It accepts none of an OAuth client.
    let own = [("token", ada.access.as_str()), own[2], own[3]];
    callback(&own).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sso_session_survives_a_concurrent_global_logout() {
    for _ in 0..5 {
        let identity = with_site().await;
        let ada = identity.register("ada").await;
        let over = async || {
            for _ in 0..6 {
                authorize(&identity, Some(&ada.access), &[("redirect_uri", SITE)]).await;
            }
        };
        let out = async || {
            let path = format!(
                "/api/auth/global-logout?{}",
                encoded(&[("redirect_uri", SITE)])
            );
            identity
                .api
                .get(&path)
                .bearer(&ada.access)
                .send()
                .await
                .expect(302);
        };
        tokio::join!(over(), over(), over(), out());
        assert_eq!(
            identity.count("SELECT COUNT(*) AS n FROM sessions WHERE revoked_at IS NULL"),
            0
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_derived_sessions_ends_a_year_after_the_sign_in() {
    let identity = with_site().await;
    let ada = identity.register("ada").await;
    let mut last = ada;
    for _ in 0..5 {
        identity.hand.advance(chrono::TimeDelta::days(80));
        let refreshed = identity.refresh(&last.refresh).await;
        if refreshed.status != 200 {
            refused(refreshed, 401, "invalid_refresh_token");
            return;
        }
        let access = signed_in(&refreshed.json()).access;
        let call = identity.api.post("/api/auth/sso/token").bearer(&access);
        last = signed_in(&call.send().await.expect(200).json());
    }
    panic!("it lived for 400 days");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sso_token_names_its_site_and_the_callback_checks_it() {
    let identity = with_site().await;
    let ada = identity.register("ada").await;
    let token = handed_over(&identity, &ada).await;
    assert_eq!(claims(&token)["sso_origin"], SITE);
    let validated = identity.validate(&token).await.expect(200).json();
    assert_eq!(validated["sso_origin"], SITE);
    let pair = identity.api.post("/api/auth/sso/token").bearer(&token);
    let pair = signed_in(&pair.send().await.expect(200).json());
    let refreshed = identity.refresh(&pair.refresh).await.expect(200).json();
    let refreshed = signed_in(&refreshed).access;
    let query = [("redirect_uri", "https://a.mini.example:443/x")];
    let there = authorize(&identity, Some(&ada.access), &query).await;
    let mini = parameter(&location(&there.expect(302)), "token").unwrap();
    assert_eq!(claims(&mini)["sso_origin"], "https://a.mini.example");

    let id = ada.id.to_string();
    for (rule, token, named, status) in [
        ("nothing is named", &token, None, 200),
        (
            "an address of the site",
            &token,
            Some(("redirect_uri", "https://APP.example.com:443/in?x")),
            200,
        ),
        ("its origin", &token, Some(("origin", SITE)), 200),
        ("a second pair", &pair.access, Some(("origin", SITE)), 200),
        ("a refreshed one", &refreshed, Some(("origin", SITE)), 200),
        ("another site's", &mini, Some(("origin", SITE)), 401),
        (
            "to another site",
            &token,
            Some(("redirect_uri", "https://a.mini.example/x")),
            401,
        ),
        (
            "another scheme",
            &token,
            Some(("origin", "http://app.example.com")),
            401,
        ),
        (
            "another port",
            &token,
            Some(("origin", "https://app.example.com:8443")),
            401,
        ),
        (
            "no address",
            &token,
            Some(("origin", "app.example.com")),
            401,
        ),
        ("an empty one", &token, Some(("origin", "")), 401),
        ("an opaque one", &token, Some(("origin", "null")), 401),
        (
            "no hand-over at all",
            &ada.access,
            Some(("origin", SITE)),
            401,
        ),
        ("no hand-over, nothing named", &ada.access, None, 200),
    ] {
        let mut query = vec![
            ("token", token.as_str()),
            ("user_id", &id),
            ("username", "ada"),
        ];
        query.extend(named);
        let path = format!("/api/auth/sso/callback?{}", encoded(&query));
        let reply = identity.api.get(&path).send().await;
        assert_eq!(reply.status, status, "{rule}: {}", reply.text());
    }
    let both = [
        ("token", token.as_str()),
        ("user_id", &id),
        ("username", "ada"),
        ("origin", SITE),
        ("redirect_uri", "https://a.mini.example/x"),
    ];
    let path = format!("/api/auth/sso/callback?{}", encoded(&both));
    refused(identity.api.get(&path).send().await, 401, "invalid_token");
}
