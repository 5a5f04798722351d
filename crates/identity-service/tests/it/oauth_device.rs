use chrono::Duration;
use serde_json::Value;
use test_kit::ApiResponse;

use crate::browser::{Browser, Page};
use crate::oauth_fixture::{OAuth, SECRET, claims};
use crate::pages::every_page::is_a_good_page;
use crate::support::{PASSWORD, refused, signed_in};

const BEGIN: &str = "/api/oauth/device_authorization";
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A device that shows a code.
struct Device {
    device_code: String,
    user_code: String,
}

async fn begin(oauth: &OAuth, scope: &str) -> Device {
    let reply = oauth
        .post(BEGIN, ("native", None), &[("scope", scope)])
        .await;
    let body = reply.expect(200).json();
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    Device {
        device_code: text("device_code"),
        user_code: text("user_code"),
    }
}

async fn poll(oauth: &OAuth, client: &str, device: &Device) -> ApiResponse {
    let form = [
        ("grant_type", DEVICE_CODE),
        ("device_code", device.device_code.as_str()),
    ];
    let secret = (client == "web").then_some(SECRET);
    oauth.token((client, secret), &form).await
}

/// Enters a user code on its page.
async fn enter(browser: &mut Browser, code: &str) -> Page {
    let form = browser.get("/device").await.expect(200).form("/device");
    browser.submit(form.set("user_code", code)).await
}

