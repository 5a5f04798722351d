//! Pages of other origins at the token, userinfo and revocation endpoints.

use std::time::Duration;

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::json;
use service_kit::config::CommaList;
use test_kit::{ApiRequest, ApiResponse, wait_until};

use crate::oauth_fixture::{CALLBACK, OAuth, SECRET, VERIFIER};
use crate::provider_fixture::{Provider, form};
use crate::support::{refused, signed_in};

/// The endpoints that pages may call.
const PATHS: [&str; 3] = [
    "/api/oauth/token",
    "/api/oauth/userinfo",
    "/api/oauth/revoke",
];
/// The origin of [`CALLBACK`].
const ORIGIN: &str = "https://app.example.com";

fn preflight(oauth: &OAuth, path: &str) -> ApiRequest {
    let call = oauth.identity.api.call(Method::OPTIONS, path);
    let call = call.header("access-control-request-method", "POST");
    call.header(
        "access-control-request-headers",
        "authorization,content-type",
    )
}

/// Returns the origin that may read a response, and checks that no response allows credentials.
fn reader(reply: &ApiResponse) -> Option<String> {
    assert!(
        !reply
            .headers
            .contains_key("access-control-allow-credentials")
    );
    let allowed = reply.headers.get("access-control-allow-origin")?;
    assert_eq!(
        reply
            .headers
            .get_all("access-control-allow-origin")
            .iter()
            .count(),
        1
    );
    assert!(reply.header("vary").contains("Origin"), "{}", reply.call);
    Some(allowed.to_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_origin_of_a_redirect_uri_may_send_tokens_and_forms() {
    let oauth = OAuth::start().await;
    for path in PATHS {
        for origin in [ORIGIN, "http://127.0.0.1", "http://127.0.0.1:5173"] {
            let reply = preflight(&oauth, path)
                .header("origin", origin)
                .send()
                .await;
            let reply = reply.expect(204);
            assert_eq!(reader(&reply).as_deref(), Some(origin));
            for (name, value) in [
                ("access-control-allow-methods", "GET, POST"),
                (
                    "access-control-allow-headers",
                    "Authorization, Content-Type",
                ),
                ("access-control-max-age", "3600"),
                ("cache-control", "no-store"),
            ] {
                assert_eq!(reply.header(name), value, "{path}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_origin_and_no_other_endpoint_is_allowed() {
    let oauth = OAuth::start().await;
    oauth.identity.sql(
        "UPDATE oauth_clients SET redirect_uris = '[\"https://app.example.com/cb\",\"com.example.app:/cb\",\
         \"http://127.0.0.1/cb\",\"https://port.example.com:8443/cb\"]'",
    );
    let call = oauth.identity.api.get("/api/oauth/userinfo");
    let call = call.bearer(&oauth.ada.access).header("origin", ORIGIN);
    // A sign-in at the product itself belongs to no client, so no client's page reads about it.
    assert_eq!(reader(&call.send().await.expect(200)), None);
    for origin in [
        "null",
        "",
        "*",
        "http://app.example.com",
        "https://app.example.com:443",
        "https://app.example.com:8443",
        "https://port.example.com",
        "https://evil.app.example.com",
        "https://example.com",
        "https://evilapp.example.com",
        "https://app.example.com.evil.example",
        "https://app.example.com@evil.example",
        "https://app.example.com/",
        "https://app.example.com/cb",
        "https://APP.example.com",
        "https://app.example.com https://evil.example",
        "com.example.app://",
        "com.example.app:",
        "http://localhost",
        "http://127.0.0.1.evil.example",
        "http://127.0.0.1:0",
        "http://127.0.0.1:80@evil.example",
        "http://127.0.0.2",
        "https://127.0.0.1",
        "http://[::1]",
    ] {
        for path in PATHS {
            let reply = preflight(&oauth, path)
                .header("origin", origin)
                .send()
                .await;
            assert_eq!(
                reader(&refused(reply, 405, "method_not_allowed")),
                None,
                "{origin}"
            );
            let reply = oauth
                .identity
                .api
                .post(path)
                .header("origin", origin)
                .send()
                .await;
            assert_eq!(reader(&reply), None, "{origin}");
            assert!(reply.status >= 400);
        }
    }
    let twice = preflight(&oauth, PATHS[0])
        .header("origin", ORIGIN)
        .header("origin", ORIGIN);
    assert_eq!(
        reader(&refused(twice.send().await, 405, "method_not_allowed")),
        None
    );
    for path in [
        "/api/oauth/authorize",
        "/api/oauth/introspect",
        "/api/oauth/device_authorization",
        "/api/oauth/token/",
        "/api/oauth/TOKEN",
        "/api/auth/me",
        "/api/auth/login",
        "/api/teams",
        "/login",
    ] {
        let reply = preflight(&oauth, path)
            .header("origin", ORIGIN)
            .send()
            .await;
        assert_eq!(reader(&reply), None, "{path}");
        assert!(reply.status >= 400, "{path}");
        let reply = oauth
            .identity
            .api
            .get(path)
            .header("origin", ORIGIN)
            .send()
            .await;
        assert_eq!(reader(&reply), None, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_clients_own_origins_read_its_answers_and_any_registered_origin_reads_errors() {
    let oauth = OAuth::start().await;
    oauth.identity.sql(
        "UPDATE oauth_clients SET redirect_uris = '[\"https://other.example.com/cb\"]' WHERE id = 'own'",
    );
    let own = Some(ORIGIN.to_owned());
    let other = Some("https://other.example.com".to_owned());
    for (origin, reads_answer, reads_error) in [
        (ORIGIN, own.clone(), own),
        ("https://other.example.com", None, other),
        ("https://nobody.example.com", None, None),
    ] {
        let post = async |path: &str, fields: &[(&str, &str)]| {
            let fields = [fields, &[("client_id", "native")]].concat();
            let call = form(&oauth.identity, path, &fields).header("origin", origin);
            call.send().await
        };
        let code = oauth.code("native", &[]).await;
        let exchange = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        let reply = post("/api/oauth/token", &exchange).await.expect(200);
        assert_eq!(reader(&reply), reads_answer, "{origin}");
        let pair = signed_in(&reply.json());
        let refresh = [
            ("grant_type", "refresh_token"),
            ("refresh_token", &pair.refresh),
        ];
        let reply = post("/api/oauth/token", &refresh).await.expect(200);
        assert_eq!(reader(&reply), reads_answer, "{origin}");
        let pair = signed_in(&reply.json());
        for method in [Method::GET, Method::POST] {
            let call = oauth.identity.api.call(method, "/api/oauth/userinfo");
            let call = call.bearer(&pair.access).header("origin", origin);
            assert_eq!(
                reader(&call.send().await.expect(200)),
                reads_answer,
                "{origin}"
            );
        }
        let reply = post("/api/oauth/revoke", &[("token", &pair.refresh)]).await;
        assert_eq!(reader(&reply.expect(200)), reads_answer, "{origin}");

        // Errors: a revoked token, a used code, an unknown client, a body that is no form.
        let call = oauth
            .identity
            .api
            .get("/api/oauth/userinfo")
            .bearer(&pair.access);
        let reply = refused(
            call.header("origin", origin).send().await,
            401,
            "invalid_token",
        );
        assert_eq!(reader(&reply), reads_error, "{origin}");
        let reply = refused(
            post("/api/oauth/token", &exchange).await,
            400,
            "invalid_grant",
        );
        assert_eq!(reader(&reply), reads_error, "{origin}");
        let unknown = form(
            &oauth.identity,
            "/api/oauth/token",
            &[("client_id", "nobody")],
        );
        let reply = unknown.header("origin", origin).send().await;
        assert_eq!(
            reader(&refused(reply, 401, "invalid_client")),
            reads_error,
            "{origin}"
        );
        let json = oauth.identity.api.post("/api/oauth/token").json(json!({}));
        let reply = refused(
            json.header("origin", origin).send().await,
            400,
            "invalid_request",
        );
        assert_eq!(reader(&reply), reads_error, "{origin}");
        if let Some(exposed) = reply.headers.get("access-control-expose-headers") {
            assert_eq!(exposed, "Retry-After, WWW-Authenticate, X-Request-Id");
        }
    }
    let basic = ("web", Some(SECRET));
    let reply = oauth.token(basic, &[("grant_type", "refresh_token")]).await;
    assert_eq!(reader(&reply), None, "without an origin there is no header");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_clients_origin_is_allowed_within_a_second_and_a_deleted_clients_is_not() {
    let provider = Provider::start().await;
    let replica = provider.identity.replica("https://id.example.com").await;
    let replica = test_kit::ApiClient::new(format!("http://{}", replica.addr()));
    let allowed = async |api: &test_kit::ApiClient| {
        let call = api.call(Method::OPTIONS, "/api/oauth/token");
        let call = call.header("access-control-request-method", "POST");
        call.header("origin", "https://spa.example.com")
            .send()
            .await
            .status
            == 204
    };
    let apis = [&provider.identity.api, &replica];
    for api in apis {
        assert!(!allowed(api).await);
    }
    let spa =
        json!({ "name": "Page", "is_public": true, "redirect_uris": ["https://spa.example.com/"] });
    let spa = provider.register(spa).await;
    assert!(allowed(apis[0]).await);
    for api in apis {
        wait_until("the new origin", Duration::from_secs(1), async || {
            allowed(api).await.then_some(())
        })
        .await;
    }
    let path = format!("/{}", spa.id);
    provider.administer(Method::DELETE, &path).await.expect(204);
    assert!(!allowed(apis[0]).await);
    wait_until(
        "the end of the origin",
        Duration::from_secs(1),
        async || (!allowed(apis[1]).await).then_some(()),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_origins_do_not_exclude_registered_ones() {
    let configured = "https://dashboard.example.com";
    let oauth = OAuth::start_with(|config| {
        config.cors.allowed_origins = CommaList(vec![configured.to_owned()]);
    })
    .await;
    for origin in [configured, ORIGIN] {
        let reply = preflight(&oauth, "/api/oauth/token").header("origin", origin);
        let reply = reply.send().await;
        assert!(reply.status < 300, "{}", reply.status);
        assert_eq!(reader(&reply).as_deref(), Some(origin));
    }
    let reply = preflight(&oauth, "/api/teams")
        .header("origin", ORIGIN)
        .send()
        .await;
    assert_eq!(reader(&reply), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_preflights_read_the_clients_once() {
    let oauth = OAuth::start().await;
    oauth.identity.remembers(&oauth.ada.access).await;
    let send = async || {
        let call = preflight(&oauth, "/api/oauth/token").header("origin", ORIGIN);
        call.send().await.expect(204);
    };
    send().await;
    // The change feed does not report this, so only the cache still knows the clients.
    oauth.identity.sql("DELETE FROM oauth_clients");
    send().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_change_feed_the_clients_are_read_once_a_second() {
    // Without the cache, the service reads as if the feed were down.
    let oauth = OAuth::start_with(|config| config.tokens.remember = false).await;
    let send = async || {
        let call = preflight(&oauth, "/api/oauth/token").header("origin", ORIGIN);
        reader(&call.send().await)
    };
    assert_eq!(send().await.as_deref(), Some(ORIGIN));
    oauth.identity.sql("DELETE FROM oauth_clients");
    oauth.identity.hand.advance(TimeDelta::milliseconds(999));
    assert_eq!(send().await.as_deref(), Some(ORIGIN), "not read again");
    oauth.identity.hand.advance(TimeDelta::milliseconds(1));
    assert_eq!(send().await, None, "a second old");
}
