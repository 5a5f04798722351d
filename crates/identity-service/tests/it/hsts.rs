use test_kit::ApiClient;

use crate::support::Identity;

/// Returns the `Strict-Transport-Security` headers of a service with this public address.
async fn hsts(address: &str) -> String {
    let identity = Identity::start_with(|config| {
        config.base_url = address.parse().ok();
        config.hsts_seconds = 31_536_000;
    })
    .await;
    // The public address does not lead to this server.
    let api = ApiClient::new(format!("http://{}", identity.running.addr()));
    let mut said = Vec::new();
    for path in ["/login", "/api/auth/me", "/health/live", "/nowhere"] {
        let reply = api.get(path).send().await;
        said.push(reply.header("strict-transport-security").to_owned());
    }
    said.dedup();
    said.join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn hsts_is_sent_only_if_configured_and_only_for_an_https_address() {
    assert_eq!(hsts("https://id.example.com").await, "max-age=31536000");
    assert_eq!(hsts("http://localhost").await, "");
    let identity = Identity::start().await;
    let reply = identity.api.get("/login").send().await;
    assert_eq!(reply.header("strict-transport-security"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_docs_run_only_their_own_scripts_and_cannot_be_framed() {
    let identity = Identity::start().await;
    for path in [
        "/docs/",
        "/docs",
        "/docs/swagger-initializer.js",
        "/docs/nowhere",
    ] {
        let reply = identity.api.get(path).send().await;
        let policy = reply.header("content-security-policy");
        let directives: Vec<_> = policy.split("; ").collect();
        for directive in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(directives.contains(&directive), "{path}: {policy}");
        }
        assert_eq!(reply.header("x-frame-options"), "DENY", "{path}");
    }
    // The policy allows scripts in files but not in the page, so the page must have none.
    let page = identity.api.get("/docs/").send().await.expect(200).text();
    let scripts = page.matches("<script").count();
    assert!(
        scripts > 0 && page.matches("<script src=").count() == scripts,
        "{page}"
    );
    assert!(!page.contains(" onload="), "{page}");
}
