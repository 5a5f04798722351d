use chrono::Duration;
use serde_json::{Value, json};
use service_kit::config::CommaList;
use test_kit::ApiResponse;

use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in};

/// Starts a service behind a trusted proxy, so that tests choose the addresses of their requests.
async fn identity() -> Identity {
    Identity::start_with(|config| {
        config.trusted_proxies = CommaList(vec!["127.0.0.0/8".parse().unwrap()]);
    })
    .await
}

async fn login_from(identity: &Identity, name: &str, address: &str, agent: &str) -> SignedIn {
    let reply = identity
        .api
        .post("/api/auth/login")
        .header("x-forwarded-for", address)
        .header("user-agent", agent)
        .json(json!({ "username": name, "password": PASSWORD }))
        .send()
        .await;
    signed_in(&reply.expect(200).json())
}

async fn list(identity: &Identity, token: &str, query: &str) -> ApiResponse {
    let path = format!("/api/auth/sessions{query}");
    identity.api.get(&path).bearer(token).send().await
}

async fn end(identity: &Identity, token: &str, id: &str) -> ApiResponse {
    let path = format!("/api/auth/sessions/{id}");
    identity.api.delete(&path).bearer(token).send().await
}

/// Returns the id of a token's session.
async fn session_id(identity: &Identity, token: &str) -> String {
    let page = list(identity, token, "?limit=200").await.expect(200).json();
    let sessions = page["sessions"].as_array().unwrap();
    let current = sessions
        .iter()
        .find(|session| session["current"] == true)
        .unwrap();
    current["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_callers_live_sessions_are_listed_newest_first() {
    let identity = identity().await;
    let first = identity.register("ada").await;
    identity.register("bob").await;
    identity.hand.advance(Duration::minutes(1));
    let second = login_from(&identity, "ada", "192.0.2.7", "Tablet/1").await;
    let reply = list(&identity, &second.access, "").await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    let page = reply.json();
    assert_eq!(page["total"], 2);
    let sessions = page["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        sessions[0],
        json!({
            "id": sessions[0]["id"],
            "created_at": "2026-11-21T12:01:00Z",
            "last_used_at": "2026-11-21T12:01:00Z",
            "expires_at": "2027-02-19T12:01:00Z",
            "address": "192.0.2.7",
            "user_agent": "Tablet/1",
            "kind": "first_party",
            "service": null,
            "client": null,
            "current": true,
        })
    );
    assert_eq!(sessions[1]["created_at"], "2026-11-21T12:00:00Z");
    assert_eq!(sessions[1]["address"], "127.0.0.1");
    assert_eq!(sessions[1]["user_agent"], Value::Null);
    assert_eq!(sessions[1]["current"], false);
    let seen_by_first = list(&identity, &first.access, "").await.expect(200).json();
    assert_eq!(seen_by_first["sessions"][0]["current"], false);
    assert_eq!(seen_by_first["sessions"][1]["current"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_updates_the_address_user_agent_and_expiry_of_the_session() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let refresh_from = async |token: &str, address: &str, agent: &str| {
        let reply = identity
            .api
            .post("/api/auth/refresh")
            .header("x-forwarded-for", address)
            .header("user-agent", agent)
            .json(json!({ "refresh_token": token }))
            .send()
            .await;
        signed_in(&reply.expect(200).json())
    };
    identity.hand.advance(Duration::days(2));
    let next = refresh_from(&ada.refresh, "198.51.100.9", "Phone/2").await;
    let seen = || async {
        let page = list(&identity, &next.access, "").await.expect(200).json();
        assert_eq!(page["total"], 1);
        page["sessions"][0].clone()
    };
    let session = seen().await;
    assert_eq!(session["created_at"], "2026-11-21T12:00:00Z");
    assert_eq!(session["last_used_at"], "2026-11-23T12:00:00Z");
    assert_eq!(session["expires_at"], "2027-02-21T12:00:00Z");
    assert_eq!(session["address"], "198.51.100.9");
    assert_eq!(session["user_agent"], "Phone/2");

    // A repeated refresh does not change the location, and a thief's reuse does not either.
    refresh_from(&ada.refresh, "203.0.113.5", "Thief/1").await;
    assert_eq!(seen().await, session);

    // The expiry is never more than a year after the sign-in.
    let mut newest = next.refresh;
    for _ in 0..4 {
        identity.hand.advance(Duration::days(80));
        newest = refresh_from(&newest, "198.51.100.9", "Phone/2")
            .await
            .refresh;
    }
    let last = refresh_from(&newest, "198.51.100.9", "Phone/2").await;
    let page = list(&identity, &last.access, "").await.expect(200).json();
    assert_eq!(page["sessions"][0]["expires_at"], "2027-11-21T12:00:00Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_list_is_paged() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    for minute in 1..60 {
        identity.hand.advance(Duration::seconds(1));
        login_from(&identity, "ada", "192.0.2.1", &format!("Device/{minute}")).await;
    }
    let agents = async |query: &str| {
        let page = list(&identity, &ada.access, query).await.expect(200).json();
        assert_eq!(page["total"], 60, "{query}");
        let sessions = page["sessions"].as_array().unwrap().clone();
        let agent = |session: &Value| session["user_agent"].as_str().unwrap_or("-").to_owned();
        sessions.iter().map(agent).collect::<Vec<_>>()
    };
    let all = agents("?limit=200").await;
    assert_eq!((all.len(), all[0].as_str()), (60, "Device/59"));
    assert_eq!(all[59], "-");
    assert_eq!(agents("").await, all[..50]);
    assert_eq!(agents("?offset=50").await, all[50..]);
    assert_eq!(agents("?limit=7&offset=3").await, all[3..10]);
    assert_eq!(agents("?limit=1").await, all[..1]);
    assert!(agents("?offset=60").await.is_empty());
    for query in [
        "?limit=0",
        "?limit=201",
        "?limit=-1",
        "?limit=x",
        "?limit=",
        "?offset=-1",
        "?offset=99999999999999999999",
        "?limit=1&limit=2",
    ] {
        refused(
            list(&identity, &ada.access, query).await,
            400,
            "validation_failed",
        );
    }
    // A missing token is reported before anything else.
    let nobody = identity.api.get("/api/auth/sessions?limit=0").send().await;
    refused(nobody, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_and_expired_sessions_are_not_listed() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let signed_out = login_from(&identity, "ada", "192.0.2.1", "Out/1").await;
    login_from(&identity, "ada", "192.0.2.1", "Idle/1").await;
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&signed_out.access)
        .send()
        .await
        .expect(200);
    let total =
        async |token: &str| list(&identity, token, "").await.expect(200).json()["total"].clone();
    assert_eq!(total(&ada.access).await, 2);
    identity.hand.advance(Duration::days(60));
    let next = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    assert_eq!(total(&next.access).await, 2);
    identity.hand.advance(Duration::days(29));
    assert_eq!(total(&next.access).await, 2);
    let next = signed_in(&identity.refresh(&next.refresh).await.expect(200).json());
    identity.hand.advance(Duration::days(1));
    assert_eq!(total(&next.access).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_ended_by_its_id() {
    let identity = identity().await;
    let phone = identity.register("ada").await;
    let laptop = login_from(&identity, "ada", "192.0.2.1", "Laptop/1").await;
    let id = session_id(&identity, &laptop.access).await;
    let reply = end(&identity, &phone.access, &id).await.expect(204);
    assert_eq!(reply.text(), "");
    refused(
        identity.validate(&laptop.access).await,
        401,
        "token_revoked",
    );
    refused(
        identity.refresh(&laptop.refresh).await,
        401,
        "invalid_refresh_token",
    );
    identity.validate(&phone.access).await.expect(200);
    assert_eq!(
        identity.events("identity.session_revoked.v1"),
        [json!({ "user_id": phone.id, "sids": [id], "clients": [] })]
    );
    let audited = format!(
        "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND session_id = '{id}' AND actor_id = {}",
        phone.id
    );
    assert_eq!(identity.count(&audited), 1);
    refused(end(&identity, &phone.access, &id).await, 404, "not_found");

    let current = session_id(&identity, &phone.access).await;
    end(&identity, &phone.access, &current).await.expect(204);
    refused(identity.validate(&phone.access).await, 401, "token_revoked");
    refused(
        end(&identity, &phone.access, &current).await,
        401,
        "token_revoked",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_accounts_session_is_answered_like_an_unknown_one() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let his = session_id(&identity, &bob.access).await;
    let idle = login_from(&identity, "ada", "192.0.2.1", "Idle/1").await;
    let idle = session_id(&identity, &idle.access).await;
    let own = session_id(&identity, &ada.access).await;
    identity.hand.advance(Duration::days(60));
    let ada = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    identity.hand.advance(Duration::days(29));
    let ada = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    let bob = signed_in(&identity.refresh(&bob.refresh).await.expect(200).json());
    identity.hand.advance(Duration::days(1));
    let mut seen = None;
    for id in [
        his.as_str(),
        idle.as_str(),
        "00000000-0000-4000-8000-000000000000",
        "nonsense",
        "%20",
        "1",
        &own.to_uppercase(),
        &"x".repeat(1_000),
    ] {
        let body = refused(end(&identity, &ada.access, id).await, 404, "not_found").json();
        assert_eq!(*seen.get_or_insert(body.clone()), body, "{id}");
    }
    identity.validate(&bob.access).await.expect(200);
    let nobody = format!("/api/auth/sessions/{own}");
    let nobody = identity.api.delete(&nobody).send().await;
    refused(nobody, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_concurrent_requests_to_end_a_session_one_succeeds() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let other = login_from(&identity, "ada", "192.0.2.1", "Other/1").await;
    let path = format!(
        "/api/auth/sessions/{}",
        session_id(&identity, &other.access).await
    );
    let calls: Vec<_> = (0..10)
        .map(|_| tokio::spawn(identity.api.delete(&path).bearer(&ada.access).send()))
        .collect();
    let mut statuses = Vec::new();
    for call in calls {
        statuses.push(call.await.unwrap().status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![204], vec![404; 9]].concat());
    assert_eq!(identity.events("identity.session_revoked.v1").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_other_sessions_are_ended_at_once() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let mut others = Vec::new();
    for n in 0..3 {
        others.push(login_from(&identity, "ada", "192.0.2.1", &format!("Device/{n}")).await);
    }
    let end_others = || identity.api.delete("/api/auth/sessions");
    refused(end_others().send().await, 401, "authentication_required");
    end_others().bearer(&ada.access).send().await.expect(204);
    for other in &others {
        refused(identity.validate(&other.access).await, 401, "token_revoked");
    }
    identity.validate(&ada.access).await.expect(200);
    identity.refresh(&ada.refresh).await.expect(200);
    identity.validate(&bob.access).await.expect(200);
    assert_eq!(
        list(&identity, &ada.access, "").await.expect(200).json()["total"],
        1
    );
    // With no other session left, the call succeeds and changes nothing.
    end_others().bearer(&ada.access).send().await.expect(204);
    assert_eq!(identity.events("identity.session_revoked.v1").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_and_all_its_tokens_expire_after_a_year() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let mut newest = ada;
    for _ in 0..7 {
        identity.hand.advance(Duration::days(52));
        newest = signed_in(&identity.refresh(&newest.refresh).await.expect(200).json());
    }
    // The last access token, of day 364, would outlive the session by 29 days.
    identity.validate(&newest.access).await.expect(200);
    identity.hand.advance(Duration::days(1));
    refused(
        identity.validate(&newest.access).await,
        401,
        "token_expired",
    );
    refused(
        identity.refresh(&newest.refresh).await,
        401,
        "invalid_refresh_token",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_two_hundred_and_first_sign_in_ends_the_oldest() {
    let identity = identity().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let rows: Vec<String> = (0..230)
        .map(|n| {
            let at = format!("'2026-11-21 11:{:02}:{:02}'", n / 60, n % 60);
            let end = "'2027-11-21 11:00:00'";
            format!(
                "('s{n:03}', {}, {at}, {end}, 'l{n}', 'h', {at}, {end})",
                ada.id
            )
        })
        .collect();
    identity.sql(&format!(
        "INSERT INTO sessions (id, user_id, created_at, expires_at, refresh_lineage, refresh_hash, refresh_rotated_at, refresh_expires_at) VALUES {}",
        rows.join(", ")
    ));
    let ended = "SELECT count(*) AS n FROM sessions WHERE revoked_at IS NOT NULL";
    assert_eq!(identity.count(ended), 0);
    let newest = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let page = list(&identity, &newest.access, "").await.expect(200).json();
    assert_eq!(page["total"], 200);
    assert_eq!(identity.count(ended), 32);
    let youngest_of_them =
        "SELECT count(*) AS n FROM sessions WHERE revoked_at IS NOT NULL AND id > 's031'";
    assert_eq!(identity.count(youngest_of_them), 0);
    let told = "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND details LIKE '%too_many%'";
    assert_eq!(identity.count(told), 32);
    let heard = "SELECT count(*) AS n FROM changes WHERE kind = 'session'";
    assert_eq!(identity.count(heard), 32);
    let events = identity.events("identity.session_revoked.v1");
    assert_eq!(events[0]["sids"].as_array().unwrap().len(), 32);
    identity.validate(&ada.access).await.expect(200);
    identity.validate(&bob.access).await.expect(200);

    identity.login("ada", PASSWORD).await.expect(200);
    assert_eq!(identity.count(ended), 33);
}
