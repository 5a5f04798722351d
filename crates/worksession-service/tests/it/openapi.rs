use std::path::Path;

use serde_json::{Value, json};

use crate::caller::{Caller, changed, honest};
use crate::service_fixture::Service;
use crate::webhook_fixture::create_webhook;

#[test]
fn the_committed_openapi_document_matches_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi/worksession.json");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let made = worksession_service::openapi_json().unwrap();
    assert!(
        committed == made,
        "docs/openapi/worksession.json differs from the code: cargo run -p worksession-service -- openapi > {}",
        path.display()
    );
}

/// Client generators name functions after operations. They drop an operation whose name another one of its tag has.
#[test]
fn every_operation_has_a_name_of_its_own_in_camel_case_and_an_example_of_its_request() {
    let description = serde_json::to_value(worksession_service::openapi()).unwrap();
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
    for name in ["getLeaderboard", "startSession", "submitSession"] {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn every_operation_documents_its_responses_and_every_protected_one_its_scopes() {
    let description = serde_json::to_value(worksession_service::openapi()).unwrap();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(
                operation["responses"]
                    .as_object()
                    .is_some_and(|all| !all.is_empty()),
                "{method} {path}"
            );
            let scopes = operation["security"][0]["bearer"]
                .as_array()
                .map_or(0, Vec::len);
            let open = ["/api/health", "/api/login"].contains(&path.as_str());
            assert_eq!(scopes > 0, !open, "{method} {path}");
            let answer = |status| operation["responses"][status]["description"].as_str();
            if path != "/api/health" {
                assert!(answer("401").is_some(), "{method} {path} says 401");
                assert!(answer("503").is_some(), "{method} {path} says 503");
            }
            if !open {
                let forbidden = answer("403").unwrap();
                assert!(
                    forbidden.contains("Insufficient scope"),
                    "{method} {path} says 403: {forbidden}"
                );
                let unavailable = answer("503").unwrap();
                for reason in ["Authentication service unavailable", "Database unavailable"] {
                    assert!(
                        unavailable.contains(reason),
                        "{method} {path}: {unavailable}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_documented_scopes_equal_those_of_the_openapi_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scopes.md");
    let document = std::fs::read_to_string(path).unwrap();
    let section = document.split("## Work-session area").nth(1).unwrap();
    let mut documented: Vec<&str> = section
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("`/"))
        .collect();
    documented.sort_unstable();
    let description = serde_json::to_value(worksession_service::openapi()).unwrap();
    let mut described = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if let Some(scopes) = operation["security"][0]["bearer"].as_array() {
                let method = method.to_uppercase();
                let named = scopes
                    .iter()
                    .map(|scope| format!("`{}`", scope.as_str().unwrap()));
                let scope = named.collect::<Vec<_>>().join(" and ");
                described.push(format!("| {method} | `{path}` | {scope} |"));
            }
        }
    }
    described.sort_unstable();
    assert_eq!(documented, described);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_repeated_or_mistyped_parameter_names_it() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let project = service.team_project().await;
    let (webhook, _) = create_webhook(&ada, json!({"url": "https://hooks.example/x"})).await;
    let description = serde_json::to_value(worksession_service::openapi()).unwrap();
    let mut tried = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (verb, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array();
            let of_query = |parameter: &&Value| parameter["in"] == "query";
            for parameter in parameters.into_iter().flatten().filter(of_query) {
                assert!(operation["responses"]["400"].is_object(), "{verb} {path}");
                let name = parameter["name"].as_str().unwrap();
                let kind = parameter["schema"]["type"].to_string();
                let id = match path.contains("webhooks") {
                    true => webhook["id"].to_string(),
                    false => project.to_string(),
                };
                let place = path.replace("{id}", &id);
                let mut queries = vec![format!("{name}=1&{name}=1"), format!("{name}=%00")];
                if kind.contains("integer") || kind.contains("boolean") || name == "limit" {
                    queries.push(format!("{name}=x"));
                }
                for query in queries {
                    let reply = ada.get(&format!("{place}?{query}")).await.expect(400);
                    let sentence = reply.json()["error"].as_str().unwrap().to_owned();
                    assert!(sentence.contains(name), "{path} {query}: {sentence}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 60, "{tried}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_id_with_nul_is_not_found_wherever_it_is_sent() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let started = ada.start_coding().await;
    let gone = json!({"error": "Session not found"});
    let own = started["session_id"].as_str().unwrap();
    for id in ["%00".to_owned(), format!("{own}%00"), format!("%00{own}")] {
        for path in ["/api/sessions/", "/api/get_presession/"] {
            let reply = ada.get(&format!("{path}{id}")).await;
            assert_eq!(reply.expect(404).json(), gone, "{path}{id}");
        }
        let call = service
            .api
            .call(reqwest::Method::PATCH, &format!("/api/sessions/{id}"));
        let reply = call
            .bearer(&ada.token)
            .json(json!({"note": "x"}))
            .send()
            .await;
        assert_eq!(reply.expect(404).json(), gone, "{id}");
    }
    for id in ["\0".to_owned(), format!("{own}\0"), format!("\0{own}")] {
        let body = changed(honest(&started, &service), &json!({"session_id": id}));
        assert_eq!(ada.submit(body).await.expect(404).json(), gone);
    }
    // Elsewhere it is text that cannot be stored.
    let nul = json!({"error": "Text must not contain the NUL character"});
    for fields in [
        json!({"note": "a\0"}),
        json!({"session_id": "\0", "note": "a\0"}),
    ] {
        let body = changed(honest(&started, &service), &fields);
        assert_eq!(ada.submit(body).await.expect(400).json(), nul);
    }
    service.stop().await;
}
