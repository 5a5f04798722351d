//! Checks every endpoint with every kind of token against `docs/scopes.md`.

use std::path::Path;

use serde_json::json;

use crate::oauth_fixture::OAuth;
use crate::support::{PASSWORD, signed_in};

const SITE: &str = "https://mini.example.com";

/// A row of the identity service's table.
struct Row {
    method: String,
    path: String,
    client: String,
    sso: bool,
}

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scopes.md");
    std::fs::read_to_string(path).unwrap()
}

fn rows() -> Vec<Row> {
    let document = document();
    let section = document.split("## Identity area").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim_matches('|').split('|');
        inner.map(|cell| cell.trim().replace('`', "")).collect()
    };
    section
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("`/"))
        .map(cells)
        .map(|cells| Row {
            method: cells[0].clone(),
            path: cells[1].clone(),
            client: cells[2].clone(),
            sso: cells[3] == "yes",
        })
        .collect()
}

#[test]
fn every_described_endpoint_that_takes_a_token_has_its_row() {
    let description = serde_json::to_value(identity_service::openapi()).unwrap();
    let rows = rows();
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap() {
            let takes_a_token = operation["security"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one.get("bearer").is_some()));
            let has_a_row = rows
                .iter()
                .any(|row| row.method.eq_ignore_ascii_case(verb) && row.path == *path);
            assert_eq!(takes_a_token, has_a_row, "{verb} {path}");
        }
    }
}

#[test]
fn every_endpoint_that_refuses_some_tokens_documents_insufficient_scope() {
    let description = serde_json::to_value(identity_service::openapi()).unwrap();
    for row in rows() {
        let operation = &description["paths"][&row.path][row.method.to_lowercase()];
        let forbidden = operation["responses"]["403"]["description"].as_str();
        let described = forbidden.unwrap_or_default().contains("insufficient_scope");
        let takes_all = row.client == "any token" && row.sso;
        assert_eq!(described, !takes_all, "{} {}", row.method, row.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_endpoint_accepts_the_tokens_of_its_row_and_no_others() {
    let mut oauth = OAuth::start_with(|config| {
        config.sso.allowed_origins.0 = vec![SITE.to_owned()];
    })
    .await;
    let all = "openid profile email teams teams:write sessions:read sessions:write integrations:write offline_access account";
    oauth
        .identity
        .sql(&format!("UPDATE oauth_clients SET scope = '{all}'"));
    for row in rows() {
        let name = format!("{} {}", row.method, row.path);
        let needed = match row.client.as_str() {
            "any token" | "–" => None,
            scope => Some(scope.to_owned()),
        };
        // All scopes but the required one, and then the required one alone.
        let others: Vec<&str> = all
            .split(' ')
            .filter(|scope| Some(*scope) != needed.as_deref())
            .collect();
        let others = others.join(" ");
        let mut tries = vec![
            (
                "other scopes",
                Some(("web", others.as_str())),
                row.client == "any token",
            ),
            // Being first-party allows nothing that a scope does not name.
            (
                "a first-party client's other scopes",
                Some(("own", others.as_str())),
                row.client == "any token",
            ),
            ("single sign-on", None, row.sso),
        ];
        if let Some(scope) = &needed {
            let is_for_own = scope == "account";
            tries.push(("its scope", Some(("web", scope)), !is_for_own));
            tries.push(("a first-party client's", Some(("own", scope)), true));
        }
        for (kind, client, allowed) in tries {
            // The call before may have ended the session.
            let again = oauth.identity.login("ada", PASSWORD).await.expect(200);
            oauth.ada = signed_in(&again.json());
            let token = match client {
                Some((client, scope)) => {
                    let tokens = oauth.tokens(client, scope).await;
                    tokens["access_token"].as_str().unwrap().to_owned()
                }
                None => oauth.handed_over(SITE).await,
            };
            let path = row
                .path
                .replace("{user_id}", "77")
                .replace("{slug}", "nothing")
                .replace("{username}", "nobody");
            // These two endpoints check the redirect URI before the token.
            let path = match path.as_str() {
                "/api/auth/sso/authorize" => format!("{path}?redirect_uri={SITE}"),
                "/api/oauth/authorize" => OAuth::request("web", &[]),
                path => path.replace(['{', '}'], ""),
            };
            let call = oauth.identity.api.call(row.method.parse().unwrap(), &path);
            let reply = call.bearer(&token).json(json!({})).send().await;
            let refused = reply.status == 403 && reply.text().contains("insufficient_scope");
            assert_eq!(
                !refused,
                allowed,
                "{name} with {kind}: {} {}",
                reply.status,
                reply.text()
            );
        }
    }
}