pub(crate) async fn decide(browser: &mut Browser, code: &str, decision: &str) -> Page {
    let form = enter(browser, code).await.expect(200).form("/device");
    let page = browser.submit(form.set("decision", decision)).await;
    is_a_good_page(&page);
    page.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_client_registered_for_the_device_grant_can_use_it() {
    let oauth = OAuth::start().await;
    let device = begin(&oauth, "openid").await;
    let mut browser = oauth.browser().await;
    decide(&mut browser, &device.user_code, "allow").await;
    oauth.set_grant_types("native", "authorization_code refresh_token");
    let reply = oauth.post(BEGIN, ("native", None), &[]).await;
    refused(reply, 400, "unauthorized_client");
    refused(
        poll(&oauth, "native", &device).await,
        400,
        "unauthorized_client",
    );
    oauth.set_grant_types("native", DEVICE_CODE);
    let tokens = poll(&oauth, "native", &device).await.expect(200).json();
    // Without the grant type `refresh_token` there is no refresh token.
    assert_eq!(tokens.get("refresh_token"), None);
    let access = tokens["access_token"].as_str().unwrap();
    oauth.identity.validate(access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_gets_tokens_once_its_user_code_is_entered_and_allowed() {
    let oauth = OAuth::start().await;
    let reply = oauth
        .post(BEGIN, ("native", None), &[("scope", "openid email")])
        .await;
    let body = reply.expect(200).json();
    let code = body["user_code"].as_str().unwrap();
    let base = oauth.identity.running.base_url();
    assert_eq!(body["verification_uri"], format!("{base}/device"));
    assert_eq!(
        body["verification_uri_complete"],
        format!("{base}/device?user_code={code}")
    );
    assert_eq!(
        (&body["expires_in"], &body["interval"]),
        (&Value::from(900), &Value::from(5))
    );
    let device = Device {
        device_code: body["device_code"].as_str().unwrap().to_owned(),
        user_code: code.to_owned(),
    };
    refused(
        poll(&oauth, "native", &device).await,
        400,
        "authorization_pending",
    );

    let mut browser = oauth.browser().await;
    oauth.identity.hand.advance(Duration::minutes(1));
    // People type codes in lower case and with a space.
    let typed = code.to_lowercase().replace('-', " ");
    let page = enter(&mut browser, &typed).await.expect(200);
    is_a_good_page(&page);
    for words in [
        "The native <app>",
        "ada",
        code,
        "See your e-mail address",
        "just now",
    ] {
        assert!(page.text().contains(words), "{words}: {}", page.text());
    }
    refused(
        poll(&oauth, "native", &device).await,
        400,
        "authorization_pending",
    );
    let form = page.form("/device").set("decision", "allow");
    browser
        .submit(form)
        .await
        .expect(200)
        .says("The native <app>” now has access");
    let reply = poll(&oauth, "native", &device).await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    let tokens = reply.json();
    assert_eq!(tokens["scope"], "openid email");
    let id = claims(tokens["id_token"].as_str().unwrap());
    let began = crate::support::beginning().timestamp();
    assert_eq!(id["auth_time"], began, "of the sign-in that allowed it");
    let pair = signed_in(&tokens);
    oauth.identity.validate(&pair.access).await.expect(200);
    oauth
        .refresh("native", &pair.refresh, None)
        .await
        .expect(200);
    refused(poll(&oauth, "native", &device).await, 400, "invalid_grant");
    assert_eq!(
        (
            oauth.audited("oauth.allowed"),
            oauth.audited("oauth.granted")
        ),
        (1, 1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_code_of_a_link_survives_the_sign_in() {
    let oauth = OAuth::start().await;
    let device = begin(&oauth, "openid").await;
    let mut browser = Browser::new(&oauth.identity);
    let page = browser
        .get(&format!("/device?user_code={}", device.user_code))
        .await;
    let form = page
        .form("/login")
        .set("username", "ada")
        .set("password", PASSWORD);
    let page = browser.submit(form).await.expect(200);
    let form = page.form("/device");
    assert_eq!(form.value("user_code"), Some(device.user_code.as_str()));
    // A link alone allows nothing, and its text is shown only if it is a user code.
    refused(
        poll(&oauth, "native", &device).await,
        400,
        "authorization_pending",
    );
    let page = browser
        .get("/device?user_code=call+0900+for+help")
        .await
        .expect(200);
    assert_eq!(page.form("/device").value("user_code"), Some(""));
    browser
        .submit(form)
        .await
        .expect(200)
        .says("The native <app>");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_device_gets_access_denied() {
    let oauth = OAuth::start().await;
    let device = begin(&oauth, "openid").await;
    let mut browser = oauth.browser().await;
    decide(&mut browser, &device.user_code, "deny")
        .await
        .says("did not get access");
    refused(poll(&oauth, "native", &device).await, 400, "access_denied");
    enter(&mut browser, &device.user_code)
        .await
        .expect(400)
        .says("is invalid or has expired");
    assert_eq!(
        (
            oauth.audited("oauth.denied"),
            oauth.audited("oauth.allowed")
        ),
        (1, 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_polls_too_soon_must_wait_longer_each_time() {
    let oauth = OAuth::start().await;
    let device = begin(&oauth, "openid").await;
    for (wait, expected) in [
        (0, "authorization_pending"),
        (5, "authorization_pending"),
        (4, "slow_down"),
        (9, "slow_down"),
        (15, "authorization_pending"),
        (14, "slow_down"),
        (20, "authorization_pending"),
    ] {
        oauth.identity.hand.advance(Duration::seconds(wait));
        refused(poll(&oauth, "native", &device).await, 400, expected);
    }
    // A device that has been allowed access gets its tokens without waiting.
    decide(&mut oauth.browser().await, &device.user_code, "allow").await;
    poll(&oauth, "native", &device).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn device_and_user_codes_expire_after_fifteen_minutes() {
    let oauth = OAuth::start().await;
    let (waiting, allowed) = (begin(&oauth, "openid").await, begin(&oauth, "openid").await);
    let mut browser = oauth.browser().await;
    decide(&mut browser, &allowed.user_code, "allow").await;
    oauth.identity.hand.advance(Duration::minutes(15));
    refused(poll(&oauth, "native", &waiting).await, 400, "expired_token");
    refused(poll(&oauth, "native", &allowed).await, 400, "expired_token");
    enter(&mut browser, &waiting.user_code)
        .await
        .expect(400)
        .says("has expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_concurrent_polls_one_gets_the_tokens() {
    let oauth = OAuth::start().await;
    let device = begin(&oauth, "openid").await;
    decide(&mut oauth.browser().await, &device.user_code, "allow").await;
    let polls = (0..20).map(|_| poll(&oauth, "native", &device));
    let replies = futures_util::future::join_all(polls).await;
    let (won, lost): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
    assert_eq!((won.len(), lost.len()), (1, 19));
    for reply in lost {
        refused(reply, 400, "invalid_grant");
    }
    let sessions = "SELECT count(*) AS n FROM sessions WHERE kind = 'client'";
    assert_eq!(oauth.identity.count(sessions), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_code_works_for_its_client_only_and_ends_with_the_sign_in_that_allowed_it() {
    let oauth = OAuth::start().await;
    let device = begin(&oauth, "openid").await;
    let mut browser = oauth.browser().await;
    decide(&mut browser, &device.user_code, "allow").await;
    for client in ["web", "own"] {
        refused(poll(&oauth, client, &device).await, 400, "invalid_grant");
    }
    let nonsense = Device {
        device_code: device.user_code.clone(),
        user_code: String::new(),
    };
    refused(
        poll(&oauth, "native", &nonsense).await,
        400,
        "invalid_grant",
    );
    let form = browser.get("/device").await.form("/logout");
    browser.submit(form).await;
    refused(poll(&oauth, "native", &device).await, 400, "invalid_grant");
    let sessions = "SELECT count(*) AS n FROM sessions WHERE kind = 'client'";
    assert_eq!(oauth.identity.count(sessions), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_can_request_only_the_scopes_of_its_authenticated_client() {
    let oauth = OAuth::start().await;
    for scope in ["sessions:write", "nonsense"] {
        let reply = oauth
            .post(BEGIN, ("native", None), &[("scope", scope)])
            .await;
        refused(reply, 400, "invalid_scope");
    }
    for (client, secret) in [("nobody", None), ("web", None), ("web", Some("wrong"))] {
        let reply = oauth.post(BEGIN, (client, secret), &[]).await;
        refused(reply, 401, "invalid_client");
    }
    oauth
        .post(BEGIN, ("web", Some(SECRET)), &[])
        .await
        .expect(200);
    let device = begin(&oauth, "").await;
    decide(&mut oauth.browser().await, &device.user_code, "allow").await;
    let tokens = poll(&oauth, "native", &device).await.expect(200).json();
    assert_eq!(tokens["scope"], "openid profile email teams");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_device_page_shows_exactly_the_scopes_that_the_device_gets() {
    let oauth = OAuth::start().await;
    let all = "openid profile email teams";
    let mut browser = oauth.browser().await;
    for client in ["native", "own"] {
        let register = |scope: &str| {
            oauth.identity.sql(&format!(
                "UPDATE oauth_clients SET scope = '{scope}' WHERE id = '{client}'"
            ));
        };
        register(all);
        let reply = oauth.post(BEGIN, (client, None), &[("scope", all)]).await;
        let body = reply.expect(200).json();
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        let device = Device {
            device_code: text("device_code"),
            user_code: text("user_code"),
        };
        register("openid email");
        let page = enter(&mut browser, &device.user_code).await.expect(200);
        for (words, is_said) in [
            ("Sign you in", true),
            ("See your e-mail address", true),
            (
                "See your name, username, photo, language and time zone",
                false,
            ),
            ("See your teams", false),
        ] {
            let said = page.text();
            assert_eq!(said.contains(words), is_said, "{client}: {words}: {said}");
        }
        let form = page.form("/device").set("decision", "allow");
        browser.submit(form).await.expect(200);
        // The device gets only the scopes that the page showed, although the client may request all of them again.
        register(all);
        let tokens = poll(&oauth, client, &device).await.expect(200).json();
        assert_eq!(tokens["scope"], "openid email", "{client}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_or_unknown_user_code_gets_an_error_on_the_page() {
    let oauth = OAuth::start().await;
    let device = begin(&oauth, "openid").await;
    let mut browser = oauth.browser().await;
    for (typed, told) in [
        ("", "all 8 letters"),
        ("ABCD-EFGH", "all 8 letters"),
        ("BCDF-GHJK-L", "all 8 letters"),
        ("<b>", "all 8 letters"),
        ("BBBB-BBBB", "is invalid or has expired"),
    ] {
        let page = enter(&mut browser, typed).await.expect(400).says(told);
        assert!(!page.html.contains("<b>"));
        is_a_good_page(&page);
        page.form("/device");
    }
    let form = enter(&mut browser, &device.user_code).await.form("/device");
    let forged = form.set("decision", "allow").forged("csrf", "x");
    browser.submit(forged).await.expect(403);
    refused(
        poll(&oauth, "native", &device).await,
        400,
        "authorization_pending",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn user_code_guesses_are_limited_by_account() {
    let oauth = OAuth::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    oauth.identity.register("bob").await;
    let device = begin(&oauth, "openid").await;
    let mut browser = oauth.browser().await;
    for _ in 0..20 {
        enter(&mut browser, "BBBB-BBBB").await.expect(400);
    }
    let page = enter(&mut browser, &device.user_code).await.expect(429);
    assert!(!page.reply.header("retry-after").is_empty());
    let mut bobs = Browser::signed_in(&oauth.identity, "bob").await;
    enter(&mut bobs, &device.user_code).await.expect(200);
}
