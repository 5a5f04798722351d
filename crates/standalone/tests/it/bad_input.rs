//! Every endpoint of the OpenAPI documents with every kind of bad input: the response is the area's error body with a 4xx
//! status, never a 500, a hang or an empty body.

use std::net::SocketAddr;

use reqwest::Method;
use serde_json::{Map, Value, json};
use test_kit::{ApiClient, ApiRequest, ApiResponse, raw_request};

use crate::harness::{System, User};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Area {
    Identity,
    Work,
}

/// A method of a path, as documented.
#[derive(Clone, Debug)]
struct Endpoint {
    area: Area,
    method: Method,
    path: String,
    secured: bool,
    /// The schema of the JSON body, without the schemas to which it refers.
    body: Option<Value>,
    body_required: bool,
}

const AREAS: [Area; 2] = [Area::Identity, Area::Work];

#[tokio::test(flavor = "multi_thread")]
async fn invalid_json_is_refused_by_every_endpoint_with_a_body() {
    let (system, user, endpoints) = described().await;
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let deep_object = format!("{}1{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000));
    let bodies: [&[u8]; 15] = [
        b"",
        b"{",
        b"}",
        b"nul",
        b"null",
        b"[]",
        b"\"text\"",
        b"1e999",
        b"{\"a\":}",
        b"{\"a\":1,}",
        b"{'a':1}",
        b"{\"a\":\"\xff\xfe\"}",
        b"\xef\xbb\xbf{}",
        deep.as_bytes(),
        deep_object.as_bytes(),
    ];
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.takes_json()) {
        for body in bodies {
            let reply = endpoint
                .call(&system, &user)
                .body("application/json", body)
                .send()
                .await;
            let what = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            refused(endpoint.area, &reply, &[400, 404], &what);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_content_type_and_a_body_over_the_limit_are_refused() {
    let (system, user, endpoints) = described().await;
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.takes_json()) {
        let valid = endpoint.example().to_string();
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "\"",
            "",
        ] {
            let reply = endpoint
                .call(&system, &user)
                .body(kind, valid.as_str())
                .send()
                .await;
            refused(endpoint.area, &reply, &[400, 404], kind);
        }
        if endpoint.path == "/api/auth/user/{user_id}" {
            // Takes a photo as its body; its own tests reach the limit.
            continue;
        }
        let long = json!({"filler": "x".repeat(70 * 1024)}).to_string();
        let reply = endpoint
            .call(&system, &user)
            .body("application/json", long)
            .send()
            .await;
        refused(endpoint.area, &reply, &[413, 404], "70 KiB");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_accepts_or_refuses_any_value_without_a_server_error() {
    let (system, user, endpoints) = described().await;
    let long = format!("\"{}\"", "ä".repeat(5_000));
    let values = [
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "1e3",
        "1e400",
        "9223372036854775807",
        "-99999999999999999999",
        "\"\"",
        "\" \"",
        "\"\\ud800\"",
        "\"0\"",
        "\"\\u202e\\ud83d\\ude00\"",
        "[]",
        "[null]",
        "{}",
        "{\"a\":1}",
        "\"'; DROP TABLE users; --\"",
        "\"<script>alert(1)</script>\"",
        &long,
    ];
    for endpoint in &endpoints {
        for field in endpoint.fields() {
            for value in values {
                let reply = endpoint
                    .call_with(&system, &user, &field, value)
                    .send()
                    .await;
                well_formed(endpoint.area, &reply, &format!("{field}: {:.60}", value));
            }
            let reply = endpoint
                .call_with(&system, &user, &field, "\"a\\u0000b\"")
                .send()
                .await;
            refused(endpoint.area, &reply, &[400, 404], &format!("{field}: NUL"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_invalid_token_is_refused_before_everything_else() {
    let (system, _, endpoints) = described().await;
    let long = format!("Bearer {}", "a".repeat(9_000));
    let tokens = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Basic YTpi",
        "bearer x",
        "Bearer eyJhbGciOiJub25lIn0.e30.",
        "Bearer \u{e9}",
        "Token x",
        &long,
    ];
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.secured) {
        let unauthorized: &[u16] = if endpoint.path == "/api/user/data" {
            &[401, 403]
        } else {
            &[401]
        };
        let reply = endpoint
            .anonymous(&system)
            .body("application/json", "{")
            .send()
            .await;
        refused(endpoint.area, &reply, unauthorized, "no token");
        for token in tokens {
            let call = endpoint.anonymous(&system).header("authorization", token);
            let reply = call.body("application/json", "{").send().await;
            refused(endpoint.area, &reply, unauthorized, token);
        }
        let twice = endpoint.anonymous(&system);
        let twice = twice
            .header("authorization", "Bearer x")
            .header("authorization", "Bearer x");
        refused(
            endpoint.area,
            &twice.send().await,
            unauthorized,
            "two tokens",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsupported_method_is_405_and_names_the_supported_ones() {
    let (system, user, endpoints) = described().await;
    let all = [
        "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW",
    ];
    for endpoint in &endpoints {
        let has = |method: &str| {
            endpoints.iter().any(|other| {
                other.area == endpoint.area
                    && other.path == endpoint.path
                    && other.method.as_str() == method
            })
        };
        for method in all.into_iter().filter(|method| !has(method)) {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let call = endpoint
                .area
                .api(&system)
                .call(method.clone(), &endpoint.filled("1"));
            let reply = call.bearer(&user.token).send().await;
            refused(endpoint.area, &reply, &[405], method.as_str());
            let allow: Vec<&str> = reply.header("allow").split(", ").collect();
            assert!(
                allow.contains(&endpoint.method.as_str()),
                "{}: {allow:?}",
                reply.call
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_id_in_a_path_is_404() {
    let (system, user, endpoints) = described().await;
    let long = "9".repeat(3_000);
    let bad = [
        "0",
        "-1",
        "+1",
        "0042",
        "1e3",
        "1.0",
        "0x1",
        "9223372036854775808",
        "99999999999999999999",
        "abc",
        "%20",
        "%00",
        "%ff",
        "%e2%82",
        "%2e%2e",
        "%2F",
        "1%00",
        "%EF%BC%91",
        "null",
        "'",
        "a%0d%0ab",
        &long,
    ];
    for endpoint in endpoints
        .iter()
        .filter(|endpoint| endpoint.path.contains('{'))
    {
        for value in bad {
            let call = endpoint
                .area
                .api(&system)
                .call(endpoint.method.clone(), &endpoint.filled(value));
            let call = call.bearer(&user.token).json(endpoint.example());
            refused(endpoint.area, &call.send().await, &[404], value);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_and_odd_queries_get_responses_in_the_areas_format() {
    let (system, user, endpoints) = described().await;
    let long = format!("/api/{}", "x".repeat(8_000));
    let paths = [
        "/nothing",
        "/api",
        "/api/",
        "/api/nothing",
        "/api/auth/register/",
        "//api/auth/me",
        "/api/../etc/passwd",
        "/api/auth/%6de%00",
        "/favicon.ico",
        "/%ff",
        "/api/user/data/",
        &long,
    ];
    for area in AREAS {
        for path in paths {
            let reply = area.api(&system).get(path).bearer(&user.token).send().await;
            refused(area, &reply, &[404], path);
        }
    }
    for endpoint in endpoints
        .iter()
        .filter(|endpoint| endpoint.method == Method::GET)
    {
        for query in [
            "?",
            "?&&==",
            "?a=%ff",
            "?include=teams&include=x",
            "?archived=maybe",
            "?limit=-1",
            "?%00=1",
        ] {
            let path = format!("{}{query}", endpoint.filled("1"));
            let reply = endpoint
                .area
                .api(&system)
                .get(&path)
                .header("accept", "application/json")
                .bearer(&user.token)
                .send()
                .await;
            well_formed(endpoint.area, &reply, query);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_headers_are_ignored_or_refused() {
    let (system, user, endpoints) = described().await;
    let big = "x".repeat(17 * 1024);
    for endpoint in &endpoints {
        let reply = endpoint
            .call(&system, &user)
            .json(endpoint.example())
            .header("x-filler", &big)
            .send()
            .await;
        refused(endpoint.area, &reply, &[431], "17 KiB of headers");
        for (name, value) in [
            ("x-request-id", "a\tb c"),
            ("x-forwarded-for", "not an address, 1.2.3.4"),
            ("accept", "\u{e9}"),
            ("content-encoding", "gzip"),
            ("content-encoding", "nonsense"),
            ("range", "bytes=5-"),
            ("if-none-match", "*"),
            ("idempotency-key", "\u{e9}"),
            ("idempotency-key", ""),
            ("origin", "null"),
            ("cookie", "a=b; c"),
            ("host", "[::"),
        ] {
            let call = endpoint
                .call(&system, &user)
                .json(endpoint.example())
                .header(name, value);
            well_formed(endpoint.area, &call.send().await, name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_http_is_answered_or_closed_and_never_hangs() {
    let (system, _, _) = described().await;
    for area in AREAS {
        let address: SocketAddr = area
            .api(&system)
            .base()
            .strip_prefix("http://")
            .unwrap()
            .parse()
            .unwrap();
        let post = |headers: &str, body: &str| {
            format!(
                "POST /api/auth/login HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}\r\n{body}"
            )
        };
        let json = "Content-Type: application/json\r\n";
        let requests = [
            (post(&format!("{json}Content-Length: abc\r\n"), "{}"), &["400"][..]),
            (post(&format!("{json}Content-Length: -5\r\n"), "{}"), &["400"]),
            (post(&format!("{json}Content-Length: 5\r\nContent-Length: 6\r\n"), "{}    "), &["400"]),
            (post(&format!("{json}Transfer-Encoding: chunked\r\n"), "zz\r\n{}\r\n0\r\n\r\n"), &["400", "404"]),
            (post(&format!("{json}Transfer-Encoding: nonsense\r\n"), ""), &["400", "404"]),
            ("GARBAGE\r\n\r\n".to_owned(), &["400"]),
            ("GET / HTTP/9.9\r\n\r\n".to_owned(), &["400", "505"]),
            ("GET /api/auth/me HTTP/1.1\r\nHost: h\r\nBad Header: x\r\nConnection: close\r\n\r\n".to_owned(), &["400"]),
            ("\u{16}\u{3}\u{1}".repeat(20) + "\r\n\r\n", &["400"]),
        ];
        for (request, statuses) in requests {
            let answer = raw_request(address, request.as_bytes()).await;
            let fits = |status: &&str| answer.starts_with(&format!("HTTP/1.1 {status}"));
            assert!(
                answer.is_empty() || statuses.iter().any(fits),
                "{area:?} {request:?}: {answer:?}"
            );
        }
        let huge = post(&format!("{json}Content-Length: 99999999999\r\n"), "{");
        let answer = raw_request(address, huge.as_bytes()).await;
        assert!(
            ["HTTP/1.1 413", "HTTP/1.1 404"]
                .iter()
                .any(|start| answer.starts_with(start)),
            "{answer}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn administration_is_refused_to_other_users_before_anything_else_is_checked() {
    let (system, user, endpoints) = everything().await;
    let administration: Vec<_> = endpoints
        .iter()
        .filter(|endpoint| endpoint.path.starts_with(ADMINISTRATION))
        .collect();
    assert!(administration.len() >= 5, "{}", administration.len());
    for endpoint in administration {
        for body in ["{", "{}", "null"] {
            let call = endpoint.call(&system, &user).body("application/json", body);
            refused(endpoint.area, &call.send().await, &[403], body);
        }
    }
}

const ADMINISTRATION: &str = "/api/admin/";

/// Returns what every signed-in user can call, except what ends the session.
async fn described() -> (System, User, Vec<Endpoint>) {
    let (system, user, mut endpoints) = everything().await;
    endpoints.retain(|endpoint| {
        endpoint.path != "/api/auth/logout" && !endpoint.path.starts_with(ADMINISTRATION)
    });
    (system, user, endpoints)
}

async fn everything() -> (System, User, Vec<Endpoint>) {
    let system = System::start().await;
    let user = system.register_user("prober").await;
    let team = system.team_with_project(&user, "probes").await;
    assert_eq!(team.id, 1, "paths filled with 1 name things that exist");
    let mut endpoints = Vec::new();
    for area in AREAS {
        let description = area
            .api(&system)
            .get("/openapi.json")
            .send()
            .await
            .expect(200)
            .json();
        endpoints.extend(read_description(area, &description));
    }
    assert!(endpoints.len() > 30, "{}", endpoints.len());
    (system, user, endpoints)
}

fn read_description(area: Area, description: &Value) -> Vec<Endpoint> {
    let mut endpoints = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let Ok(method) = Method::from_bytes(method.to_uppercase().as_bytes()) else {
                continue;
            };
            let body = operation.pointer("/requestBody/content/application~1json/schema");
            endpoints.push(Endpoint {
                area,
                method,
                path: path.clone(),
                // OAuth clients authenticate in other ways.
                secured: operation["security"].as_array().is_some_and(|ways| {
                    !ways.is_empty() && ways.iter().all(|way| way.get("bearer").is_some())
                }),
                body: body.map(|schema| resolved(description, schema)),
                body_required: operation["requestBody"]["required"] == true,
            });
        }
    }
    endpoints
}

fn resolved(description: &Value, schema: &Value) -> Value {
    match schema["$ref"].as_str() {
        Some(reference) => {
            let pointer = reference.strip_prefix('#').unwrap();
            resolved(description, description.pointer(pointer).unwrap())
        }
        None => schema.clone(),
    }
}

impl Area {
    fn api(self, system: &System) -> &ApiClient {
        match self {
            Self::Identity => &system.identity,
            Self::Work => &system.work,
        }
    }
}

impl Endpoint {
    /// Returns the path with every parameter set to `value`.
    fn filled(&self, value: &str) -> String {
        let mut path = String::new();
        for (index, part) in self.path.split(['{', '}']).enumerate() {
            path.push_str(if index % 2 == 0 { part } else { value });
        }
        path
    }

    /// Whether it requires a JSON body, which a photo is not.
    fn takes_json(&self) -> bool {
        self.body_required && self.body.is_some()
    }

    fn anonymous(&self, system: &System) -> ApiRequest {
        self.area
            .api(system)
            .call(self.method.clone(), &self.filled("1"))
            // The event stream refuses this header; its response would be endless.
            .header("accept", "application/json")
    }

    fn call(&self, system: &System, user: &User) -> ApiRequest {
        self.anonymous(system).bearer(&user.token)
    }

    /// Calls with a valid body except for one field, which is `value` as raw text.
    fn call_with(&self, system: &System, user: &User, field: &str, value: &str) -> ApiRequest {
        let mut body = self.example();
        body[field] = json!("@@");
        let body = body.to_string().replace("\"@@\"", value);
        self.call(system, user).body("application/json", body)
    }

    fn fields(&self) -> Vec<String> {
        let properties = self
            .body
            .as_ref()
            .and_then(|schema| schema["properties"].as_object());
        properties
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Returns a valid body.
    fn example(&self) -> Value {
        let mut body = Map::new();
        for field in self.fields() {
            let value = match field.as_str() {
                "username" => json!("prober"),
                "password" => json!("long enough"),
                "role" => json!("member"),
                "slug" => json!("probe-slug"),
                "provider" => json!("slack"),
                "webhook_url" => json!("http://127.0.0.1:1/hook"),
                "timezone" => json!("UTC"),
                "email" => json!("probe@example.com"),
                "category" => json!("coding"),
                "project_id" => json!("none"),
                "team_id" | "duration" => json!(1),
                "start_time" | "end_time" => json!("2026-11-23T09:00:00Z"),
                "session_id" => json!("019ab7a0-0000-7000-8000-000000000000"),
                "name" | "description" | "note" => json!("text"),
                _ => continue,
            };
            body.insert(field, value);
        }
        Value::Object(body)
    }
}

/// Checks for a 4xx of one of these statuses, in the area's format.
#[track_caller]
fn refused(area: Area, reply: &ApiResponse, statuses: &[u16], what: &str) {
    well_formed(area, reply, what);
    assert!(
        statuses.contains(&reply.status),
        "{} ({what:.80}): {} {}",
        reply.call,
        reply.status,
        reply.text()
    );
}

/// Checks for a success or a 4xx in the area's format, with the headers of every response.
#[track_caller]
fn well_formed(area: Area, reply: &ApiResponse, what: &str) {
    let shown = || {
        format!(
            "{} ({what:.80}): {} {}",
            reply.call,
            reply.status,
            reply.text()
        )
    };
    assert!(
        reply.status < 500 || reply.call.contains("/api/health"),
        "{}",
        shown()
    );
    assert!(
        !reply.header("x-request-id").is_empty(),
        "{}: no request id",
        shown()
    );
    assert_eq!(
        reply.header("x-content-type-options"),
        "nosniff",
        "{}",
        shown()
    );
    if !(400..500).contains(&reply.status) {
        return;
    }
    assert_eq!(
        reply.header("content-type"),
        "application/json",
        "{}",
        shown()
    );
    let body = reply.json();
    let error = body["error"].as_str().unwrap_or_default();
    assert!(!error.is_empty(), "{}", shown());
    match area {
        Area::Identity => {
            let is_code = error
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let described = body["error_description"]
                .as_str()
                .is_some_and(|text| !text.is_empty());
            assert!(is_code && described, "{}", shown());
        }
        Area::Work => assert_eq!(body, json!({"error": error}), "{}", shown()),
    }
}
