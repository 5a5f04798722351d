use serde_json::{Value, json};
use service_kit::config::CommaList;
use test_kit::ApiResponse;

use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in};

const APP: &str = "https://app.example.com";

async fn identity() -> Identity {
    Identity::start_with(|config| {
        let origins = [
            APP,
            "https://*.wild.example",
            "http://localhost:*",
            "http://127.0.0.1:*",
        ];
        config.sso.allowed_origins = CommaList(origins.map(str::to_owned).to_vec());
    })
    .await
}

async fn global_logout(identity: &Identity, token: &str, query: &str) -> ApiResponse {
    let path = format!("/api/auth/global-logout{query}");
    identity.api.get(&path).bearer(token).send().await
}

/// Registers an account, and signs it in twice more.
async fn three_devices(identity: &Identity, name: &str) -> Vec<SignedIn> {
    let mut devices = vec![identity.register(name).await];
    for _ in 0..2 {
        let pair = identity.login(name, PASSWORD).await.expect(200).json();
        devices.push(signed_in(&pair));
    }
    devices
}

async fn assert_signed_out(identity: &Identity, devices: &[SignedIn]) {
    for device in devices {
        refused(
            identity.validate(&device.access).await,
            401,
            "token_revoked",
        );
        refused(
            identity.refresh(&device.refresh).await,
            401,
            "invalid_refresh_token",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn global_logout_ends_every_session_of_the_caller_and_redirects() {
    let identity = identity().await;
    let devices = three_devices(&identity, "ada").await;
    let bob = identity.register("bob").await;
    let target = "?redirect_uri=https%3A%2F%2FAPP.example.com%3A443%2Fout%3Fa%3Db%2520c%23top";
    let reply = global_logout(&identity, &devices[1].access, target)
        .await
        .expect(302);
    assert_eq!(reply.header("location"), format!("{APP}/out?a=b%20c#top"));
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(reply.header("referrer-policy"), "no-referrer");
    assert_eq!(reply.text(), "");

    assert_signed_out(&identity, &devices).await;
    identity.validate(&bob.access).await.expect(200);
    identity.refresh(&bob.refresh).await.expect(200);
    let told = identity.events("identity.session_revoked.v1");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["user_id"], devices[0].id);
    assert_eq!(told[0]["sids"].as_array().map(Vec::len), Some(3));
    let audited = format!(
        "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND user_id = {0} AND actor_id = {0}",
        devices[0].id
    );
    assert_eq!(identity.count(&audited), 3);
    identity.login("ada", PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn global_logout_redirects_to_each_kind_of_listed_origin() {
    let identity = identity().await;
    for (n, (given, normal)) in [
        ("https://app.example.com", "https://app.example.com/"),
        ("https://one.wild.example/x", "https://one.wild.example/x"),
        ("http://localhost:3000/", "http://localhost:3000/"),
        ("http://127.0.0.1:65535/y", "http://127.0.0.1:65535/y"),
    ]
    .into_iter()
    .enumerate()
    {
        let caller = identity.register(&format!("user{n}")).await;
        let query = format!("?redirect_uri={given}");
        let reply = global_logout(&identity, &caller.access, &query).await;
        assert_eq!(reply.expect(302).header("location"), normal);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unlisted_redirect_uri_is_refused_after_the_sessions_have_ended() {
    let identity = identity().await;
    for (n, query) in [
        "",
        "?",
        "?redirect_uri",
        "?redirect_uri=",
        "?other=https://app.example.com/",
        "?redirect_uri=https://evil.example/",
        "?redirect_uri=https://app.example.com@evil.example/",
        "?redirect_uri=https://app.example.com%5C@evil.example/",
        "?redirect_uri=https://app.example.com%252f@evil.example/",
        "?redirect_uri=https://app.example.com.evil.example/",
        "?redirect_uri=http://app.example.com/",
        "?redirect_uri=https://app.example.com./",
        "?redirect_uri=https://wild.example/",
        "?redirect_uri=https://two.one.wild.example/",
        "?redirect_uri=//app.example.com/",
        "?redirect_uri=https:app.example.com",
        "?redirect_uri=%09https://app.example.com/",
        "?redirect_uri=https://app.example.com/%0d%0aSet-Cookie:a=b",
        "?redirect_uri=https://app.example.com/%00",
        "?redirect_uri=https://app.example.com/%ff",
        "?redirect_uri=javascript:alert(1)",
        "?redirect_uri=https://app.example.com/&redirect_uri=https://app.example.com/",
        "?redirect_uri=https://app.example.com/&redirect%5Furi=https://evil.example/",
    ]
    .into_iter()
    .enumerate()
    {
        let caller = identity.register(&format!("user{n}")).await;
        let reply = refused(
            global_logout(&identity, &caller.access, query).await,
            400,
            "redirect_not_allowed",
        );
        let told = reply.json()["error_description"].clone();
        assert!(
            told.as_str()
                .is_some_and(|text| text.contains("sessions were ended")),
            "{query}: {told}"
        );
        assert_eq!(reply.header("location"), "", "{query}");
        assert_eq!(reply.header("referrer-policy"), "no-referrer");
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_signed_out(&identity, &[caller]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn global_logout_does_nothing_without_a_valid_token_in_the_header() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let other = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&other.access)
        .send()
        .await
        .expect(200);
    let path = format!("/api/auth/global-logout?redirect_uri={APP}");
    let with_token = format!("{path}&access_token={0}&token={0}", ada.access);
    let get = |path: &str| identity.api.get(path);
    for (call, code) in [
        (get(&path), "authentication_required"),
        (get(&with_token), "authentication_required"),
        (get("/api/auth/global-logout"), "authentication_required"),
        (get(&path).bearer("nonsense"), "invalid_token"),
        (
            get(&path).bearer(&ada.access).bearer(&ada.access),
            "invalid_token",
        ),
        (get(&path).bearer(&other.access), "token_revoked"),
        (
            get(&path).header("cookie", format!("holdfast_id={}", ada.access)),
            "authentication_required",
        ),
    ] {
        let reply = refused(call.send().await, 401, code);
        assert_eq!(reply.header("location"), "");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    identity.validate(&ada.access).await.expect(200);
    identity.hand.advance(chrono::Duration::days(31));
    let late = get(&path).bearer(&ada.access).send().await;
    refused(late, 401, "token_expired");
    identity.refresh(&ada.refresh).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_allow_list_global_logout_redirects_nowhere() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let reply = global_logout(
        &identity,
        &ada.access,
        "?redirect_uri=http://localhost:3000/",
    )
    .await;
    refused(reply, 400, "redirect_not_allowed");
    assert_signed_out(&identity, &[ada]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn global_logout_accepts_only_get_and_head() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let post = identity
        .api
        .post("/api/auth/global-logout")
        .bearer(&ada.access)
        .json(Value::Null);
    let reply = refused(post.send().await, 405, "method_not_allowed");
    assert_eq!(reply.header("allow"), "GET, HEAD");
    identity.validate(&ada.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_that_end_each_others_sessions_concurrently_are_all_signed_out() {
    let identity = identity().await;
    for round in 0..6 {
        let name = format!("ada{round}");
        let devices = three_devices(&identity, &name).await;
        let mut calls = Vec::new();
        for (n, device) in devices.iter().enumerate() {
            let other = &devices[(n + 1) % devices.len()];
            let path = format!("/api/auth/global-logout?redirect_uri={APP}");
            calls.push(identity.api.get(&path).bearer(&device.access));
            calls.push(
                identity
                    .api
                    .post("/api/auth/logout")
                    .bearer(&device.access)
                    .json(json!({ "refresh_token": other.refresh })),
            );
            calls.push(
                identity
                    .api
                    .delete("/api/auth/sessions")
                    .bearer(&device.access),
            );
        }
        let calls: Vec<_> = calls
            .into_iter()
            .map(|call| tokio::spawn(call.send()))
            .collect();
        for call in calls {
            let reply = call.await.unwrap();
            // A late caller is already signed out.
            assert!(
                [200, 204, 302, 401].contains(&reply.status),
                "{}",
                reply.text()
            );
        }
        let live = format!(
            "SELECT count(*) AS n FROM sessions WHERE revoked_at IS NULL AND user_id = {}",
            devices[0].id
        );
        assert_eq!(identity.count(&live), 0);
        assert_signed_out(&identity, &devices).await;
    }
}
