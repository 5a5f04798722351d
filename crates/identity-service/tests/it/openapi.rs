use std::path::Path;

/// `cargo xtask openapi` writes the file.
#[test]
fn the_committed_description_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi/identity.json");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let generated = identity_service::openapi().to_pretty_json().unwrap();
    assert!(
        committed.trim_end() == generated,
        "docs/openapi/identity.json differs from the code: run `identity-service openapi > docs/openapi/identity.json`"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_is_served_with_a_page_that_shows_it() {
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
async fn every_described_path_is_answered_and_every_error_has_a_body() {
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
async fn the_probes_and_the_metrics_answer() {
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
