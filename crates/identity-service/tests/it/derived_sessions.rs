//! Sessions that are derived from SSO sessions, and how they end with them.

use std::time::Duration as StdDuration;

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use test_kit::{ApiResponse, wait_until};

use crate::oauth_fixture::{OAuth, answer, claims};
use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in, while_written};

const SITE: &str = "https://app.example.com";
const LIVING: &str = "SELECT count(*) AS n FROM sessions WHERE kind = 'sso' AND revoked_at IS NULL";

async fn with_site() -> OAuth {
    OAuth::start_with(|config| config.sso.allowed_origins.0 = vec![SITE.to_owned()]).await
}

async fn handed_over(oauth: &OAuth) -> String {
    let path = format!("/api/auth/sso/authorize?redirect_uri={SITE}");
    let reply = oauth.authorize(&path, &oauth.ada.access).await.expect(302);
    answer(reply.header("location"))["token"].clone()
}

async fn try_pair(identity: &Identity, token: &str) -> ApiResponse {
    let call = identity.api.post("/api/auth/sso/token").bearer(token);
    call.send().await
}

async fn pair(identity: &Identity, token: &str) -> SignedIn {
    signed_in(&try_pair(identity, token).await.expect(200).json())
}

async fn log_out(identity: &Identity, token: &str) {
    let call = identity.api.post("/api/auth/logout").bearer(token);
    call.send().await.expect(200);
}

fn sid(token: &str) -> String {
    claims(token)["sid"].as_str().unwrap().to_owned()
}

/// Returns the tokens of an SSO session and of three generations of sessions derived from it.
async fn chain(oauth: &OAuth) -> Vec<String> {
    let mut tokens = vec![handed_over(oauth).await];
    for at in 0..3 {
        let next = pair(&oauth.identity, &tokens[at]).await;
        tokens.push(next.access);
    }
    tokens
}

/// Makes `child` descend from `parent`, which no endpoint allows yet for such sessions.
fn put_below(identity: &Identity, child: &str, parent: &str) {
    identity.sql(&format!(
        "UPDATE sessions SET parent_sid = '{}' WHERE id = '{}'",
        sid(parent),
        sid(child)
    ));
}

