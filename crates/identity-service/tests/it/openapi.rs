use std::path::Path;

use serde_json::{Value, json};

/// `cargo xtask openapi` writes the file.
#[test]
fn the_committed_openapi_document_matches_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi/identity.json");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let generated = identity_service::openapi().to_pretty_json().unwrap();
    assert!(
        committed.trim_end() == generated,
        "docs/openapi/identity.json differs from the code: run `identity-service openapi > docs/openapi/identity.json`"
    );
}

/// Client generators name functions after operations. They drop an operation whose name another one of its tag has.
#[test]
fn every_operation_has_a_name_of_its_own_in_camel_case_and_an_example_of_its_request() {
    let description = serde_json::to_value(identity_service::openapi()).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for operation in description["paths"].as_object().unwrap().values() {
        for operation in operation.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(name.starts_with(|letter: char| letter.is_ascii_lowercase()));
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
            assert!(names.insert(name), "{name} is the name of two operations");
            let bodies = operation["requestBody"]["content"].as_object();
            for (kind, body) in bodies.into_iter().flatten() {
                let is_text = kind.starts_with("application/");
                assert_eq!(body["example"].is_object(), is_text, "{name} {kind}");
            }
        }
    }
    for name in [
        "listTeams",
        "uploadProfilePhoto",
        "validateToken",
        "validateTokenByPost",
    ] {
        assert!(names.contains(name), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_and_its_page_are_served() {
    let identity = crate::support::Identity::start().await;
    let served = identity
        .api
        .get("/openapi.json")
        .send()
        .await
        .expect(200)
        .json();
    assert!(served["paths"]["/api/auth/validate"]["post"].is_object());
    let page = identity.api.get("/docs/").send().await.expect(200);
    assert!(page.text().contains("swagger"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_described_operation_exists_and_describes_its_error_bodies() {
    let identity = crate::support::Identity::start().await;
    let description: serde_json::Value = serde_json::to_value(identity_service::openapi()).unwrap();
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap() {
            let path = path
                .replace("{user_id}", "1")
                .replace("{slug}", "s")
                .replace("{username}", "u");
            let method = reqwest::Method::from_bytes(verb.to_uppercase().as_bytes()).unwrap();
            let reply = identity.api.call(method, &path).send().await;
            assert!(
                reply.status != 405
                    && !(reply.status == 404 && reply.json()["error"] == "not_found"),
                "{verb} {path}"
            );
            for (status, response) in operation["responses"].as_object().unwrap() {
                let described = response["content"]["application/json"]["schema"]["$ref"]
                    .as_str()
                    .unwrap_or_default();
                assert!(
                    !status.starts_with(['4', '5']) || described.ends_with("IdentityError"),
                    "{verb} {path} {status}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_probes_and_the_metrics_respond() {
    let identity = crate::support::Identity::start().await;
    identity.api.get("/health/live").send().await.expect(200);
    let ready = identity
        .api
        .get("/health/ready")
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(
        ready,
        serde_json::json!({ "ready": true, "database": "connected", "broker": "memory" })
    );
    let metrics = identity.api.get("/metrics").send().await.expect(200).text();
    assert!(metrics.contains("http_requests_total"), "{metrics}");
}

/// Returns every described query parameter: method, path, name and type.
fn query_parameters(description: &Value) -> Vec<(String, String, String, String)> {
    let mut found = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap() {
            let parameters = operation["parameters"].as_array();
            for parameter in parameters.into_iter().flatten() {
                if parameter["in"] == "query" {
                    let name = parameter["name"].as_str().unwrap().to_owned();
                    let kind = parameter["schema"]["type"].to_string();
                    assert!(operation["responses"]["400"].is_object(), "{verb} {path}");
                    found.push((verb.to_uppercase(), path.clone(), name, kind));
                }
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_parameter_that_is_repeated_or_has_another_type_is_refused_by_name() {
    let fixture = crate::team_fixture::TeamFixture::start().await;
    let identity = &fixture.identity;
    identity.sql("UPDATE users SET role = 'SUPERADMIN' WHERE id = 1");
    let sign_in = async || {
        let reply = identity.login("olga", crate::support::PASSWORD).await;
        crate::support::signed_in(&reply.expect(200).json())
    };
    let description = serde_json::to_value(identity_service::openapi()).unwrap();
    let parameters = query_parameters(&description);
    assert!(parameters.len() > 30, "{}", parameters.len());
    for (verb, path, name, kind) in parameters {
        // The errors of this endpoint follow RFC 6749.
        if path == "/api/oauth/authorize" {
            continue;
        }
        // Each parameter gets a new session, because one of the endpoints ends all sessions.
        let owner = sign_in().await;
        let place = path
            .replace("{user_id}", &owner.id.to_string())
            .replace("{slug}", "crew");
        let method = reqwest::Method::from_bytes(verb.as_bytes()).unwrap();
        let mut queries = vec![format!("{name}=1&{name}=1")];
        if kind.contains("integer") || kind.contains("boolean") {
            queries.push(format!("{name}=x"));
        }
        for query in queries {
            let call = identity
                .api
                .call(method.clone(), &format!("{place}?{query}"))
                .header("accept", "application/json")
                .bearer(&owner.access);
            let call = match verb.as_str() {
                "POST" => call.json(json!({"tokens": []})),
                _ => call,
            };
            let reply = call.send().await.expect(400).json();
            let sentence = reply["error_description"].as_str().unwrap();
            assert!(sentence.contains(&name), "{verb} {path} {query}: {reply}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_id_with_nul_is_not_found() {
    let identity = crate::support::Identity::start().await;
    let ada = identity.register("ada").await;
    for id in ["%00", "a%00b", "unknown"] {
        let call = identity.api.delete(&format!("/api/auth/sessions/{id}"));
        let reply = call.bearer(&ada.access).send().await.expect(404).json();
        assert_eq!(reply["error_description"], "There is no such session");
    }
}
