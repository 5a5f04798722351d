use chrono::Duration;
use serde_json::{Value, json};

use crate::oauth_fixture::{CALLBACK, OAuth, SECRET, VERIFIER, claims};
use crate::support::{refused, signed_in};

/// Returns the form of a valid exchange with some parameters replaced; `None` omits one.
fn exchange<'a>(code: &'a str, changes: &[(&'a str, Option<&'a str>)]) -> Vec<(&'a str, &'a str)> {
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    for (name, value) in changes {
        form.retain(|(known, _)| known != name);
        form.extend(value.map(|value| (*name, value)));
    }
    form
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_exchanged_for_tokens_with_scope_and_id_token() {
    let oauth = OAuth::start().await;
    let code = oauth.code("web", &[("nonce", Some("n-0S6"))]).await;
    oauth.identity.hand.advance(Duration::seconds(30));
    let reply = oauth.redeem("web", &code).await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    let body = reply.json();
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["scope"], "openid profile");
    assert_eq!(body["expires_in"], 2_592_000);
    assert_eq!(body["user"]["username"], "ada");
    assert_eq!(body["user"]["email"], Value::Null, "without scope email");
    let id = claims(body["id_token"].as_str().unwrap());
    let issuer = oauth.identity.running.base_url();
    assert_eq!(id["iss"], issuer);
    assert_eq!((&id["aud"], &id["nonce"]), (&json!("web"), &json!("n-0S6")));
    assert_eq!(id["sub"], oauth.ada.id.to_string());
    let began = crate::support::beginning().timestamp();
    assert_eq!(
        (&id["auth_time"], &id["iat"]),
        (&json!(began), &json!(began + 30))
    );
    let access = claims(body["access_token"].as_str().unwrap());
    assert_eq!(access["client_id"], "web");
    assert_eq!(access["scope"], "openid profile");
    assert_eq!(id["sid"], access["sid"]);
    let pair = signed_in(&body);
    let validated = oauth
        .identity
        .validate(&pair.access)
        .await
        .expect(200)
        .json();
    assert_eq!(validated["scope"], "openid profile");
    assert_eq!(oauth.audited("oauth.granted"), 1);

    let plain = oauth.tokens("native", "email").await;
    assert_eq!(plain["id_token"], Value::Null);
    // A client cannot use a placeholder address, so only `validate` returns it.
    assert_eq!(plain["user"]["email"], Value::Null);
    let token = &signed_in(&plain).access;
    let validated = oauth.identity.validate(token).await.expect(200).json();
    assert_eq!(validated["user"]["email"], "ada@placeholder.invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_openid_alone_a_client_sees_no_more_of_the_account_than_a_stranger() {
    let oauth = OAuth::start().await;
    let identity = &oauth.identity;
    identity.sql(
        "UPDATE users SET email = 'ada@example.com', email_verified = TRUE, bio = 'of me', locale = 'en', zoneinfo = 'UTC', \
         display_name = 'Ada Lovelace', premium_tier = 'PREMIUM', \
         premium_expires_at = '2027-01-01 00:00:00' WHERE username = 'ada'",
    );
    let profile = format!("/api/auth/user/{}", oauth.ada.id);
    let stranger = identity.api.get(&profile).send().await.expect(200).json();
    for hidden in ["email", "locale", "zoneinfo"] {
        assert_eq!(stranger["user"][hidden], Value::Null);
    }
    assert_eq!(stranger["user"]["email_verified"], true);
    assert_eq!(stranger["user"]["display_name"], "Ada Lovelace");
    for client in ["web", "native"] {
        let pair = oauth.tokens(client, "openid").await;
        assert_eq!(pair["user"], stranger["user"]);
        let refreshed = oauth
            .refresh(client, pair["refresh_token"].as_str().unwrap(), None)
            .await;
        assert_eq!(refreshed.expect(200).json()["user"], stranger["user"]);
        let token = signed_in(&pair).access;
        for path in ["/api/auth/me", &profile] {
            let call = identity.api.get(path).bearer(&token);
            assert_eq!(call.send().await.expect(200).json(), stranger, "{path}");
        }
        let path = "/api/auth/validate?include=teams";
        let call = identity.api.get(path).bearer(&token);
        let validated = call.send().await.expect(200).json();
        assert_eq!(validated["user"], stranger["user"]);
        assert_eq!(validated["teams"], Value::Null);
        for (name, value) in stranger["user"].as_object().unwrap() {
            assert_eq!(&validated[name], value, "{name}");
        }
        assert_eq!(validated["premium"]["tier"], "PREMIUM");
        assert_eq!(validated["premium"]["expires_at"], Value::Null);
        let id = claims(pair["id_token"].as_str().unwrap());
        assert_eq!(
            (&id["email"], &id["preferred_username"]),
            (&Value::Null, &Value::Null)
        );
    }
    let pair = oauth.tokens("web", "openid profile email").await;
    let own = identity.api.get("/api/auth/me").bearer(&oauth.ada.access);
    let own = own.send().await.expect(200).json();
    assert_eq!(pair["user"], own["user"]);
    for (scope, sees_email, sees_locale) in
        [("openid email", true, false), ("profile", false, true)]
    {
        let user = oauth.tokens("web", scope).await["user"].clone();
        let seen = |name: &str| user[name] == own["user"][name];
        assert_eq!(seen("email"), sees_email);
        assert_eq!(
            (seen("locale"), seen("zoneinfo")),
            (sees_locale, sees_locale)
        );
    }
    let validated = identity.validate(&signed_in(&pair).access).await;
    let premium = validated.expect(200).json()["premium"].clone();
    assert_eq!(premium["expires_at"], "2027-01-01T00:00:00Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_exchange_gives_nothing_and_leaves_the_code_valid_for_its_client() {
    let oauth = OAuth::start().await;
    oauth.add_client("other", Some(SECRET), false);
    let with = oauth.code("web", &[]).await;
    let without = oauth
        .code(
            "web",
            &[("code_challenge", None), ("code_challenge_method", None)],
        )
        .await;
    let (long, dotted) = ("a".repeat(129), format!("{}!", &VERIFIER[..42]));
    let wrong = VERIFIER.to_uppercase();
    for (code, client, changes, error) in [
        (&with, "other", vec![], "invalid_grant"),
        (
            &with,
            "web",
            vec![("redirect_uri", Some("http://127.0.0.1/cb"))],
            "invalid_grant",
        ),
        (
            &with,
            "web",
            vec![("redirect_uri", Some("https://app.example.com/cb/"))],
            "invalid_grant",
        ),
        (
            &with,
            "web",
            vec![("redirect_uri", None)],
            "invalid_request",
        ),
        (&with, "web", vec![("code", None)], "invalid_request"),
        (&with, "web", vec![("code_verifier", None)], "invalid_grant"),
        (
            &with,
            "web",
            vec![("code_verifier", Some(wrong.as_str()))],
            "invalid_grant",
        ),
        (
            &with,
            "web",
            vec![("code_verifier", Some(&VERIFIER[..42]))],
            "invalid_request",
        ),
        (
            &with,
            "web",
            vec![("code_verifier", Some(long.as_str()))],
            "invalid_request",
        ),
        (
            &with,
            "web",
            vec![("code_verifier", Some(dotted.as_str()))],
            "invalid_request",
        ),
        (&without, "web", vec![], "invalid_grant"),
        (
            &with,
            "web",
            vec![("code", Some("nonsense"))],
            "invalid_grant",
        ),
        (&with, "web", vec![("grant_type", None)], "invalid_request"),
        (
            &with,
            "web",
            vec![("grant_type", Some("password"))],
            "unsupported_grant_type",
        ),
        (
            &with,
            "web",
            vec![("grant_type", Some("client_credentials"))],
            "unsupported_grant_type",
        ),
    ] {
        let reply = oauth
            .token((client, Some(SECRET)), &exchange(code, &changes))
            .await;
        let reply = refused(reply, 400, error);
        assert_eq!(reply.header("cache-control"), "no-store", "{changes:?}");
    }
    for (client, secret) in [("web", None), ("web", Some("wrong")), ("nobody", None)] {
        let reply = oauth.token((client, secret), &exchange(&with, &[])).await;
        refused(reply, 401, "invalid_client");
    }
    let doubled = [("code", with.as_str())];
    let form: Vec<_> = exchange(&with, &[]).into_iter().chain(doubled).collect();
    refused(
        oauth.token(("web", Some(SECRET)), &form).await,
        400,
        "invalid_request",
    );
    oauth.redeem("web", &with).await.expect(200);
    let form = exchange(&without, &[("code_verifier", None)]);
    oauth.token(("web", Some(SECRET)), &form).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_expires_after_a_minute() {
    let oauth = OAuth::start().await;
    let (early, late) = (oauth.code("web", &[]).await, oauth.code("web", &[]).await);
    oauth.identity.hand.advance(Duration::milliseconds(59_999));
    oauth.redeem("web", &early).await.expect(200);
    oauth.identity.hand.advance(Duration::milliseconds(1));
    refused(oauth.redeem("web", &late).await, 400, "invalid_grant");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_redemptions_one_succeeds_and_the_others_end_its_session() {
    let oauth = OAuth::start().await;
    let code = oauth.code("native", &[]).await;
    let attempts = (0..50).map(|_| oauth.redeem("native", &code));
    let replies = futures_util::future::join_all(attempts).await;
    let (won, lost): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
    assert_eq!((won.len(), lost.len()), (1, 49));
    for reply in lost {
        refused(reply, 400, "invalid_grant");
    }
    let sessions = "SELECT count(*) AS n FROM sessions WHERE kind = 'client'";
    assert_eq!(oauth.identity.count(sessions), 1);
    let pair = signed_in(&won[0].json());
    refused(
        oauth.identity.validate(&pair.access).await,
        401,
        "token_revoked",
    );
    assert_eq!(oauth.audited("session.revoked_by_replay"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_code_ends_its_session_even_hours_later() {
    let oauth = OAuth::start().await;
    oauth.add_client("other", None, false);
    for wait in [Duration::zero(), Duration::hours(3)] {
        let code = oauth.code("web", &[]).await;
        let pair = signed_in(&oauth.redeem("web", &code).await.expect(200).json());
        let spared = signed_in(&oauth.tokens("web", "openid").await);
        oauth.identity.hand.advance(wait);
        // Another client cannot end it.
        refused(oauth.redeem("other", &code).await, 400, "invalid_grant");
        oauth.identity.validate(&pair.access).await.expect(200);
        refused(oauth.redeem("web", &code).await, 400, "invalid_grant");
        refused(
            oauth.identity.validate(&pair.access).await,
            401,
            "token_revoked",
        );
        refused(
            oauth.refresh("web", &pair.refresh, None).await,
            400,
            "invalid_grant",
        );
        oauth.identity.validate(&spared.access).await.expect(200);
        oauth
            .refresh("web", &spared.refresh, None)
            .await
            .expect(200);
    }
    assert_eq!(oauth.audited("session.revoked_by_replay"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_attempt_with_a_used_code_ends_nothing() {
    let oauth = OAuth::start().await;
    oauth.add_client("other", Some(SECRET), false);
    let wrong = VERIFIER.to_uppercase();
    for client in ["web", "native"] {
        let code = oauth.code(client, &[]).await;
        let pair = signed_in(&oauth.redeem(client, &code).await.expect(200).json());
        let own = (client == "web").then_some(SECRET);
        // Wrong attempts get the same responses as with an unused code, within the code's minute and after it.
        for wait in [0, 61] {
            oauth.identity.hand.advance(Duration::seconds(wait));
            for (who, secret, changes, status, error) in [
                (
                    client,
                    own,
                    vec![("code_verifier", None)],
                    400,
                    "invalid_grant",
                ),
                (
                    client,
                    own,
                    vec![("code_verifier", Some(wrong.as_str()))],
                    400,
                    "invalid_grant",
                ),
                (
                    client,
                    own,
                    vec![("code_verifier", Some("short"))],
                    400,
                    "invalid_request",
                ),
                (
                    client,
                    own,
                    vec![("redirect_uri", Some("http://127.0.0.1/cb"))],
                    400,
                    "invalid_grant",
                ),
                ("other", Some(SECRET), vec![], 400, "invalid_grant"),
                (client, Some("wrong"), vec![], 401, "invalid_client"),
            ] {
                let reply = oauth.token((who, secret), &exchange(&code, &changes)).await;
                refused(reply, status, error);
                oauth.identity.validate(&pair.access).await.expect(200);
            }
        }
        assert_eq!(
            oauth.audited("session.revoked_by_replay"),
            i64::from(client == "native")
        );
        refused(oauth.redeem(client, &code).await, 400, "invalid_grant");
        refused(
            oauth.identity.validate(&pair.access).await,
            401,
            "token_revoked",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_invalid_once_the_sign_in_that_authorized_it_has_ended() {
    let oauth = OAuth::start().await;
    let code = oauth.code("web", &[]).await;
    let logout = oauth.identity.api.post("/api/auth/logout");
    logout.bearer(&oauth.ada.access).send().await.expect(200);
    refused(oauth.redeem("web", &code).await, 400, "invalid_grant");
    let sessions = "SELECT count(*) AS n FROM sessions WHERE kind = 'client'";
    assert_eq!(oauth.identity.count(sessions), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_of_an_inactive_account_is_invalid() {
    let oauth = OAuth::start().await;
    let code = oauth.code("web", &[]).await;
    oauth.identity.sql("UPDATE users SET is_active = false");
    refused(oauth.redeem("web", &code).await, 400, "invalid_grant");
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_all_other_sessions_ends_those_of_clients_too() {
    let oauth = OAuth::start().await;
    let pair = signed_in(&oauth.tokens("web", "openid").await);
    let others = oauth.identity.api.delete("/api/auth/sessions");
    others.bearer(&oauth.ada.access).send().await.expect(204);
    refused(
        oauth.identity.validate(&pair.access).await,
        401,
        "token_revoked",
    );
    refused(
        oauth.refresh("web", &pair.refresh, None).await,
        400,
        "invalid_grant",
    );
}
