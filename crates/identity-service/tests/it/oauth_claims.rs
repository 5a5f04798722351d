//! The claims about an account: name, language, time zone, e-mail address and groups.

use serde_json::{Value, json};

use crate::oauth_fixture::{OAuth, claims};
use crate::provider_fixture::Provider;
use crate::support::{refused, signed_in};
use crate::team_fixture::TeamFixture;

const USERINFO: &str = "/api/oauth/userinfo";

/// Returns the claims of an ID token, of userinfo and of introspection that a client gets with a scope.
async fn seen_everywhere(oauth: &OAuth, scope: &str) -> [Value; 3] {
    let pair = oauth.tokens("web", scope).await;
    let id = claims(pair["id_token"].as_str().unwrap());
    let token = signed_in(&pair).access;
    let userinfo = oauth.identity.api.get(USERINFO).bearer(&token);
    let userinfo = userinfo.send().await.expect(200).json();
    [id, userinfo, introspected(oauth, &token).await]
}

async fn introspected(oauth: &OAuth, token: &str) -> Value {
    let credentials = ("web", Some(crate::oauth_fixture::SECRET));
    let form = [("token", token)];
    let reply = oauth.post("/api/oauth/introspect", credentials, &form);
    reply.await.expect(200).json()
}

async fn create_team(oauth: &OAuth, slug: &str) {
    let body = json!({ "name": slug, "slug": slug });
    let call = oauth.identity.api.post("/api/teams");
    let call = call.bearer(&oauth.ada.access).json(body);
    call.send().await.expect(201);
}

