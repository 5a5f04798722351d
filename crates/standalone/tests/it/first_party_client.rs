//! What a first-party client may do in both areas: what its token's scopes name, and no more.

use reqwest::Method;
use serde_json::json;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::harness::{Options, System, User};

const SECRET: &str = "a-secret-of-at-least-32-characters";
const CALLBACK: &str = "https://own.example.com/cb";

/// Returns the token that the client gets for this scope, or for all that it may have.
async fn token(system: &System, user: &User, client: &str, scope: Option<&str>) -> String {
    let mut asked = vec![
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
    ];
    asked.extend(scope.map(|scope| ("scope", scope)));
    let query = Serializer::new(String::new()).extend_pairs(asked).finish();
    let path = format!("/api/oauth/authorize?{query}");
    let call = system.identity.get(&path).bearer(&user.token);
    let reply = call.send().await.expect(302);
    let there: Url = reply.header("location").parse().unwrap();
    let code = there
        .query_pairs()
        .find(|(name, _)| name == "code")
        .unwrap();
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &code.1),
        ("redirect_uri", CALLBACK),
        ("client_id", client),
        ("client_secret", SECRET),
    ];
    let body = Serializer::new(String::new()).extend_pairs(form).finish();
    let call = system.identity.post("/api/oauth/token");
    let call = call.body("application/x-www-form-urlencoded", body);
    let tokens = call.send().await.expect(200).json();
    tokens["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_party_token_allows_what_its_scopes_name_in_both_areas() {
    let client = |id: &str, is_first_party: bool| {
        json!({"client_id": id, "name": id, "client_secret": SECRET, "redirect_uris": [CALLBACK],
               "first_party": is_first_party})
    };
    let system = System::with(Options {
        identity: json!({"oauth_clients": [client("own", true), client("other", false)]}),
        ..Options::default()
    })
    .await;
    let (ada, bob) = (
        system.register_user("ada").await,
        system.register_user("bob").await,
    );
    let team = system.team_with_project(&ada, "crew").await;
    system.add_member(&ada, &team, &bob).await;
    let (id, project) = (ada.id, team.project);
    let identity = [
        ("GET", format!("/api/auth/user/{id}/profile-photo"), ""),
        ("PUT", format!("/api/auth/user/{id}"), "account"),
        (
            "DELETE",
            format!("/api/auth/user/{id}/profile-photo"),
            "account",
        ),
        ("GET", "/api/auth/sessions".to_owned(), "account"),
        ("GET", "/api/auth/applications".to_owned(), "account"),
        ("GET", "/api/auth/export".to_owned(), "account"),
        ("GET", "/api/oauth/userinfo".to_owned(), "openid"),
        ("GET", "/api/teams".to_owned(), "teams"),
        ("GET", "/api/teams/crew/members".to_owned(), "teams"),
        ("PUT", "/api/teams/crew".to_owned(), "teams:write"),
        ("POST", "/api/auth/password/change".to_owned(), "none"),
        ("GET", "/api/admin/users".to_owned(), "none"),
    ];
    let work = [
        ("GET", "/api/user/data".to_owned(), "sessions:read"),
        ("GET", "/api/sessions".to_owned(), "sessions:read"),
        ("PUT", "/api/user/preferences".to_owned(), "sessions:write"),
        (
            "PUT",
            format!("/api/team-projects/{project}"),
            "teams:write",
        ),
        (
            "DELETE",
            format!("/api/team-projects/{project}/chat"),
            "integrations:write",
        ),
        (
            "GET",
            format!("/api/team-projects/{project}/activity"),
            "teams sessions:read",
        ),
        (
            "GET",
            "/api/team-activity?team=crew".to_owned(),
            "teams sessions:read",
        ),
        (
            "POST",
            "/api/webhooks".to_owned(),
            "integrations:write sessions:read",
        ),
        ("GET", "/api/sessions/export".to_owned(), "account"),
    ];
    for granted in [
        "openid",
        "profile email",
        "teams",
        "teams:write",
        "sessions:read",
        "teams sessions:read",
        "sessions:write",
        "integrations:write",
        "account",
        "offline_access",
        "",
    ] {
        let scope = Some(granted).filter(|scope| !scope.is_empty());
        let token = token(&system, &ada, "own", scope).await;
        let at = [(&system.identity, &identity[..]), (&system.work, &work[..])];
        for (api, endpoints) in at {
            for (method, path, needed) in endpoints {
                let method: Method = method.parse().unwrap();
                let call = api.call(method.clone(), path).bearer(&token);
                let reply = call.json(json!({})).send().await;
                let text = reply.text().to_lowercase().replace(' ', "_");
                let is_refused = reply.status == 403 && text.contains("insufficient_scope");
                let has = |name: &str| granted.split(' ').any(|scope| scope == name);
                let is_enough = match *needed {
                    "none" => false,
                    needed => {
                        scope.is_none() || needed.split(' ').all(|one| one.is_empty() || has(one))
                    }
                };
                assert_eq!(
                    is_refused, !is_enough,
                    "{method} {path} with {granted:?}: {text}"
                );
            }
        }
        let call = system.identity.get("/api/auth/validate").bearer(&token);
        let told = call.send().await.expect(200).json();
        assert_eq!(told["origin"], "first_party");
        if let Some(scope) = scope {
            assert_eq!(told["scope"], scope);
            assert_eq!(told["email"].is_null(), !scope.contains("email"), "{scope}");
        }
    }
    // The scopes of first-party clients are unknown to other clients.
    let path = format!(
        "/api/oauth/authorize?client_id=other&redirect_uri={CALLBACK}&response_type=code&scope=account"
    );
    let reply = system.identity.get(&path).bearer(&ada.token).send().await;
    let there = reply.expect(302).header("location").to_owned();
    assert!(there.contains("error=invalid_scope"), "{there}");
}