/// Checks that exactly these sessions have ended, each with one event, one audit entry and one change.
async fn ended_once(identity: &Identity, tokens: &[String], way: &str) {
    let told: Vec<Value> = identity
        .events("identity.session_revoked.v1")
        .iter()
        .flat_map(|event| event["sids"].as_array().unwrap().clone())
        .collect();
    for token in tokens {
        refused(identity.validate(token).await, 401, "token_revoked");
        let id = sid(token);
        assert_eq!(told.iter().filter(|one| **one == id).count(), 1, "{way}");
        for written in [
            format!("audit_log WHERE session_id = '{id}' AND action LIKE 'session.revoked%'"),
            format!("changes WHERE kind = 'session' AND subject = '{id}'"),
        ] {
            let count = format!("SELECT count(*) AS n FROM {written}");
            assert_eq!(identity.count(&count), 1, "{way}: {written}");
        }
    }
    assert_eq!(told.len(), tokens.len(), "{way}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_derived_from_an_sso_session_end_with_it_however_it_ends() {
    for way in [
        "logout",
        "by id",
        "all others",
        "everywhere",
        "password",
        "administration",
    ] {
        let oauth = with_site().await;
        let identity = &oauth.identity;
        let (first, ada) = (chain(&oauth).await, &oauth.ada);
        let other = chain(&oauth).await;
        let mut ending = first.clone();
        let by = |method: Method, path: &str| identity.api.call(method, path).bearer(&ada.access);
        match way {
            "logout" => log_out(identity, &first[0]).await,
            "by id" => {
                let path = format!("/api/auth/sessions/{}", sid(&first[1]));
                by(Method::DELETE, &path).send().await.expect(204);
                ending.remove(0);
            }
            "all others" => {
                let call = by(Method::DELETE, "/api/auth/sessions");
                call.send().await.expect(204);
                ending.extend(other.clone());
            }
            "everywhere" => {
                let path = format!("/api/auth/global-logout?redirect_uri={SITE}");
                by(Method::GET, &path).send().await.expect(302);
                ending.extend(other.clone());
                ending.push(ada.access.clone());
            }
            "password" => {
                let new =
                    json!({ "current_password": PASSWORD, "new_password": "another long one" });
                let call = by(Method::POST, "/api/auth/password/change").json(new);
                call.send().await.expect(204);
                ending.extend(other.clone());
            }
            _ => {
                let root = crate::admin_api::superadmin(identity, "root").await;
                let path = format!("/api/admin/users/{}/revoke-sessions", ada.id);
                let call = identity.api.post(&path).bearer(&root.access);
                call.send().await.expect(200);
                ending.extend(other.clone());
                ending.push(ada.access.clone());
            }
        }
        ended_once(identity, &ending, way).await;
        for token in other.iter().chain([&ada.access, &first[0]]) {
            let status = if ending.contains(token) { 401 } else { 200 };
            identity.validate(token).await.expect(status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_refresh_token_also_ends_the_sessions_derived_from_its_session() {
    let oauth = with_site().await;
    let identity = &oauth.identity;
    let first = handed_over(&oauth).await;
    let site = pair(identity, &first).await;
    let below = pair(identity, &site.access).await;
    identity.refresh(&site.refresh).await.expect(200);
    identity.hand.advance(Duration::seconds(31));
    let reused = identity.refresh(&site.refresh).await;
    refused(reused, 401, "refresh_token_reused");
    ended_once(identity, &[site.access, below.access], "reuse").await;
    identity.validate(&first).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_below_a_clients_session_ends_with_it_however_it_ends() {
    for way in ["revoked", "replayed", "withdrawn", "deleted"] {
        let oauth = with_site().await;
        let identity = &oauth.identity;
        let code = oauth.code("native", &[]).await;
        let given = oauth.redeem("native", &code).await.expect(200).json();
        let given = signed_in(&given).access;
        let below = handed_over(&oauth).await;
        put_below(identity, &below, &given);
        match way {
            "revoked" => {
                let form = [("token", given.as_str())];
                let reply = oauth.post("/api/oauth/revoke", ("native", None), &form);
                reply.await.expect(200);
            }
            "replayed" => drop(oauth.redeem("native", &code).await.expect(400)),
            "withdrawn" => {
                let call = identity.api.delete("/api/auth/applications/native");
                call.bearer(&oauth.ada.access).send().await.expect(204);
            }
            _ => {
                let root = crate::admin_api::superadmin(identity, "root").await;
                let call = identity.api.delete("/api/admin/oauth-clients/native");
                call.bearer(&root.access).send().await.expect(204);
            }
        }
        ended_once(identity, &[given, below], way).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_of_the_product_leaves_client_and_sso_sessions_alone() {
    let oauth = with_site().await;
    let identity = &oauth.identity;
    let web = signed_in(&oauth.tokens("web", "openid").await);
    let site = chain(&oauth).await;
    log_out(identity, &oauth.ada.access).await;
    for token in site.iter().chain([&web.access]) {
        identity.validate(token).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_code_of_an_sso_session_and_its_tokens_end_with_it() {
    let oauth = with_site().await;
    let identity = &oauth.identity;
    let approver = handed_over(&oauth).await;
    let mut codes = Vec::new();
    for _ in 0..2 {
        codes.push(oauth.code("native", &[]).await);
        // No endpoint lets an SSO session authorize a code.
        let by = sid(&approver);
        identity.sql(&format!("UPDATE oauth_codes SET authorized_by = '{by}'"));
    }
    let given = oauth.redeem("native", &codes[0]).await.expect(200).json();
    let given = signed_in(&given).access;
    identity.validate(&given).await.expect(200);
    log_out(identity, &approver).await;
    refused(
        oauth.redeem("native", &codes[1]).await,
        400,
        "invalid_grant",
    );
    ended_once(identity, &[approver, given], "code").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_session_derived_while_its_parent_ends_outlives_it() {
    let oauth = with_site().await;
    let identity = &oauth.identity;
    let first = handed_over(&oauth).await;
    let opener = pair(identity, &first).await.access;

    let open = sql_of_pair(&oauth, &opener);
    let end = log_out(identity, &opener);
    while_account_is_locked(&oauth, &open, end).await;
    assert_eq!(identity.count(LIVING), 1, "the first alone");

    let end = format!(
        "UPDATE sessions SET revoked_at = '2026-11-21 12:00:00' WHERE id = '{}'",
        sid(&first)
    );
    let open = try_pair(identity, &first);
    let reply = while_account_is_locked(&oauth, &end, open).await;
    refused(reply, 401, "token_revoked");
    assert_eq!(identity.count(LIVING), 0);
}

/// Returns the SQL that derives a session from the session of this token.
fn sql_of_pair(oauth: &OAuth, opener: &str) -> String {
    let (at, until) = ("'2026-11-21 12:00:00'", "'2027-01-01 12:00:00'");
    format!(
        "INSERT INTO sessions (id, user_id, created_at, expires_at, refresh_lineage, refresh_hash, refresh_rotated_at, \
         refresh_expires_at, kind, is_derived, parent_sid) \
         VALUES ('pair', {}, {at}, {until}, 'l', 'h', {at}, {until}, 'sso', TRUE, '{}')",
        oauth.ada.id,
        sid(opener)
    )
}

/// Makes a call while another transaction has locked Ada's row and written `sql`.
async fn while_account_is_locked<T>(oauth: &OAuth, sql: &str, call: impl Future<Output = T>) -> T {
    let lock = format!(
        "UPDATE users SET is_active = is_active WHERE id = {}",
        oauth.ada.id
    );
    while_written(&oauth.identity, format!("{lock}; {sql}"), call).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_can_keep_deriving_sessions_within_the_caps_and_all_end_with_the_first() {
    let oauth = with_site().await;
    let identity = &oauth.identity;
    let first = handed_over(&oauth).await;
    let mut last = first.clone();
    for _ in 0..250 {
        last = pair(identity, &last).await.access;
        // The times differ, so that one session is the oldest.
        identity.hand.advance(Duration::milliseconds(1));
    }
    for token in [&first, &last] {
        identity.validate(token).await.expect(200);
    }
    assert_eq!(identity.count(LIVING), 200);
    let depth = "WITH RECURSIVE below (sid, depth) AS (SELECT id, 0 FROM sessions WHERE kind = 'sso' AND parent_sid IS NULL \
         UNION ALL SELECT id, depth + 1 FROM below JOIN sessions ON parent_sid = sid WHERE depth < 1000) \
         SELECT CAST(max(depth) AS BIGINT) AS n FROM below";
    assert_eq!(identity.count(depth), 20);
    log_out(identity, &first).await;
    refused(identity.validate(&last).await, 401, "token_revoked");
    assert_eq!(identity.count(LIVING), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_derived_session_expires_no_later_than_its_sso_session() {
    let oauth = with_site().await;
    let first = handed_over(&oauth).await;
    let end = "2026-12-01 12:00:00";
    let until = format!("SELECT count(*) AS n FROM sessions WHERE expires_at = '{end}'");
    oauth.identity.sql(&format!(
        "UPDATE sessions SET expires_at = '{end}' WHERE id = '{}'",
        sid(&first)
    ));
    let below = pair(&oauth.identity, &first).await;
    pair(&oauth.identity, &below.access).await;
    assert_eq!(oauth.identity.count(&until), 3);
}

/// Returns the ids of the sessions whose end was published, sorted.
fn told(oauth: &OAuth) -> Vec<String> {
    let events = oauth.identity.events("identity.session_revoked.v1");
    let sids = events
        .iter()
        .flat_map(|event| event["sids"].as_array().unwrap());
    let mut sids: Vec<String> = sids.map(|sid| sid.as_str().unwrap().to_owned()).collect();
    sids.sort();
    sids
}

async fn until_told(oauth: &OAuth, mut expected: Vec<String>) {
    expected.sort();
    let probe = async || (told(oauth) == expected).then_some(());
    wait_until("the end of sessions", StdDuration::from_secs(20), probe).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_sso_session_is_published_once_and_other_sessions_are_not() {
    let oauth = OAuth::start_with(|config| {
        config.sso.allowed_origins.0 = vec![SITE.to_owned()];
        config.housekeeping_seconds = 1;
    })
    .await;
    let identity = &oauth.identity;
    oauth.browser().await;
    oauth.tokens("web", "openid").await;
    let first = handed_over(&oauth).await;
    let mut site = pair(identity, &first).await;
    let below = pair(identity, &site.access).await;
    identity.hand.advance(Duration::days(60));
    site = signed_in(&identity.refresh(&site.refresh).await.expect(200).json());
    identity.hand.advance(Duration::days(31));
    // The first session does not expire, because the session derived from it is in use.
    until_told(&oauth, vec![sid(&below.access)]).await;
    site = signed_in(&identity.refresh(&site.refresh).await.expect(200).json());
    let idle = "SELECT count(*) AS n FROM sessions WHERE revoked_at IS NOT NULL";
    assert_eq!(identity.count(idle), 1);

    // The first session would have been deleted by now, if no other one ended with it.
    for _ in 0..3 {
        identity.hand.advance(Duration::days(80));
        site = signed_in(&identity.refresh(&site.refresh).await.expect(200).json());
    }
    identity.hand.advance(Duration::days(34));
    until_told(
        &oauth,
        vec![sid(&first), sid(&below.access), sid(&site.access)],
    )
    .await;
    refused(
        identity.refresh(&site.refresh).await,
        401,
        "invalid_refresh_token",
    );
    let parents = "SELECT count(*) AS n FROM sessions WHERE parent_sid IS NULL AND kind = 'sso'";
    assert_eq!(identity.count(parents), 1);
    identity.hand.advance(Duration::days(91));
    let probe = async || (identity.count(parents) == 0).then_some(());
    wait_until("their removal", StdDuration::from_secs(20), probe).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_a_thousand_expired_sso_sessions_are_all_published_and_audited() {
    let oauth = OAuth::start_with(|config| config.housekeeping_seconds = 1).await;
    let rows: Vec<String> = (0..1_200)
        .map(|n| {
            let at = "'2026-11-21 11:00:00'";
            format!(
                "('s{n:04}', {}, {at}, {at}, 'l{n}', 'h', {at}, {at}, 'sso', TRUE)",
                oauth.ada.id
            )
        })
        .collect();
    oauth.identity.sql(&format!(
        "INSERT INTO sessions (id, user_id, created_at, expires_at, refresh_lineage, refresh_hash, refresh_rotated_at, \
         refresh_expires_at, kind, is_derived) VALUES {}",
        rows.join(", ")
    ));
    oauth.identity.hand.advance(Duration::hours(1));
    until_told(&oauth, (0..1_200).map(|n| format!("s{n:04}")).collect()).await;
    let audited = "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND details LIKE '%expired%'";
    assert_eq!(oauth.identity.count(audited), 1_200);
}