/// Registers the client `web` for every scope, and for this form of the claim `groups`.
fn widen(oauth: &OAuth, groups_claim: Option<&str>) {
    let metadata = json!({ "groups_claim": groups_claim });
    oauth.identity.sql(&format!(
        "UPDATE oauth_clients SET scope = 'openid profile email groups teams', metadata = '{metadata}' WHERE id = 'web'"
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn name_address_language_and_zone_follow_the_scopes_everywhere() {
    let oauth = OAuth::start().await;
    let named = |claims: &Value| {
        let names = [
            "name",
            "email",
            "email_verified",
            "locale",
            "zoneinfo",
            "groups",
        ];
        let found = names.map(|name| claims.get(name).cloned());
        Value::from_iter(
            names
                .into_iter()
                .zip(found)
                .filter_map(|(name, it)| Some((name, it?))),
        )
    };
    // Without a display name, the username is the name. What is not set is no claim.
    for seen in seen_everywhere(&oauth, "openid profile email").await {
        assert_eq!(named(&seen), json!({ "name": "ada" }));
    }
    oauth.identity.sql(
        "UPDATE users SET display_name = 'Ada Lovelace', email = 'ada@example.com', email_verified = TRUE, \
         locale = 'en-GB', zoneinfo = 'Europe/London' WHERE username = 'ada'",
    );
    let profile = json!({ "name": "Ada Lovelace", "locale": "en-GB", "zoneinfo": "Europe/London" });
    let email = json!({ "email": "ada@example.com", "email_verified": true });
    for (scope, expected) in [
        ("openid", json!({})),
        ("openid profile", profile),
        ("openid email", email),
        ("openid teams", json!({ "groups": [] })),
    ] {
        for seen in seen_everywhere(&oauth, scope).await {
            assert_eq!(named(&seen), expected, "{scope}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_the_teams_in_the_form_that_the_client_is_registered_for() {
    let plain = json!(["engines", "Night-Shift"]);
    for (form, expected) in [
        (None, &plain),
        (Some("slug"), &plain),
        (
            Some("slug:role"),
            &json!(["engines:owner", "Night-Shift:owner"]),
        ),
    ] {
        let oauth = OAuth::start().await;
        create_team(&oauth, "engines").await;
        create_team(&oauth, "Night-Shift").await;
        widen(&oauth, form);
        for scope in ["openid groups", "openid teams", "openid groups teams"] {
            for seen in seen_everywhere(&oauth, scope).await {
                assert_eq!(&seen["groups"], expected, "{form:?} {scope}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scope_groups_gives_the_claim_and_nothing_else() {
    let oauth = OAuth::start().await;
    create_team(&oauth, "engines").await;
    widen(&oauth, None);
    for seen in seen_everywhere(&oauth, "openid profile").await {
        assert!(seen.get("groups").is_none(), "{seen}");
    }
    let pair = oauth.tokens("web", "openid groups").await;
    let token = signed_in(&pair).access;
    for path in [
        "/api/teams",
        "/api/teams/engines",
        "/api/teams/engines/members",
    ] {
        let call = oauth.identity.api.get(path).bearer(&token);
        refused(call.send().await, 403, "insufficient_scope");
    }
    let call = oauth.identity.api.get("/api/auth/validate?include=teams");
    let validated = call.bearer(&token).send().await.expect(200).json();
    assert_eq!(validated["teams"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_that_was_left_is_no_group_at_once_in_userinfo_and_in_the_next_id_token() {
    let oauth = OAuth::start().await;
    create_team(&oauth, "engines").await;
    create_team(&oauth, "lamps").await;
    let pair = oauth.tokens("web", "openid teams").await;
    let token = signed_in(&pair);
    let groups = async || {
        let call = oauth.identity.api.get(USERINFO).bearer(&token.access);
        let userinfo = call.send().await.expect(200).json();
        let told = introspected(&oauth, &token.access).await;
        assert_eq!(userinfo["groups"], told["groups"]);
        userinfo["groups"].clone()
    };
    assert_eq!(groups().await, json!(["engines", "lamps"]));
    let call = oauth.identity.api.delete("/api/teams/lamps");
    call.bearer(&oauth.ada.access).send().await.expect(204);
    assert_eq!(groups().await, json!(["engines"]));
    let next = oauth.refresh("web", &token.refresh, None).await.expect(200);
    let id = claims(next.json()["id_token"].as_str().unwrap());
    assert_eq!(id["groups"], json!(["engines"]));

    let fixture = TeamFixture::start().await;
    let provider = Provider {
        admin: fixture.owner.clone(),
        identity: fixture.identity,
    };
    let app = crate::provider_fixture::Registered {
        id: "x".to_owned(),
        secret: String::new(),
    };
    provider.identity.sql(
        "INSERT INTO oauth_clients (id, name, redirect_uris, scope, is_first_party, may_introspect_any, id_token_alg, is_configured, \
         created_at, updated_at) VALUES ('x', 'X', '[]', 'openid groups', false, false, 'ES256', false, '2026-11-21 12:00:00', \
         '2026-11-21 12:00:00')",
    );
    let mia = provider.given("mia", &app, "openid groups").await;
    let groups = async || {
        let call = provider.identity.api.get(USERINFO).bearer(&mia.access);
        call.send().await.expect(200).json()["groups"].clone()
    };
    assert_eq!(groups().await, json!(["crew"]));
    let call = provider.identity.api.delete("/api/teams/crew/members/mia");
    call.bearer(&provider.admin.access).send().await.expect(204);
    assert_eq!(groups().await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_too_long_for_an_id_token_are_only_in_userinfo_and_introspection() {
    let oauth = OAuth::start().await;
    let slug = |n: usize| format!("a-team-with-a-name-of-fifty-characters-in-all-{n:03}x");
    assert_eq!(slug(0).len(), 50);
    let mut slugs: Vec<String> = Vec::new();
    for n in 0..39 {
        slugs.push(slug(n));
        create_team(&oauth, &slug(n)).await;
    }
    // 38 names of 50 characters, with quotes and comma, are 2,014 bytes; one more does not fit.
    let [id, userinfo, told] = seen_everywhere(&oauth, "openid teams").await;
    assert!(id.get("groups").is_none(), "{id}");
    assert_eq!(
        (&userinfo["groups"], &told["groups"]),
        (&json!(slugs), &json!(slugs))
    );
    let call = oauth
        .identity
        .api
        .delete(&format!("/api/teams/{}", slug(38)));
    call.bearer(&oauth.ada.access).send().await.expect(204);
    slugs.pop();
    for seen in seen_everywhere(&oauth, "openid teams").await {
        assert_eq!(seen["groups"], json!(slugs));
    }
}
