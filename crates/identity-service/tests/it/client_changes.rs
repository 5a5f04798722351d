//! Changes to registered OAuth clients.

use reqwest::Method;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::admin_api::superadmin;
use crate::admin_cli::run;
use crate::browser::Browser;
use crate::oauth_fixture::{OAuth, brought};
use crate::pages::every_page::is_a_good_page;
use crate::provider_fixture::Provider;
use crate::support::{Identity, SignedIn, refused};

async fn patch(identity: &Identity, admin: &SignedIn, id: &str, body: Value) -> ApiResponse {
    let path = format!("/api/admin/oauth-clients/{id}");
    let call = identity.api.call(Method::PATCH, &path);
    call.bearer(&admin.access).json(body).send().await
}

/// Changes a client, and returns it.
async fn change(provider: &Provider, id: &str, body: Value) -> Value {
    let reply = patch(&provider.identity, &provider.admin, id, body).await;
    reply.expect(200).json()["client"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_sets_what_it_names_null_sets_the_default_and_the_rest_stays() {
    let provider = Provider::start().await;
    let made = json!({
        "name": "App",
        "redirect_uris": ["https://app.example.com/cb"],
        "scope": "openid teams",
        "id_token_signed_response_alg": "ES256",
        "requires_pkce_s256": true,
        "client_uri": "https://app.example.com/",
        "tos_uri": "https://app.example.com/terms",
    });
    let made = provider.try_register(made).await.expect(201).json();
    let mut client = made["client"].clone();
    let id = made["client_id"].as_str().unwrap();
    provider.identity.hand.advance(chrono::Duration::hours(1));
    // What has the same value or is unknown changes nothing, not even the time of the last change.
    for same in [
        json!({}),
        json!({ "name": "App", "is_public": false, "nonsense": 1 }),
        made["client"].clone(),
        json!({ "client_id": "other", "client_secret": "x", "is_configured": true, "created_at": null }),
    ] {
        assert_eq!(change(&provider, id, same).await, client);
    }
    let changes = [
        (
            json!({ "name": " New name " }),
            json!({ "name": "New name" }),
        ),
        (
            json!({ "tos_uri": null, "logo_uri": "https://cdn.example.com/logo.svg" }),
            json!({ "tos_uri": null, "logo_uri": "https://cdn.example.com/logo.svg" }),
        ),
        (
            json!({ "redirect_uris": ["https://new.example.com/cb", "com.example.app:/cb"] }),
            json!({ "redirect_uris": ["https://new.example.com/cb", "com.example.app:/cb"] }),
        ),
        (
            json!({ "id_token_signed_response_alg": null, "scope": "openid email" }),
            json!({ "id_token_signed_response_alg": "RS256", "scope": "openid email" }),
        ),
        (
            json!({ "grant_types": ["device_code"], "response_types": ["id_token"] }),
            json!({
                "grant_types": ["urn:ietf:params:oauth:grant-type:device_code"],
                "response_types": ["id_token"],
            }),
        ),
        (
            json!({
                "post_logout_redirect_uris": ["https://app.example.com/bye"],
                "backchannel_logout_uri": "https://app.example.com/out",
                "policy_uri": "https://app.example.com/privacy",
                "groups_claim": "slug:role",
                "requires_pkce_s256": false,
            }),
            json!({
                "post_logout_redirect_uris": ["https://app.example.com/bye"],
                "backchannel_logout_uri": "https://app.example.com/out",
                "policy_uri": "https://app.example.com/privacy",
                "groups_claim": "slug:role",
                "requires_pkce_s256": false,
            }),
        ),
        (
            json!({ "scope": null, "redirect_uris": null, "grant_types": null, "response_types": null }),
            json!({
                "scope": "openid profile email",
                "redirect_uris": [],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
            }),
        ),
    ];
    for (changes, changed) in &changes {
        client["updated_at"] = json!("2026-11-21T13:00:00Z");
        for (name, value) in changed.as_object().unwrap() {
            client[name] = value.clone();
        }
        assert_eq!(change(&provider, id, changes.clone()).await, client);
    }
    let shown = provider.administer(Method::GET, &format!("/{id}")).await;
    assert_eq!(shown.expect(200).json()["client"], client);
    let audited = format!(
        "SELECT count(*) AS n FROM audit_log WHERE action = 'client.changed' AND actor_id = {} AND details LIKE '%{id}%'",
        provider.admin.id
    );
    assert_eq!(provider.identity.count(&audited), 7);
    let named = "SELECT count(*) AS n FROM audit_log WHERE details LIKE '%\"changed\":[\"name\"]%'";
    assert_eq!(provider.identity.count(named), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_of_different_properties_are_all_kept() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let page = |name: &str| json!(format!("https://app.example.com/{name}"));
    let names = ["client_uri", "logo_uri", "policy_uri", "tos_uri"];
    for round in 0..5 {
        let all = names.map(|name| {
            let body = json!({ name: page(&format!("{name}/{round}")) });
            patch(&provider.identity, &provider.admin, &client.id, body)
        });
        for reply in futures_util::future::join_all(all).await {
            reply.expect(200);
        }
        let shown = change(&provider, &client.id, json!({})).await;
        for name in names {
            assert_eq!(shown[name], page(&format!("{name}/{round}")));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_breaks_a_rule_is_refused_and_changes_nothing() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let before = change(&provider, &client.id, json!({})).await;
    let many = |count: usize| vec!["https://app.example.com/cb"; count];
    let long = format!("https://app.example.com/{}", "x".repeat(2_048));
    for (body, named) in [
        (json!({ "name": null }), "name"),
        (json!({ "name": "" }), "Name must"),
        (json!({ "name": "x".repeat(101) }), "Name must"),
        (json!({ "name": ["App"] }), "The changes are invalid"),
        (json!({ "name": "Ok", "scope": "everything" }), "scope"),
        (json!({ "scope": "openid account" }), "account"),
        (json!({ "scope": ["openid"] }), "The changes are invalid"),
        (json!({ "is_first_party": true }), "is_first_party cannot"),
        (
            json!({ "is_first_party": true, "scope": "account" }),
            "is_first_party cannot",
        ),
        (json!({ "is_public": true }), "is_public cannot"),
        (json!({ "is_public": null }), "is_public cannot"),
        (
            json!({ "may_introspect_any": true }),
            "may_introspect_any cannot",
        ),
        (
            json!({ "redirect_uris": ["https://app.example.com/cb#x"] }),
            "fragment",
        ),
        (
            json!({ "redirect_uris": ["https://app.example.com@evil.example/"] }),
            "user name",
        ),
        (
            json!({ "redirect_uris": ["https://*.example.com/"] }),
            "without *",
        ),
        (
            json!({ "redirect_uris": ["https://app.example.com\\@evil.example/"] }),
            "backslash",
        ),
        (
            json!({ "redirect_uris": ["javascript:alert(1)"] }),
            "https://",
        ),
        (json!({ "redirect_uris": [long] }), "2,048"),
        (json!({ "redirect_uris": many(21) }), "20"),
        (
            json!({ "redirect_uris": "https://app.example.com/cb" }),
            "The changes are invalid",
        ),
        (json!({ "post_logout_redirect_uris": many(21) }), "20"),
        (
            json!({ "post_logout_redirect_uris": ["//evil.example"] }),
            "absolute",
        ),
        (
            json!({ "backchannel_logout_uri": "http://10.0.0.1/" }),
            "backchannel_logout_uri",
        ),
        (
            json!({ "logo_uri": "data:image/svg+xml,<svg onload=alert(1)>" }),
            "logo_uri",
        ),
        (json!({ "client_uri": "javascript:alert(1)" }), "client_uri"),
        (json!({ "id_token_signed_response_alg": "none" }), "ES256"),
        (json!({ "grant_types": ["password"] }), "grant type"),
        (
            json!({ "response_types": ["token"] }),
            "The changes are invalid",
        ),
        (
            json!({ "groups_claim": "admin" }),
            "The changes are invalid",
        ),
        (json!([{ "name": "Ok" }]), "JSON object"),
    ] {
        let reply = patch(
            &provider.identity,
            &provider.admin,
            &client.id,
            body.clone(),
        )
        .await;
        let text = reply.text();
        refused(reply, 400, "validation_failed");
        assert!(text.contains(named), "{body}: {text}");
    }
    let large = json!({ "name": "x".repeat(5_000_000) });
    let reply = patch(&provider.identity, &provider.admin, &client.id, large).await;
    refused(reply, 413, "payload_too_large");
    for id in ["unknown", "%00", "a/b"] {
        let body = json!({ "name": "Ok" });
        let reply = patch(&provider.identity, &provider.admin, id, body).await;
        refused(reply, 404, "not_found");
    }
    assert_eq!(change(&provider, &client.id, json!({})).await, before);
    provider.introspect(&client, "x").await;
}

/// What the browser finds at an authorization request: the consent page, or the client with a code.
async fn is_asked(browser: &mut Browser, scope: &str) -> bool {
    let page = browser
        .get(&OAuth::request("web", &[("scope", Some(scope))]))
        .await;
    let asked = page.leads_to.is_none();
    if !asked {
        assert!(brought(&page).contains_key("code"));
    }
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn only_wider_access_asks_again_and_lost_access_ends_at_once_without_the_session() {
    let oauth = OAuth::start().await;
    let admin = superadmin(&oauth.identity, "root").await;
    let change = async |body: Value| {
        let reply = patch(&oauth.identity, &admin, "web", body).await;
        reply.expect(200);
    };
    let teams = async |token: &str| {
        let call = oauth.identity.api.get("/api/user/teams");
        call.bearer(token).send().await
    };
    let tokens = oauth.tokens("web", "openid profile teams").await;
    let (access, refresh) = (&tokens["access_token"], &tokens["refresh_token"]);
    let access = access.as_str().unwrap();
    teams(access).await.expect(200);
    let mut browser = oauth.browser().await;
    for body in [
        json!({ "name": "Other name", "client_uri": "https://app.example.com/" }),
        json!({ "redirect_uris": ["https://new.example.com/", crate::oauth_fixture::CALLBACK] }),
        json!({ "id_token_signed_response_alg": "RS256" }),
        json!({ "scope": "openid profile email teams sessions:read" }),
        json!({ "scope": "openid profile" }),
    ] {
        change(body.clone()).await;
        assert!(
            !is_asked(&mut browser, "openid profile teams").await,
            "{body}"
        );
        oauth.identity.validate(access).await.expect(200);
    }
    // The session goes on, without the scope that the client lost.
    refused(teams(access).await, 403, "insufficient_scope");
    let told = oauth.identity.validate(access).await.expect(200).json();
    assert_eq!(told["scope"], "openid profile");
    let basic = ("web", Some(crate::oauth_fixture::SECRET));
    let told = oauth
        .post("/api/oauth/introspect", basic, &[("token", access)])
        .await;
    assert_eq!(told.expect(200).json()["scope"], "openid profile");
    let refreshed = oauth.refresh("web", refresh.as_str().unwrap(), None).await;
    let refreshed = refreshed.expect(200).json();
    assert_eq!(refreshed["scope"], "openid profile");

    change(json!({ "scope": "openid profile teams sessions:read" })).await;
    assert!(!is_asked(&mut browser, "openid profile teams").await);
    teams(access).await.expect(200);
    assert!(is_asked(&mut browser, "openid profile sessions:read").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_uri_that_was_removed_gets_no_code() {
    let oauth = OAuth::start().await;
    let admin = superadmin(&oauth.identity, "root").await;
    let body = json!({ "redirect_uris": ["https://new.example.com/cb"] });
    patch(&oauth.identity, &admin, "web", body)
        .await
        .expect(200);
    let request = OAuth::request("web", &[]);
    let reply = oauth.authorize(&request, &oauth.ada.access).await;
    refused(reply, 400, "invalid_request");
    let new = [("redirect_uri", Some("https://new.example.com/cb"))];
    let request = OAuth::request("web", &new);
    let reply = oauth
        .authorize(&request, &oauth.ada.access)
        .await
        .expect(302);
    let location = reply.header("location");
    assert!(
        location.starts_with("https://new.example.com/cb?code="),
        "{location}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_changed_from_the_command_line() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let db = &provider.identity.db;
    let update = |args: &[&str]| {
        run(
            db,
            &[&["clients", "update", &client.id], args].concat(),
            "",
            &[],
        )
    };
    let args = [
        "--name",
        "Renamed",
        "--scope",
        "openid",
        "teams",
        "--client-uri",
        "https://app.example.com/",
    ];
    let lists = [
        "--redirect-uri",
        "https://app.example.com/cb",
        "--response-type",
        "code",
        "id_token",
        "--require-pkce-s256",
        "true",
        "--json",
    ];
    let said = update(&[&args[..], &lists].concat()).good();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["client"]["name"], "Renamed");
    assert_eq!(said["client"]["scope"], "openid teams");
    assert_eq!(said["client"]["client_uri"], "https://app.example.com/");
    assert_eq!(
        said["client"]["redirect_uris"],
        json!(["https://app.example.com/cb"])
    );
    assert_eq!(
        said["client"]["response_types"],
        json!(["code", "id_token"])
    );
    assert_eq!(said["client"]["requires_pkce_s256"], true);
    let said = update(&["--client-uri", "", "--redirect-uri", "", "--json"]).good();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["client"]["client_uri"], Value::Null);
    assert_eq!(said["client"]["redirect_uris"], json!([]));
    assert_eq!(said["client"]["name"], "Renamed");
    let logo = "https://app.example.com/logo.png";
    let shown = update(&["--name", "Shown", "--logo-uri", logo]).good();
    for line in [
        "name             Shown",
        &format!("logo             {logo}"),
        "response types   code id_token",
        "groups claim     slug",
        "terms            -",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    for args in [
        &["--scope", "account"][..],
        &["--response-type", "token"],
        &["--tos-uri", "x"],
    ] {
        assert_eq!(update(args).code, 2, "{args:?}");
    }
    let error = run(db, &["clients", "update", "x", "--name", "App"], "", &[]).refused(1);
    assert!(error.contains("clients list"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_edit_page_changes_a_client_and_keeps_what_others_changed_meanwhile() {
    let provider = Provider::start().await;
    let mut browser = Browser::signed_in(&provider.identity, "root").await;
    let made = json!({
        "name": "App \"one\"", "scope": "openid teams", "is_public": true, "groups_claim": null,
        "redirect_uris": ["https://app.example.com/cb", "com.example.app:/cb"],
    });
    let id = provider.register(made).await.id;
    let path = format!("/admin/clients/{id}/edit");
    let shown = browser.get(&format!("/admin/clients/{id}")).await;
    assert!(shown.links().contains(&path));
    let page = browser.get(&path).await.expect(200);
    is_a_good_page(&page);
    let form = page.form(&path);
    assert_eq!(form.value("name"), Some("App \"one\""));
    assert_eq!(
        form.value("redirect_uris"),
        Some("https://app.example.com/cb\ncom.example.app:/cb")
    );
    assert_eq!(form.value("is_public"), None);

    // Saving without a change changes nothing.
    let before = change(&provider, &id, json!({})).await;
    browser
        .submit(form.clone())
        .await
        .expect(200)
        .says("Client saved.");
    assert_eq!(change(&provider, &id, json!({})).await, before);

    change(
        &provider,
        &id,
        json!({ "tos_uri": "https://app.example.com/terms" }),
    )
    .await;
    let bad = form.clone().set("logo_uri", "http://app.example.com/logo");
    let page = browser.submit(bad).await.expect(400);
    is_a_good_page(&page);
    let form = page.form(&path).set("name", "Renamed").set("logo_uri", "");
    let form = form
        .set("redirect_uris", "https://app.example.com/cb\r\n\r\n")
        .set("post_logout_redirect_uris", "https://app.example.com/bye")
        .set("backchannel_logout_uri", "https://app.example.com/out")
        .set("groups_claim", "slug:role");
    browser
        .submit(form)
        .await
        .expect(200)
        .says("https://app.example.com/bye");
    let after = change(&provider, &id, json!({})).await;
    for (name, value) in [
        ("name", json!("Renamed")),
        ("redirect_uris", json!(["https://app.example.com/cb"])),
        (
            "post_logout_redirect_uris",
            json!(["https://app.example.com/bye"]),
        ),
        ("groups_claim", json!("slug:role")),
        ("tos_uri", json!("https://app.example.com/terms")),
        ("scope", json!("openid teams")),
        ("is_public", json!(true)),
    ] {
        assert_eq!(after[name], value, "{name}");
    }
    let forged = browser.get(&path).await.form(&path);
    let forged = forged
        .forged("is_first_party", "yes")
        .forged("before", "{}");
    browser.submit(forged).await;
    let after = change(&provider, &id, json!({})).await;
    assert_eq!(after["is_first_party"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_consent_page_shows_the_logo_and_links_to_the_clients_pages() {
    let oauth = OAuth::start().await;
    let admin = superadmin(&oauth.identity, "root").await;
    let mut browser = oauth.browser().await;
    let request = OAuth::request("web", &[]);
    let page = browser.get(&request).await.expect(200);
    assert!(!page.html.contains("<img") && !page.text().contains("Privacy policy"));
    let body = json!({
        "client_uri": "https://app.example.com/?a=1&b='x",
        "logo_uri": "https://cdn.example.com/logo;script-src%20*,x.svg?v=1",
        "policy_uri": "https://app.example.com/privacy",
        "tos_uri": "https://app.example.com/terms",
    });
    patch(&oauth.identity, &admin, "web", body)
        .await
        .expect(200);
    let page = browser.get(&request).await.expect(200);
    for link in [
        "https://app.example.com/?a=1&b='x",
        "https://app.example.com/privacy",
        "https://app.example.com/terms",
    ] {
        assert!(
            page.links().iter().any(|it| it == link),
            "{link}: {}",
            page.html
        );
    }
    let policy = page.reply.header("content-security-policy");
    let source = "img-src https://cdn.example.com/logo%3Bscript-src%20*%2Cx.svg 'self' data:;";
    assert!(policy.contains(source), "{policy}");
    assert_eq!(policy.matches("script-src").count(), 1);
}
