use reqwest::Method;
use serde_json::json;
use test_kit::raw_request;

use crate::oauth_fixture::{CALLBACK, OAuth};
use crate::support::{Identity, refused};

/// Every endpoint that takes a body; `true` marks those that need a token.
const WITH_BODY: [(&str, &str, bool); 9] = [
    ("POST", "/api/auth/register", false),
    ("POST", "/api/auth/login", false),
    ("POST", "/api/auth/refresh", false),
    ("DELETE", "/api/auth/user/1", true),
    ("POST", "/api/teams", true),
    ("PUT", "/api/teams/crew", true),
    ("POST", "/api/teams/crew/invite", true),
    ("POST", "/api/teams/crew/members", true),
    ("PUT", "/api/teams/crew/members/ada", true),
];

/// Every endpoint that needs a token.
const WITH_TOKEN: [(&str, &str); 32] = [
    ("POST", "/api/auth/logout"),
    ("GET", "/api/auth/global-logout"),
    ("GET", "/api/auth/sessions"),
    ("DELETE", "/api/auth/sessions"),
    ("DELETE", "/api/auth/sessions/1"),
    ("GET", "/api/auth/export"),
    ("DELETE", "/api/auth/user/1"),
    ("GET", "/api/auth/validate"),
    ("POST", "/api/auth/validate"),
    ("GET", "/api/auth/me"),
    ("GET", "/api/teams"),
    ("POST", "/api/teams"),
    ("GET", "/api/user/teams"),
    ("GET", "/api/teams/crew"),
    ("GET", "/api/teams/crew/members"),
    ("POST", "/api/teams/crew/members"),
    ("DELETE", "/api/teams/crew/members/ada"),
    ("PUT", "/api/teams/crew"),
    ("DELETE", "/api/teams/crew"),
    ("POST", "/api/teams/crew/leave"),
    ("POST", "/api/teams/crew/invite"),
    ("GET", "/api/teams/crew/invitations"),
    ("DELETE", "/api/teams/crew/invitations/1"),
    ("POST", "/api/invitations/1"),
    ("DELETE", "/api/invitations/1"),
    ("GET", "/api/user/invitations"),
    ("PUT", "/api/auth/user/1"),
    ("PUT", "/api/auth/user/1/profile-photo"),
    ("DELETE", "/api/auth/user/1/profile-photo"),
    ("GET", "/api/auth/user/1/profile-photo"),
    ("GET", "/api/auth/user/1/profile-photo/file"),
    ("POST", "/api/auth/users/profile-photos"),
];

fn method(name: &str) -> Method {
    Method::from_bytes(name.as_bytes()).unwrap()
}

