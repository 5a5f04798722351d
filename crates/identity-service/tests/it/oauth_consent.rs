use std::time::Duration as StdDuration;

use chrono::Duration;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::browser::{Browser, Page};
use crate::oauth_fixture::{CALLBACK, OAuth, SECRET, answer as answered, brought};
use crate::pages::every_page::is_a_good_page;
use crate::support::{SignedIn, refused, signed_in};

/// Opens the authorization endpoint, and answers the consent page.
async fn answer(browser: &mut Browser, path: &str, decision: &str) -> Page {
    let form = browser.get(path).await.expect(200).form("/consent");
    browser.submit(form.set("decision", decision)).await
}

async fn applications(oauth: &OAuth, of: &SignedIn) -> Value {
    let call = oauth.identity.api.get("/api/auth/applications");
    call.bearer(&of.access).send().await.expect(200).json()
}

async fn revoke(oauth: &OAuth, by: &SignedIn, client: &str) -> ApiResponse {
    let path = format!("/api/auth/applications/{client}");
    let call = oauth.identity.api.delete(&path);
    call.bearer(&by.access).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_consent_page_names_client_account_scopes_and_redirect_host() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    let page = browser.get(&OAuth::request("web", &[])).await.expect(200);
    for words in [
        "The web <app>",
        "ada",
        "Sign you in",
        "See your name, username, photo, language and time zone",
        "app.example.com",
    ] {
        assert!(page.text().contains(words), "{words}: {}", page.text());
    }
    assert!(!page.text().contains("e-mail"), "nobody asked for it");
    assert!(!page.html.contains("<app>"), "a name is text");
    is_a_good_page(&page);
    let answer = brought(&answer(&mut browser, &OAuth::request("web", &[]), "allow").await);
    assert_eq!(answer["state"], "s +&/ü");
    assert_eq!(answer["iss"], oauth.identity.running.base_url());
    oauth.redeem("web", &answer["code"]).await.expect(200);
    assert_eq!(oauth.audited("oauth.allowed"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_the_consent_page_redirects_to_the_client_whatever_its_scheme() {
    let oauth = OAuth::start().await;
    for callback in [CALLBACK, "com.example.app:/cb", "com.example.app://cb"] {
        let uris = format!("UPDATE oauth_clients SET redirect_uris = '[\"{callback}\"]'");
        oauth.identity.sql(&uris);
        for decision in ["allow", "deny"] {
            let mut browser = oauth.browser().await;
            let changes = [
                ("redirect_uri", Some(callback)),
                ("prompt", Some("consent")),
            ];
            let page = answer(&mut browser, &OAuth::request("web", &changes), decision).await;
            let page = page.expect(303);
            let address = page.leads_to.as_deref().unwrap();
            assert!(address.starts_with(&format!("{callback}?")), "{address}");
            assert!(page.html.is_empty());
            assert_eq!(page.reply.header("cache-control"), "no-store");
            assert_eq!(page.reply.header("referrer-policy"), "no-referrer");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_consent_redirects_with_access_denied_and_is_not_remembered() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    let path = OAuth::request("web", &[]);
    let denied = brought(&answer(&mut browser, &path, "deny").await);
    assert_eq!(
        (denied["error"].as_str(), denied["state"].as_str()),
        ("access_denied", "s +&/ü")
    );
    assert!(!denied.contains_key("code"));
    assert_eq!(oauth.audited("oauth.denied"), 1);
    // The next request asks again.
    browser.get(&path).await.form("/consent");
}

#[tokio::test(flavor = "multi_thread")]
async fn consent_is_remembered_by_account_client_and_scope() {
    let oauth = OAuth::start().await;
    oauth.identity.register("bob").await;
    let mut browser = oauth.browser().await;
    let path = OAuth::request("web", &[("scope", Some("openid email"))]);
    brought(&answer(&mut browser, &path, "allow").await);
    // The same scopes or fewer need no new consent.
    brought(&browser.fetch(&path).await.expect(302));
    let less = OAuth::request("web", &[("scope", Some("email"))]);
    brought(&browser.fetch(&less).await.expect(302));
    // More scopes, another client, another account and `prompt=consent` do.
    let more = OAuth::request("web", &[("scope", Some("openid email teams"))]);
    let insists = OAuth::request(
        "web",
        &[("scope", Some("email")), ("prompt", Some("consent"))],
    );
    let other = OAuth::request("native", &[]);
    for path in [&more, &insists, &other] {
        browser.fetch(path).await.expect(200).form("/consent");
    }
    let mut bobs = Browser::signed_in(&oauth.identity, "bob").await;
    bobs.fetch(&path).await.expect(200).form("/consent");
    // The earlier consent stays valid beside the new one.
    brought(&answer(&mut browser, &more, "allow").await);
    brought(&browser.fetch(&path).await.expect(302));
}

#[tokio::test(flavor = "multi_thread")]
async fn first_party_clients_need_no_consent_unless_they_ask_for_it() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    brought(&browser.fetch(&OAuth::request("own", &[])).await.expect(302));
    let insists = OAuth::request("own", &[("prompt", Some("consent"))]);
    browser.fetch(&insists).await.expect(200).form("/consent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_any_program_can_imitate_needs_consent_every_time() {
    let oauth = OAuth::start().await;
    let addresses = [
        CALLBACK,
        "http://127.0.0.1:51789/cb",
        "http://[::1]:51789/cb",
        "http://localhost:51789/cb",
        "com.example.app:/cb",
        "https://127.0.0.1:51789/cb",
        "https://localhost/cb",
        "https://app.localhost/cb",
        "https://[::1]/cb",
    ];
    let clients = [
        (None, false),
        (None, true),
        (Some(SECRET), false),
        (Some(SECRET), true),
    ];
    for (n, (secret, is_first_party)) in clients.into_iter().enumerate() {
        oauth.add_client(&format!("app{n}"), secret, is_first_party);
    }
    oauth.identity.sql(&format!(
        "UPDATE oauth_clients SET redirect_uris = '{}'",
        json!(addresses)
    ));
    let mut browser = oauth.browser().await;
    for was_allowed in [false, true] {
        for (n, (secret, is_first_party)) in clients.into_iter().enumerate() {
            let client = format!("app{n}");
            if was_allowed {
                let insists = OAuth::request(&client, &[("prompt", Some("consent"))]);
                brought(&answer(&mut browser, &insists, "allow").await);
            }
            for address in addresses {
                for prompt in [None, Some("none"), Some("consent")] {
                    let changes = [("redirect_uri", Some(address)), ("prompt", prompt)];
                    let page = browser.fetch(&OAuth::request(&client, &changes)).await;
                    let is_sure = secret.is_some() || address == CALLBACK;
                    let is_silent = is_sure && (is_first_party || was_allowed);
                    let case = format!("{client} {address} {prompt:?} {was_allowed}");
                    let asks = prompt == Some("consent") || (prompt.is_none() && !is_silent);
                    assert_eq!(page.reply.status, if asks { 200 } else { 302 }, "{case}");
                    let Some(there) = page.leads_to.as_deref() else {
                        page.form("/consent");
                        continue;
                    };
                    assert!(there.starts_with(address), "{case}: {there}");
                    let error = answered(there).get("error").cloned();
                    let expected = (!is_silent).then(|| "consent_required".to_owned());
                    assert_eq!(error, expected, "{case}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_the_consent_page_is_validated_like_a_new_request() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    let form = browser
        .get(&OAuth::request("web", &[]))
        .await
        .form("/consent");
    let good = form.value("request").unwrap().to_owned();
    let allow = form.clone().set("decision", "allow");
    let codes = || {
        oauth
            .identity
            .count("SELECT count(*) AS n FROM oauth_codes")
    };
    let evil = good.replace("app.example.com", "evil.example");
    assert_ne!(evil, good);
    let page = browser
        .submit(allow.clone().forged("request", &evil))
        .await
        .expect(400);
    assert_eq!(page.leads_to, None);
    let more = good.replace("openid+profile", "sessions%3Awrite");
    assert_ne!(more, good);
    let page = browser.submit(allow.clone().forged("request", &more)).await;
    assert_eq!(brought(&page)["error"], "invalid_scope");
    let page = browser
        .submit(allow.clone().forged("csrf", "x"))
        .await
        .expect(403);
    assert_eq!(page.leads_to, None);
    browser
        .post_from("cross-site", allow.clone())
        .await
        .expect(403);
    browser
        .submit(form.set("decision", "allow").forged("decision", "perhaps"))
        .await
        .expect(400);
    assert_eq!(codes(), 0);
    // A browser without the session cannot send the form.
    let mut signed_out = Browser::new(&oauth.identity);
    signed_out.submit(allow.clone()).await.expect(403);
    brought(&browser.submit(allow).await);
    assert_eq!(codes(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_consent_page_explains_scopes_that_combine() {
    let oauth = OAuth::start().await;
    oauth
        .identity
        .sql("UPDATE oauth_clients SET scope = 'openid teams sessions:read'");
    let mut browser = oauth.browser().await;
    let is_said = |page: &Page| {
        page.text()
            .contains("what others in your teams plan and do")
    };
    for (client, scope, is_said_now) in [
        ("web", "teams", false),
        ("web", "teams sessions:read", true),
        ("native", "sessions:read", false),
        // The client has consent for the other scope already.
        ("native", "teams", true),
        ("native", "openid", false),
    ] {
        let begun = [("scope", scope)];
        let secret = (client == "web").then_some(SECRET);
        let device = oauth.post("/api/oauth/device_authorization", (client, secret), &begun);
        let code = device.await.expect(200).json()["user_code"].clone();
        let form = browser.get("/device").await.expect(200).form("/device");
        let entered = form.set("user_code", code.as_str().unwrap());
        let device_page = browser.submit(entered).await.expect(200);
        let changes = [("scope", Some(scope)), ("prompt", Some("consent"))];
        let request = OAuth::request(client, &changes);
        let page = browser.get(&request).await.expect(200);
        for page in [&device_page, &page] {
            assert_eq!(
                is_said(page),
                is_said_now,
                "{client} {scope} {}",
                page.text()
            );
        }
        let form = page.form("/consent").set("decision", "allow");
        brought(&browser.submit(form).await);
    }
    assert!(is_said(&browser.get("/account/applications").await));
}

#[tokio::test(flavor = "multi_thread")]
async fn applications_are_listed_with_their_scopes_and_sessions() {
    let oauth = OAuth::start().await;
    let bob = oauth.identity.register("bob").await;
    assert_eq!(
        applications(&oauth, &oauth.ada).await,
        json!({ "applications": [], "total": 0 })
    );
    let mut browser = oauth.browser().await;
    brought(&answer(&mut browser, &OAuth::request("web", &[]), "allow").await);
    let own = brought(
        &browser
            .fetch(&OAuth::request("own", &[("scope", Some("teams"))]))
            .await,
    );
    oauth.redeem("own", &own["code"]).await.expect(200);
    let list = applications(&oauth, &oauth.ada).await;
    assert_eq!(list["total"], 2);
    assert_eq!(
        list["applications"],
        json!([
            { "client_id": "own", "name": "The own <app>", "scope": "teams", "connected_at": "2026-11-21T12:00:00Z",
              "last_used_at": "2026-11-21T12:00:00Z", "sessions": 1 },
            { "client_id": "web", "name": "The web <app>", "scope": "openid profile", "connected_at": "2026-11-21T12:00:00Z",
              "last_used_at": null, "sessions": 0 },
        ])
    );
    assert_eq!(applications(&oauth, &bob).await["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_the_access_of_an_application_ends_it_everywhere_at_once() {
    let oauth = OAuth::start().await;
    let bob = oauth.identity.register("bob").await;
    let mut browser = oauth.browser().await;
    let path = OAuth::request("web", &[]);
    let code = brought(&answer(&mut browser, &path, "allow").await)["code"].clone();
    let pair = signed_in(&oauth.redeem("web", &code).await.expect(200).json());
    let other = signed_in(&oauth.tokens("native", "openid").await);
    let on_its_way = brought(&browser.fetch(&path).await)["code"].clone();
    refused(revoke(&oauth, &bob, "web").await, 404, "not_found");
    refused(revoke(&oauth, &oauth.ada, "nobody").await, 404, "not_found");
    let by_client = SignedIn {
        access: pair.access.clone(),
        ..oauth.ada.clone()
    };
    refused(
        revoke(&oauth, &by_client, "native").await,
        403,
        "insufficient_scope",
    );
    oauth.identity.validate(&pair.access).await.expect(200);

    revoke(&oauth, &oauth.ada, "web").await.expect(204);
    refused(
        oauth.identity.validate(&pair.access).await,
        401,
        "token_revoked",
    );
    refused(
        oauth.refresh("web", &pair.refresh, None).await,
        400,
        "invalid_grant",
    );
    refused(oauth.redeem("web", &on_its_way).await, 400, "invalid_grant");
    browser.fetch(&path).await.expect(200).form("/consent");
    oauth.identity.validate(&other.access).await.expect(200);
    oauth.identity.validate(&oauth.ada.access).await.expect(200);
    assert_eq!(applications(&oauth, &oauth.ada).await["total"], 1);
    assert_eq!(oauth.audited("oauth.revoked"), 1);
    refused(revoke(&oauth, &oauth.ada, "web").await, 404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_list_and_the_export_name_the_client_of_a_session() {
    let oauth = OAuth::start().await;
    oauth.tokens("web", "openid").await;
    let get = |path: &'static str| oauth.identity.api.get(path).bearer(&oauth.ada.access);
    let list = get("/api/auth/sessions").send().await.expect(200).json();
    let of_kind = |list: &Value, kind: &str| {
        let sessions = list["sessions"].as_array().unwrap();
        let found: Vec<_> = sessions.iter().filter(|one| one["kind"] == kind).collect();
        assert_eq!(found.len(), 1, "{list}");
        found[0].clone()
    };
    assert_eq!(
        of_kind(&list, "client")["client"],
        json!({ "client_id": "web", "name": "The web <app>", "scope": "openid" })
    );
    assert_eq!(of_kind(&list, "first_party")["client"], Value::Null);
    oauth
        .identity
        .sql("DELETE FROM oauth_clients WHERE id = 'web'");
    let list = get("/api/auth/sessions").send().await.expect(200).json();
    assert_eq!(of_kind(&list, "client")["client"]["name"], "web");

    oauth.tokens("native", "email").await;
    let export = get("/api/auth/export").send().await.expect(200).json();
    assert_eq!(
        export["applications"],
        json!([{ "client_id": "native", "name": "The native <app>", "scope": "email",
            "allowed_at": "2026-11-21T12:00:00Z", "updated_at": "2026-11-21T12:00:00Z" }])
    );
    let clients: Vec<_> = export["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["kind"] == "client")
        .map(|one| {
            (
                one["client_id"].as_str().unwrap(),
                one["scope"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(clients.len(), 2);
    assert!(clients.contains(&("web", "openid")) && clients.contains(&("native", "email")));
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_codes_and_device_authorizations_are_removed_after_a_day() {
    let oauth = OAuth::start_with(|config| config.housekeeping_seconds = 1).await;
    let both = async || {
        oauth.code("web", &[]).await;
        let begin = "/api/oauth/device_authorization";
        oauth.post(begin, ("native", None), &[]).await.expect(200);
    };
    let count = |since: &str| {
        let rows =
            |table: &str| format!("(SELECT count(*) FROM {table} WHERE created_at > '{since}')");
        let (codes, devices) = (rows("oauth_codes"), rows("oauth_devices"));
        oauth
            .identity
            .count(&format!("SELECT {codes} + {devices} AS n"))
    };
    both().await;
    oauth.identity.hand.advance(Duration::hours(23));
    both().await;
    assert_eq!(count("2026-01-01 00:00:00"), 4);
    oauth.identity.hand.advance(Duration::hours(2));
    let probe = async || (count("2026-01-01 00:00:00") == 2).then_some(());
    test_kit::wait_until("the old ones go", StdDuration::from_secs(20), probe).await;
    assert_eq!(count("2026-11-22 00:00:00"), 2, "the young ones stay");
}
