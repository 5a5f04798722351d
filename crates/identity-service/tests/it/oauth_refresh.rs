use chrono::Duration;
use serde_json::Value;

use crate::oauth_fixture::{OAuth, SECRET, claims};
use crate::support::{refused, signed_in};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_can_use_only_the_grant_types_it_is_registered_for() {
    let oauth = OAuth::start().await;
    let pair = signed_in(&oauth.tokens("native", "openid").await);
    oauth.set_grant_types("native", "authorization_code");
    refused(
        oauth.refresh("native", &pair.refresh, None).await,
        400,
        "unauthorized_client",
    );
    let tokens = oauth.tokens("native", "openid").await;
    assert_eq!(tokens.get("refresh_token"), None);
    assert!(tokens["id_token"].is_string());

    let code = oauth.code("native", &[]).await;
    oauth.set_grant_types("native", "refresh_token");
    refused(
        oauth.redeem("native", &code).await,
        400,
        "unauthorized_client",
    );
    let path = OAuth::request("native", &[]);
    let reply = oauth.authorize(&path, &oauth.ada.access).await.expect(302);
    let answer = crate::oauth_fixture::answer(reply.header("location"));
    assert_eq!(answer["error"], "unauthorized_client");
    // Sessions and codes from before work again with their grant type.
    oauth
        .refresh("native", &pair.refresh, None)
        .await
        .expect(200);
    oauth.set_grant_types("native", "authorization_code");
    oauth.redeem("native", &code).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_continues_the_clients_session_with_scope_and_id_token() {
    let oauth = OAuth::start().await;
    let first = signed_in(&oauth.tokens("web", "openid email").await);
    oauth.identity.hand.advance(Duration::hours(1));
    let reply = oauth.refresh("web", &first.refresh, None).await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    let body = reply.json();
    assert_eq!(body["scope"], "openid email");
    assert_eq!(body["token_type"], "Bearer");
    let id = claims(body["id_token"].as_str().unwrap());
    assert_eq!(
        (&id["aud"], &id["nonce"]),
        (&Value::from("web"), &Value::Null)
    );
    assert_eq!(id["iat"], oauth.identity.clock.now().timestamp());
    let began = crate::support::beginning().timestamp();
    assert_eq!(id["auth_time"], began, "of the sign-in, not of the refresh");
    assert_eq!(id["sid"], claims(&first.access)["sid"]);
    let next = signed_in(&body);
    assert_ne!(next.refresh, first.refresh);
    assert_eq!(
        claims(&next.access)["sid"],
        claims(&first.access)["sid"],
        "one session"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_that_a_client_cannot_have_are_left_out_and_the_response_says_what_was_granted() {
    let oauth = OAuth::start().await;
    let asked = "openid root sessions:write offline_access email";
    let tokens = oauth.tokens("web", asked).await;
    let granted = "openid email offline_access";
    assert_eq!(tokens["scope"], granted);
    let tokens = signed_in(&tokens);
    assert_eq!(claims(&tokens.access)["scope"], granted);
    let reply = oauth.refresh("web", &tokens.refresh, Some(asked)).await;
    assert_eq!(reply.expect(200).json()["scope"], granted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_can_narrow_the_scope_but_never_widen_it() {
    let oauth = OAuth::start().await;
    let first = signed_in(&oauth.tokens("web", "openid email").await);
    for more in ["profile", "nonsense", "sessions:write"] {
        let reply = oauth.refresh("web", &first.refresh, Some(more)).await;
        refused(reply, 400, "invalid_scope");
    }
    // The refused requests did not use up the token. What was not granted is left out.
    let asked = "email teams nonsense";
    let reply = oauth.refresh("web", &first.refresh, Some(asked)).await;
    let less = reply.expect(200).json();
    assert_eq!(
        (&less["scope"], &less["id_token"]),
        (&Value::from("email"), &Value::Null)
    );
    let less = signed_in(&less);
    assert_eq!(claims(&less.access)["scope"], "email");
    // The grant itself keeps its scope (RFC 6749 section 6).
    let again = oauth.refresh("web", &less.refresh, None).await.expect(200);
    assert_eq!(again.json()["scope"], "openid email");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_omits_scopes_that_the_client_is_no_longer_registered_for() {
    let oauth = OAuth::start().await;
    let first = signed_in(&oauth.tokens("web", "openid email").await);
    let narrow = "UPDATE oauth_clients SET scope = 'openid' WHERE id = 'web'";
    oauth.identity.sql(narrow);
    let reply = oauth.refresh("web", &first.refresh, None).await.expect(200);
    assert_eq!(reply.json()["scope"], "openid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_works_only_for_the_client_it_was_issued_to() {
    let oauth = OAuth::start().await;
    oauth.add_client("other", Some(SECRET), false);
    let own = signed_in(&oauth.tokens("web", "openid").await);
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", own.refresh.as_str()),
    ];
    let theirs = oauth.token(("other", Some(SECRET)), &form).await;
    refused(theirs, 400, "invalid_grant");
    refused(
        oauth.token(("web", None), &form).await,
        401,
        "invalid_client",
    );
    refused(
        oauth.refresh("native", &own.refresh, None).await,
        400,
        "invalid_grant",
    );
    refused(
        oauth.identity.refresh(&own.refresh).await,
        401,
        "invalid_refresh_token",
    );
    refused(
        oauth.refresh("web", &oauth.ada.refresh, None).await,
        400,
        "invalid_grant",
    );
    refused(
        oauth.refresh("web", &own.access, None).await,
        400,
        "invalid_grant",
    );
    refused(
        oauth.refresh("web", "nonsense", Some("openid")).await,
        400,
        "invalid_grant",
    );
    oauth.refresh("web", &own.refresh, None).await.expect(200);
    oauth.identity.refresh(&oauth.ada.refresh).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_refresh_token_ends_only_its_own_grant() {
    let oauth = OAuth::start().await;
    let victim = signed_in(&oauth.tokens("web", "openid").await);
    let spared = signed_in(&oauth.tokens("web", "openid").await);
    let reply = oauth
        .refresh("web", &victim.refresh, None)
        .await
        .expect(200);
    let next = signed_in(&reply.json());
    oauth.identity.hand.advance(Duration::seconds(31));
    refused(
        oauth.refresh("web", &victim.refresh, None).await,
        400,
        "invalid_grant",
    );
    refused(
        oauth.identity.validate(&next.access).await,
        401,
        "token_revoked",
    );
    refused(
        oauth.refresh("web", &next.refresh, None).await,
        400,
        "invalid_grant",
    );
    oauth
        .refresh("web", &spared.refresh, None)
        .await
        .expect(200);
    oauth.identity.validate(&oauth.ada.access).await.expect(200);
}