async fn with_team() -> (Identity, String) {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let body = json!({ "name": "Crew", "slug": "crew" });
    identity
        .api
        .post("/api/teams")
        .bearer(&ada.access)
        .json(body)
        .send()
        .await
        .expect(201);
    (identity, ada.access)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_body_gets_400_or_413_in_the_error_format() {
    let (identity, token) = with_team().await;
    let deep = [vec![b'['; 30_000], vec![b']'; 30_000]].concat();
    let json_type = "application/json";
    let bodies: [(&str, &str, Vec<u8>, u16, &str); 13] = [
        ("malformed", json_type, b"{\"username\":".to_vec(), 400, "validation_failed"),
        ("empty", json_type, Vec::new(), 400, "validation_failed"),
        ("not an object", json_type, b"42".to_vec(), 400, "validation_failed"),
        ("an array", json_type, b"[\"ada\",\"x\"]".to_vec(), 400, "validation_failed"),
        ("two values", json_type, b"{}{}".to_vec(), 400, "validation_failed"),
        ("a key twice", json_type, br#"{"username":"a","username":"b","name":"a","name":"b"}"#.to_vec(), 400, "validation_failed"),
        ("no content type", "", b"{}".to_vec(), 400, "validation_failed"),
        ("plain text", "text/plain", b"{}".to_vec(), 400, "validation_failed"),
        ("a form", "application/x-www-form-urlencoded", b"username=ada".to_vec(), 400, "validation_failed"),
        ("bad utf-8", json_type, b"{\"username\":\"\xff\xfe\"}".to_vec(), 400, "validation_failed"),
        ("nul", json_type, br#"{"username":"a\u0000da","password":"x","refresh_token":"x","name":"x","slug":"x","role":"x"}"#.to_vec(), 400, "validation_failed"),
        ("deep", json_type, deep, 400, "validation_failed"),
        ("large", json_type, vec![b' '; 65 * 1024], 413, "payload_too_large"),
    ];
    for (verb, path, wants_token) in WITH_BODY {
        for (name, content_type, body, status, code) in &bodies {
            let mut call = identity.api.call(method(verb), path);
            call = if content_type.is_empty() {
                call.body("application/octet-stream", body.clone())
            } else {
                call.body(content_type, body.clone())
            };
            let call = if wants_token {
                call.bearer(&token)
            } else {
                call
            };
            let reply = call.send().await;
            assert_eq!(
                reply.status,
                *status,
                "{verb} {path}: {name}: {}",
                reply.text()
            );
            refused(reply, *status, code);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_bad_token_is_refused_before_anything_else_is_checked() {
    let (identity, _) = with_team().await;
    for (verb, path) in WITH_TOKEN {
        let call = || {
            identity
                .api
                .call(method(verb), path)
                .body("text/plain", "{ not json")
        };
        let overlong = format!("Bearer {}", "a".repeat(8 * 1024 + 1));
        refused(call().send().await, 401, "authentication_required");
        refused(
            call().header("authorization", "Basic YTpi").send().await,
            401,
            "authentication_required",
        );
        for value in [
            "Bearer",
            "Bearer ",
            "Bearer a b",
            "Bearer x",
            "Bearer a.b.c",
            "bearer e30.e30.",
            &overlong,
        ] {
            refused(
                call().header("authorization", value).send().await,
                401,
                "invalid_token",
            );
        }
        let twice = call()
            .header("authorization", "Bearer a.b.c")
            .header("authorization", "Bearer a.b.c")
            .send()
            .await;
        refused(twice, 401, "invalid_token");
    }
    let (verb, path) = ("PUT", "/api/teams/crew/members/ada");
    refused(
        identity
            .api
            .call(method(verb), path)
            .body("text/plain", "x")
            .send()
            .await,
        401,
        "authentication_required",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_method_gets_405_with_allow_and_head_is_answered_like_get() {
    let (identity, token) = with_team().await;
    for (path, allow) in [
        ("/api/auth/register", "POST"),
        ("/api/auth/login", "POST"),
        ("/api/auth/logout", "POST"),
        ("/api/auth/refresh", "POST"),
        ("/api/auth/validate", "GET, HEAD, POST"),
        ("/api/auth/me", "GET, HEAD"),
        ("/api/auth/user/1", "GET, HEAD, PUT, DELETE"),
        ("/api/auth/global-logout", "GET, HEAD"),
        ("/api/auth/sessions", "GET, HEAD, DELETE"),
        ("/api/auth/sessions/1", "DELETE"),
        ("/api/auth/export", "GET, HEAD"),
        ("/api/auth/user/1/profile-photo", "GET, HEAD, PUT, DELETE"),
        ("/api/auth/user/1/profile-photo/file", "GET, HEAD"),
        ("/api/auth/users/profile-photos", "POST"),
        ("/api/public/user/1/profile-photo", "GET, HEAD"),
        ("/api/public/user/1/profile-photo/file", "GET, HEAD"),
        ("/api/status", "GET, HEAD"),
        ("/api/teams", "GET, HEAD, POST"),
        ("/api/user/teams", "GET, HEAD"),
        ("/api/teams/crew", "GET, HEAD, PUT, DELETE"),
        ("/api/teams/crew/leave", "POST"),
        ("/api/teams/crew/invite", "POST"),
        ("/api/teams/crew/invitations", "GET, HEAD"),
        ("/api/teams/crew/invitations/1", "DELETE"),
        ("/api/invitations/1", "POST, DELETE"),
        ("/api/user/invitations", "GET, HEAD"),
        ("/api/teams/crew/members", "GET, HEAD, POST"),
        ("/api/teams/crew/members/ada", "PUT, DELETE"),
    ] {
        for verb in ["PATCH", "TRACE", "BREW"] {
            let reply = refused(
                identity.api.call(method(verb), path).send().await,
                405,
                "method_not_allowed",
            );
            assert_eq!(reply.header("allow"), allow, "{path}");
        }
    }
    for path in ["/api/status", "/api/auth/me", "/api/teams/crew"] {
        let get = identity
            .api
            .get(path)
            .bearer(&token)
            .send()
            .await
            .expect(200);
        let head = identity
            .api
            .call(Method::HEAD, path)
            .bearer(&token)
            .send()
            .await
            .expect(200);
        assert!(head.body.is_empty());
        assert_eq!(head.header("content-type"), get.header("content-type"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_requests_create_no_codes_or_sessions_and_end_none() {
    let site = "https://app.example.com";
    let oauth = OAuth::start_with(|config| {
        config.sso.allowed_origins.0 = vec![site.to_owned()];
    })
    .await;
    let identity = &oauth.identity;
    let browser = oauth.browser().await;
    let cookies: Vec<_> = browser
        .cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let rows = || {
        identity.count(
            "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM oauth_codes) \
             + (SELECT count(*) FROM oauth_consents) + (SELECT count(*) FROM audit_log) \
             + (SELECT count(*) FROM changes) + (SELECT count(*) FROM outbox) AS n",
        )
    };
    let before = rows();
    let sso = format!("/api/auth/sso/authorize?redirect_uri={site}/in");
    let out = format!("/api/auth/global-logout?redirect_uri={site}/out");
    let (own, web) = (OAuth::request("own", &[]), OAuth::request("web", &[]));
    for (path, by_bearer, status, there) in [
        (sso.as_str(), true, 302, Some("https://app.example.com/in")),
        (&sso, false, 302, Some("https://app.example.com/in")),
        (&own, true, 302, Some(CALLBACK)),
        (&own, false, 302, Some(CALLBACK)),
        (&web, true, 302, Some(CALLBACK)),
        (&web, false, 200, None),
        (&out, true, 302, Some("https://app.example.com/out")),
        ("/api/auth/global-logout", true, 400, None),
        ("/api/auth/sso/token", true, 405, None),
        ("/api/auth/logout", true, 405, None),
        ("/logout", false, 405, None),
        ("/consent", false, 405, None),
    ] {
        let call = identity.api.call(Method::HEAD, path);
        let reply = match by_bearer {
            true => call.bearer(&oauth.ada.access),
            false => call
                .header("cookie", cookies.join("; "))
                .header("accept", "text/html"),
        };
        let reply = reply.send().await.expect(status);
        if let Some(there) = there {
            let location = reply.header("location");
            assert!(location.starts_with(there), "{path}: {location}");
            assert!(!location.contains("code="), "{path}: {location}");
        }
        assert!(reply.body.is_empty());
        assert_eq!(rows(), before, "{path}");
    }
    identity.validate(&oauth.ada.access).await.expect(200);
    // GET still takes effect.
    oauth.code("own", &[]).await;
    assert!(rows() > before);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_get_404_in_the_error_format() {
    let identity = Identity::start().await;
    for path in [
        "/api",
        "/api/",
        "/api/auth",
        "/api/auth/login/",
        "/api/nothing",
        "/api/teams/a/b/c/d",
        "/%00",
        "/api/auth/user/",
        "//api/status",
    ] {
        refused(identity.api.get(path).send().await, 404, "not_found");
    }
    refused(
        identity.api.post("/api/auth/Login").send().await,
        404,
        "not_found",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_over_the_limit_get_431() {
    let identity = Identity::start().await;
    let reply = identity
        .api
        .get("/api/status")
        .header("x-much", "y".repeat(17 * 1024))
        .send()
        .await;
    refused(reply, 431, "headers_too_large");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_http_gets_a_4xx_response_and_does_not_hang() {
    let identity = Identity::start().await;
    for request in [
        &b"GET /api/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: nonsense\r\n\r\n"[..],
        b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 tls \r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ] {
        let answer = raw_request(identity.running.addr(), request).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_arrive_gets_408_and_closes_the_connection() {
    let identity = Identity::start_with(|config| config.limits.body_seconds = 1).await;
    for path in ["/api/auth/register", "/api/auth/login", "/api/auth/refresh"] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        );
        // This reads until the server closes the connection, which the client did not request.
        let answer = raw_request(identity.running.addr(), request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer:?}");
        assert!(
            answer.contains(r#""error":"validation_failed""#),
            "{answer:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_body_that_is_no_object_is_refused_without_names_from_the_code() {
    let (identity, token) = with_team().await;
    for body in ["null", "42", "\"text\"", "true", "[]"] {
        let call = identity.api.post("/api/auth/logout").bearer(&token);
        let reply = call.body("application/json", body).send().await;
        let reply = refused(reply, 400, "validation_failed").json();
        assert_eq!(
            reply["error_description"],
            "The request body must be a JSON object"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_valid_request_id_is_echoed_and_any_other_is_replaced() {
    let identity = Identity::start().await;
    let id = async |value: &str| {
        identity
            .api
            .get("/api/status")
            .header("x-request-id", value)
            .send()
            .await
            .header("x-request-id")
            .to_owned()
    };
    assert_eq!(id("abc-123_x.y").await, "abc-123_x.y");
    for odd in ["a b", "<script>", &"x".repeat(65)] {
        let made = id(odd).await;
        assert!(!made.is_empty() && made != odd);
    }
}
