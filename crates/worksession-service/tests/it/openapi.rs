use std::path::Path;

use serde_json::Value;

#[test]
fn the_committed_api_description_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi/worksession.json");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let made = worksession_service::openapi_json().unwrap();
    assert!(
        committed == made,
        "docs/openapi/worksession.json differs from the code: cargo run -p worksession-service -- openapi > {}",
        path.display()
    );
}

#[test]
fn every_operation_names_its_answers_and_every_protected_one_its_scope() {
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
            let first_party = path == "/api/sessions/export";
            assert_eq!(scopes > 0, !open && !first_party, "{method} {path}");
            assert_eq!(operation["security"].is_array(), !open, "{method} {path}");
            let answer = |statuses: [&str; 2]| {
                let answers = &operation["responses"];
                let described = statuses.iter().find_map(|status| answers.get(status));
                let text =
                    |described: &Value| described["description"].as_str().unwrap().to_owned();
                described.map(text)
            };
            if path != "/api/health" {
                assert!(answer(["401", "4XX"]).is_some(), "{method} {path} says 401");
                assert!(answer(["503", "5XX"]).is_some(), "{method} {path} says 503");
            }
            if !open {
                let forbidden = answer(["403", "4XX"]).unwrap();
                assert!(
                    forbidden.contains("Insufficient scope") || forbidden == "As for client A",
                    "{method} {path} says 403: {forbidden}"
                );
                let unavailable = answer(["503", "5XX"]).unwrap();
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
fn the_table_of_scopes_in_the_documents_is_that_of_the_description() {
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
                // Without a scope it is for no client of others.
                let named = scopes
                    .iter()
                    .map(|scope| format!("`{}`", scope.as_str().unwrap()));
                let scope = named.collect::<Vec<_>>().join(" and ");
                let scope = if scope.is_empty() { "–" } else { &scope };
                described.push(format!("| {method} | `{path}` | {scope} |"));
            }
        }
    }
    described.sort_unstable();
    assert_eq!(documented, described);
}
