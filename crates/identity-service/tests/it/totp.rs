use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};

use chrono::Duration;
use serde_json::{Value, json};
use test_kit::{ApiClient, ApiResponse};
use totp_rs::{Builder, Secret};

use crate::admin_api::superadmin;
use crate::admin_cli::run;
use crate::browser::Browser;
use crate::credential_helpers::OTHER;
use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in, texts};

/// An authenticator app.
pub(crate) struct App(Secret);

impl App {
    pub(crate) fn new(secret: &Value) -> Self {
        Self(Secret::try_from_base32(secret.as_str().unwrap()).unwrap())
    }

    fn code_at(&self, seconds: i64) -> String {
        let totp = Builder::new().with_secret(self.0.clone()).build().unwrap();
        totp.generate(seconds.try_into().unwrap()).to_string()
    }

    /// Advances the clock by half a minute, and returns the code of that time, which is unused.
    pub(crate) fn next(&self, identity: &Identity) -> String {
        identity.hand.advance(Duration::seconds(30));
        self.code_at(identity.clock.now().timestamp())
    }
}

async fn status(identity: &Identity, user: &SignedIn) -> (bool, i64) {
    let call = identity.api.get("/api/auth/totp").bearer(&user.access);
    let status = call.send().await.expect(200).json();
    (
        status["enabled"].as_bool().unwrap(),
        status["recovery_codes_left"].as_i64().unwrap(),
    )
}

async fn setup(identity: &Identity, user: &SignedIn, password: &str) -> ApiResponse {
    let body = json!({ "password": password });
    identity.by(user, "/api/auth/totp/setup", body).await
}

async fn confirm(identity: &Identity, user: &SignedIn, code: &str) -> ApiResponse {
    let body = json!({ "code": code });
    identity.by(user, "/api/auth/totp/confirm", body).await
}

/// Calls `totp/disable` or `totp/recovery-codes` with the password and a code.
async fn change(
    identity: &Identity,
    user: &SignedIn,
    what: &str,
    code: Option<&str>,
) -> ApiResponse {
    let body = json!({ "password": PASSWORD, "totp_code": code });
    identity
        .by(user, &format!("/api/auth/totp/{what}"), body)
        .await
}

async fn login(identity: &Identity, code: Option<&str>) -> ApiResponse {
    let body = json!({ "username": "ada", "password": PASSWORD, "totp_code": code });
    identity.open("/api/auth/login", body).await
}

fn codes(reply: &ApiResponse) -> Vec<String> {
    let body = reply.json();
    let codes = body["recovery_codes"].as_array().unwrap().iter();
    codes
        .map(|code| code.as_str().unwrap().to_owned())
        .collect()
}

/// Registers an account with a second factor, and returns it with its app and its recovery codes.
pub(crate) async fn enabled(identity: &Identity) -> (SignedIn, App, Vec<String>) {
    let ada = identity.register_verified("ada", "ada@example.com").await;
    let (app, recovery) = enabled_for(identity, &ada).await;
    (ada, app, recovery)
}

/// Gives an account a second factor, and returns its app and its recovery codes.
pub(crate) async fn enabled_for(identity: &Identity, user: &SignedIn) -> (App, Vec<String>) {
    let made = setup(identity, user, PASSWORD).await.expect(200).json();
    let app = App::new(&made["secret"]);
    let code = app.next(identity);
    let reply = confirm(identity, user, &code).await.expect(200);
    (app, codes(&reply))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_factor_counts_once_it_is_confirmed_with_a_code() {
    let identity = Identity::start().await;
    let ada = identity.register_verified("ada", "ada@example.com").await;
    assert_eq!(status(&identity, &ada).await, (false, 0));
    refused(
        confirm(&identity, &ada, "123456").await,
        400,
        "validation_failed",
    );

    let reply = setup(&identity, &ada, PASSWORD).await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    let made = reply.json();
    let url = made["otpauth_url"].as_str().unwrap();
    let secret = made["secret"].as_str().unwrap();
    assert_eq!(secret.len(), 32);
    assert_eq!(
        url,
        format!("otpauth://totp/Holdfast:ada?secret={secret}&issuer=Holdfast")
    );
    // The second factor does not count yet.
    login(&identity, None).await.expect(200);
    let app = App::new(&made["secret"]);
    refused(
        confirm(&identity, &ada, &app.code_at(0)).await,
        401,
        "invalid_credentials",
    );
    assert_eq!(status(&identity, &ada).await, (false, 0));

    let code = app.next(&identity);
    let spaced = format!(" {} {} ", &code[..3], &code[3..]);
    let reply = confirm(&identity, &ada, &spaced).await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    let recovery = codes(&reply);
    assert_eq!(recovery.len(), 10);
    assert_eq!(status(&identity, &ada).await, (true, 10));
    assert_eq!(identity.told(), ["second factor turned on"]);
    for (action, times) in [("totp.set_up", 1), ("totp.refused", 1), ("totp.enabled", 1)] {
        assert_eq!(identity.audited(action, &ada), times, "{action}");
    }
    // The confirming code cannot be used again.
    refused(
        login(&identity, Some(&code)).await,
        401,
        "invalid_credentials",
    );
    refused(
        confirm(&identity, &ada, &app.next(&identity)).await,
        400,
        "validation_failed",
    );

    // Neither the secret nor a code is stored in clear.
    let stored = texts(
        &identity.db.pool(1),
        "SELECT secret_sealed AS t FROM totp_factors UNION ALL SELECT code_hash FROM recovery_codes UNION ALL SELECT body FROM outbox",
    )
    .join(" ")
        + &identity.audit_details();
    assert!(!stored.contains(secret) && !stored.contains(&recovery[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_requires_a_code_and_each_code_works_once() {
    let identity = Identity::start().await;
    let (ada, app, _) = enabled(&identity).await;
    refused(login(&identity, None).await, 401, "totp_required");
    refused(login(&identity, Some("")).await, 401, "totp_required");
    for wrong in [
        "000000",
        "12345",
        "1234567",
        "abcdef",
        "+12345",
        "aaaaa-aaaaa-aaaaa",
    ] {
        refused(
            login(&identity, Some(wrong)).await,
            401,
            "invalid_credentials",
        );
    }
    let code = app.next(&identity);
    login(&identity, Some(&code)).await.expect(200);
    refused(
        login(&identity, Some(&code)).await,
        401,
        "invalid_credentials",
    );
    assert_eq!(identity.audited("session.totp_required", &ada), 2);
    assert_eq!(identity.audited("session.refused", &ada), 7);
    assert_eq!(identity.audited("session.opened", &ada), 1);
    // A code must be a string.
    let body = json!({ "username": "ada", "password": PASSWORD, "totp_code": 123_456 });
    let reply = identity.open("/api/auth/login", body).await;
    refused(reply, 400, "validation_failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_are_accepted_within_thirty_seconds_of_the_clock_and_not_beyond() {
    let identity = Identity::start().await;
    let (_, app, _) = enabled(&identity).await;
    identity.hand.advance(Duration::minutes(10));
    let now = identity.clock.now().timestamp();
    for wrong in [now - 60, now + 60] {
        let reply = login(&identity, Some(&app.code_at(wrong))).await;
        refused(reply, 401, "invalid_credentials");
    }
    for right in [now - 30, now, now + 30] {
        let reply = login(&identity, Some(&app.code_at(right))).await;
        reply.expect(200);
    }
    // An older code is refused after a newer one.
    let reply = login(&identity, Some(&app.code_at(now))).await;
    refused(reply, 401, "invalid_credentials");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_factor_is_not_revealed_before_the_right_password() {
    let identity = Identity::start().await;
    let (_, app, _) = enabled(&identity).await;
    identity.register("bob").await;
    let code = app.next(&identity);
    let mut answers = Vec::new();
    for username in ["ada", "bob", "nobody"] {
        for code in [None, Some("000000"), Some(code.as_str())] {
            let body =
                json!({ "username": username, "password": "wrong password", "totp_code": code });
            let reply = identity.open("/api/auth/login", body).await;
            answers.push(refused(reply, 401, "invalid_credentials").text());
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
    // The attempts have not used up the code.
    login(&identity, Some(&code)).await.expect(200);
    // An account without a second factor may send a code.
    let body = json!({ "username": "bob", "password": PASSWORD, "totp_code": "000000" });
    identity.open("/api/auth/login", body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_code_works_once_in_place_of_a_totp_code() {
    let identity = Identity::start().await;
    let (ada, _, recovery) = enabled(&identity).await;
    login(&identity, Some(&recovery[0])).await.expect(200);
    refused(
        login(&identity, Some(&recovery[0])).await,
        401,
        "invalid_credentials",
    );
    let typed = recovery[1].replace('-', "").to_uppercase();
    login(&identity, Some(&typed)).await.expect(200);
    assert_eq!(status(&identity, &ada).await, (true, 8));
    assert_eq!(identity.audited("totp.recovery_code_used", &ada), 2);
    assert!(identity.audit_details().contains(r#"{"codes_left":8}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_setup_replaces_only_an_unconfirmed_one() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    refused(
        setup(&identity, &ada, "wrong password").await,
        401,
        "invalid_credentials",
    );
    assert_eq!(identity.audited("password.refused", &ada), 1);
    let first = setup(&identity, &ada, PASSWORD).await.expect(200).json();
    let second = setup(&identity, &ada, PASSWORD).await.expect(200).json();
    let first = App::new(&first["secret"]).next(&identity);
    refused(
        confirm(&identity, &ada, &first).await,
        401,
        "invalid_credentials",
    );
    let second = App::new(&second["secret"]).next(&identity);
    confirm(&identity, &ada, &second).await.expect(200);
    let reply = refused(
        setup(&identity, &ada, PASSWORD).await,
        400,
        "validation_failed",
    );
    assert!(reply.text().contains("turn it off first"));
}

#[tokio::test(flavor = "multi_thread")]
async fn disabling_the_second_factor_requires_the_password_and_a_code() {
    let identity = Identity::start().await;
    let (ada, app, recovery) = enabled(&identity).await;
    let disable = async |code: Option<&str>| change(&identity, &ada, "disable", code).await;
    refused(disable(None).await, 401, "totp_required");
    refused(disable(Some("000000")).await, 401, "invalid_credentials");
    let body = json!({ "password": "wrong password", "totp_code": app.next(&identity) });
    let reply = identity.by(&ada, "/api/auth/totp/disable", body).await;
    refused(reply, 401, "invalid_credentials");
    assert_eq!(identity.audited("password.refused", &ada), 2);

    disable(Some(&app.next(&identity))).await.expect(204);
    assert_eq!(status(&identity, &ada).await, (false, 0));
    login(&identity, None).await.expect(200);
    assert_eq!(identity.audited("totp.disabled", &ada), 1);
    assert_eq!(
        identity.told(),
        ["second factor turned on", "second factor turned off"]
    );
    refused(disable(None).await, 400, "validation_failed");
    let reply = change(&identity, &ada, "recovery-codes", None).await;
    refused(reply, 400, "validation_failed");

    // Only recovery codes of the current second factor replace a lost app.
    let made = setup(&identity, &ada, PASSWORD).await.expect(200).json();
    let code = App::new(&made["secret"]).next(&identity);
    let fresh = codes(&confirm(&identity, &ada, &code).await.expect(200));
    refused(
        disable(Some(&recovery[0])).await,
        401,
        "invalid_credentials",
    );
    disable(Some(&fresh[0])).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_recovery_codes_invalidate_the_old_ones() {
    let identity = Identity::start().await;
    let (ada, app, old) = enabled(&identity).await;
    let renew = async |code: Option<&str>| change(&identity, &ada, "recovery-codes", code).await;
    refused(renew(None).await, 401, "totp_required");
    refused(renew(Some("000000")).await, 401, "invalid_credentials");
    let reply = renew(Some(&app.next(&identity))).await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    let new = codes(&reply);
    assert!(new.iter().all(|code| !old.contains(code)));
    refused(
        login(&identity, Some(&old[0])).await,
        401,
        "invalid_credentials",
    );
    login(&identity, Some(&new[0])).await.expect(200);
    assert_eq!(status(&identity, &ada).await, (true, 9));
    assert_eq!(identity.audited("totp.recovery_codes_renewed", &ada), 1);
    assert_eq!(identity.told().last().unwrap(), "recovery codes");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_totp_endpoint_checks_the_token_before_the_body() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let reply = identity.api.get("/api/auth/totp").send().await;
    refused(reply, 401, "authentication_required");
    for what in ["setup", "confirm", "disable", "recovery-codes"] {
        let path = format!("/api/auth/totp/{what}");
        let reply = identity.open(&path, json!([])).await;
        refused(reply, 401, "authentication_required");
        for body in [json!([]), json!({}), json!({ "password": 1, "code": 1 })] {
            refused(
                identity.by(&ada, &path, body).await,
                400,
                "validation_failed",
            );
        }
        let huge = json!({ "password": "x".repeat(70_000), "code": "x" });
        refused(
            identity.by(&ada, &path, huge).await,
            413,
            "payload_too_large",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changing_the_password_or_address_requires_a_code_too() {
    let identity = Identity::start().await;
    let (ada, app, _) = enabled(&identity).await;
    let paths = [
        (
            "/api/auth/email/change",
            json!({ "password": PASSWORD, "email": "new@example.com" }),
        ),
        (
            "/api/auth/password/change",
            json!({ "current_password": PASSWORD, "new_password": OTHER }),
        ),
    ];
    for (path, body) in paths {
        let with = |code: &str| {
            let mut body = body.clone();
            body["totp_code"] = json!(code);
            body
        };
        let reply = identity.by(&ada, path, body.clone()).await;
        refused(reply, 401, "totp_required");
        let reply = identity.by(&ada, path, with("000000")).await;
        refused(reply, 401, "invalid_credentials");
        let code = app.next(&identity);
        identity.by(&ada, path, with(&code)).await.expect(204);
    }
    let refusal = r#"{"for":"password change","wrong":"code"}"#;
    assert!(identity.audit_details().contains(refusal));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_account_requires_a_code_too() {
    let identity = Identity::start().await;
    let (ada, app, _) = enabled(&identity).await;
    let delete = async |code: &str| {
        let path = format!("/api/auth/user/{}", ada.id);
        let body = json!({ "password": PASSWORD, "totp_code": code });
        let call = identity.api.delete(&path).bearer(&ada.access);
        call.json(body).send().await
    };
    refused(delete("").await, 401, "totp_required");
    refused(delete("000000").await, 401, "invalid_credentials");
    identity.validate(&ada.access).await.expect(200);
    delete(&app.next(&identity)).await.expect(204);
    refused(identity.validate(&ada.access).await, 401, "token_revoked");
    assert_eq!(
        identity.count(
            "SELECT (SELECT count(*) FROM totp_factors) + (SELECT count(*) FROM recovery_codes) AS n"
        ),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_concurrent_sign_ins_with_one_code_one_succeeds() {
    let identity = Identity::start().await;
    let (ada, app, recovery) = enabled(&identity).await;
    for code in [
        app.next(&identity),
        recovery[0].clone(),
        app.next(&identity),
    ] {
        let attempts = (0..8).map(|_| login(&identity, Some(&code)));
        let replies = futures_util::future::join_all(attempts).await;
        let winners = replies.iter().filter(|reply| reply.status == 200);
        assert_eq!(winners.count(), 1);
        for reply in replies.into_iter().filter(|reply| reply.status != 200) {
            refused(reply, 401, "invalid_credentials");
        }
    }
    assert_eq!(status(&identity, &ada).await, (true, 9));
}

#[tokio::test(flavor = "multi_thread")]
async fn once_a_concurrent_confirmation_succeeds_no_sign_in_works_without_a_code() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let made = setup(&identity, &ada, PASSWORD).await.expect(200).json();
    let code = App::new(&made["secret"]).next(&identity);
    let logins = async {
        let attempts = (0..16).map(|_| login(&identity, None));
        futures_util::future::join_all(attempts).await
    };
    let (replies, confirmed) = tokio::join!(logins, confirm(&identity, &ada, &code));
    confirmed.expect(200);
    for reply in replies {
        if reply.status != 200 {
            refused(reply, 401, "totp_required");
        }
    }
    refused(login(&identity, None).await, 401, "totp_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_codes_count_like_wrong_passwords_and_a_missing_one_does_not() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let (_, app, _) = enabled(&identity).await;
    for n in 0..10 {
        // The wait after the previous wrong codes is over.
        identity.hand.advance(Duration::seconds(33));
        // A sign-in without a code neither counts as a wrong one nor resets the count.
        if n % 3 == 0 {
            refused(login(&identity, None).await, 401, "totp_required");
        }
        refused(
            login(&identity, Some("000000")).await,
            401,
            "invalid_credentials",
        );
    }
    identity.hand.advance(Duration::seconds(33));
    let code = app.next(&identity);
    login(&identity, Some(&code)).await.expect(200);
    for _ in 0..10 {
        identity.hand.advance(Duration::seconds(33));
        login(&identity, Some("000000")).await.expect(401);
    }
    refused(login(&identity, None).await, 429, "rate_limited");
}

/// Starts a service with rate limits behind a trusted proxy, so that each guess can have its own address.
async fn limited() -> Identity {
    Identity::start_with(|config| {
        config.rate_limits.enabled = Some(true);
        config.trusted_proxies.0 = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await
}

/// Signs in with the password and a code, each time from another address.
async fn login_from_elsewhere(api: &ApiClient, code: &str) -> ApiResponse {
    static COME: AtomicU32 = AtomicU32::new(0);
    let address = Ipv4Addr::from_bits(0xc633_6400 + COME.fetch_add(1, Ordering::Relaxed));
    let body = json!({ "username": "ada", "password": PASSWORD, "totp_code": code });
    let call = api.post("/api/auth/login").json(body);
    call.header("x-forwarded-for", address.to_string())
        .send()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_after_wrong_codes_grows_up_to_a_day_and_time_does_not_reset_it() {
    let identity = limited().await;
    let (_, app, recovery) = enabled(&identity).await;
    let mut waits = Vec::new();
    let began = identity.clock.now();
    let mut guesses_of_days = [0; 4];
    for n in 0..24 {
        let guess = ["000000", "aaaaa-aaaaa-aaaaa"][n % 2];
        let reply = login_from_elsewhere(&identity.api, guess).await;
        refused(reply, 401, "invalid_credentials");
        let day = usize::try_from((identity.clock.now() - began).num_days()).unwrap();
        if let Some(guesses) = guesses_of_days.get_mut(day) {
            *guesses += 1;
        }
        let reply = login_from_elsewhere(&identity.api, guess).await;
        if reply.status == 401 {
            continue;
        }
        let reply = refused(reply, 429, "rate_limited");
        let wait: i64 = reply.header("retry-after").parse().unwrap();
        waits.push(wait);
        // The next wrong code continues the series, however much later it comes.
        let later = [0, 20 * 60][usize::from(wait < 20 * 60)];
        identity.hand.advance(Duration::seconds(wait + later));
    }
    let mut expected: Vec<_> = (0..17).map(|n| 1 << n).collect();
    expected.extend(vec![86_400; waits.len() - expected.len()]);
    assert_eq!(waits, expected);
    assert!(guesses_of_days[0] <= 24 && guesses_of_days[1..].iter().all(|n| *n <= 2));
    // After the wait the right code works, and the next wrong code starts the count anew.
    let reply = login_from_elsewhere(&identity.api, &app.next(&identity)).await;
    reply.expect(200);
    for _ in 0..4 {
        let reply = login_from_elsewhere(&identity.api, "000000").await;
        refused(reply, 401, "invalid_credentials");
    }
    let reply = login_from_elsewhere(&identity.api, &recovery[0]).await;
    reply.expect(200);
    for _ in 0..5 {
        let reply = login_from_elsewhere(&identity.api, "000000").await;
        refused(reply, 401, "invalid_credentials");
    }
    let reply = login_from_elsewhere(&identity.api, &recovery[1]).await;
    refused(reply, 429, "rate_limited");
    assert_eq!(identity.mailed("codes_refused").len(), 2);
    // The password without a code still gets the usual response.
    refused(login(&identity, None).await, 401, "totp_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_processes_share_the_count_of_wrong_codes_and_so_does_a_new_one() {
    let identity = limited().await;
    let (_, app, _) = enabled(&identity).await;
    let another = async || {
        let mut config = crate::support::config(&identity.db);
        config.rate_limits.enabled = Some(true);
        config.trusted_proxies.0 = vec!["127.0.0.0/8".parse().unwrap()];
        let deps = crate::support::deps(&identity.clock);
        identity_service::start(config, deps).await.unwrap()
    };
    let second = another().await;
    let second_api = ApiClient::new(second.base_url());
    for n in 0..9 {
        let api = [&identity.api, &second_api][n % 2];
        login_from_elsewhere(api, "000000").await.expect(401);
        // The waits are 1, 2, 4, 8 and 16 seconds.
        identity
            .hand
            .advance(Duration::seconds([0, 20][usize::from(n > 3)]));
    }
    login_from_elsewhere(&second_api, "000000")
        .await
        .expect(401);
    let third = another().await;
    let code = app.next(&identity);
    for running in [&identity.running, &second, &third] {
        let api = ApiClient::new(running.base_url());
        let reply = refused(login_from_elsewhere(&api, &code).await, 429, "rate_limited");
        assert_eq!(reply.header("retry-after"), "2");
    }
    identity.hand.advance(Duration::seconds(2));
    let api = ApiClient::new(third.base_url());
    login_from_elsewhere(&api, &code).await.expect(200);
    login_from_elsewhere(&identity.api, "000000")
        .await
        .expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_wrong_codes_only_five_are_checked() {
    let identity = limited().await;
    enabled(&identity).await;
    let guesses = (0..30).map(|_| login_from_elsewhere(&identity.api, "000000"));
    let replies = futures_util::future::join_all(guesses).await;
    let (looked_at, waits): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(|reply| reply.status == 401);
    assert_eq!((looked_at.len(), waits.len()), (5, 25));
    for reply in waits {
        refused(reply, 429, "rate_limited");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_codes_without_the_password_cause_no_wait() {
    let identity = limited().await;
    let (ada, app, _) = enabled(&identity).await;
    for n in 0..20 {
        let body = json!({ "username": "ada", "password": "wrong", "totp_code": "000000" });
        let call = identity.api.post("/api/auth/login").json(body);
        let call = call.header("x-forwarded-for", format!("203.0.113.{n}"));
        refused(call.send().await, 401, "invalid_credentials");
        let body = json!({ "password": "wrong", "totp_code": "000000" });
        let call = identity
            .api
            .post("/api/auth/totp/disable")
            .bearer(&ada.access);
        let call = call.header("x-forwarded-for", format!("203.0.113.{}", n + 100));
        refused(call.json(body).send().await, 401, "invalid_credentials");
        // A stolen access token alone confirms nothing.
        refused(
            confirm(&identity, &ada, "000000").await,
            400,
            "validation_failed",
        );
    }
    let reply = login_from_elsewhere(&identity.api, &app.next(&identity)).await;
    reply.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_code_resets_the_count_even_if_its_request_fails() {
    let identity = limited().await;
    identity.register_verified("bob", "bob@example.com").await;
    let (ada, app, _) = enabled(&identity).await;
    for _ in 0..2 {
        for _ in 0..4 {
            login_from_elsewhere(&identity.api, "000000")
                .await
                .expect(401);
        }
        let body = json!({
            "password": PASSWORD, "email": "bob@example.com", "totp_code": app.next(&identity),
        });
        let reply = identity.by(&ada, "/api/auth/email/change", body).await;
        refused(reply, 400, "email_taken");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_are_accepted_with_any_grouping_and_in_full_width_digits() {
    let identity = Identity::start().await;
    let (ada, app, recovery) = enabled(&identity).await;
    for between in [
        " ", "-", "\u{a0}", "\u{202f}", "\u{2007}", "\u{2011}", " - ",
    ] {
        let code = app.next(&identity);
        let typed = format!("\u{a0}{}{between}{}\n", &code[..3], &code[3..]);
        login(&identity, Some(&typed)).await.expect(200);
    }
    let code = app.next(&identity);
    let wide = code
        .bytes()
        .map(|digit| char::from_u32(0xff10 + u32::from(digit - b'0')));
    let wide: String = wide.map(Option::unwrap).collect();
    login(&identity, Some(&wide)).await.expect(200);
    for (code, between) in recovery
        .iter()
        .zip(["\u{a0}", "\u{2011}", " \u{2013} ", ""])
    {
        let typed = code.replace('-', between).to_uppercase();
        login(&identity, Some(&typed)).await.expect(200);
    }
    for blank in ["", " ", "\u{a0}-\u{202f}"] {
        refused(login(&identity, Some(blank)).await, 401, "totp_required");
    }
    let code = app.next(&identity);
    let typed = format!("{}\u{202f}{}", &code[..3], &code[3..]);
    let reply = change(&identity, &ada, "disable", Some(&typed)).await;
    reply.expect(204);
    let made = setup(&identity, &ada, PASSWORD).await.expect(200).json();
    let code = App::new(&made["secret"]).next(&identity);
    let typed = format!("{}\u{2007}-{}", &code[..3], &code[3..]);
    confirm(&identity, &ada, &typed).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn five_wrong_totp_codes_delay_the_account_and_mail_its_owner_once() {
    let identity = Identity::start_with(|config| {
        config.rate_limits.enabled = Some(true);
        config.trusted_proxies.0 = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let (ada, app, _) = enabled(&identity).await;
    let from = async |address: &str, code: &str| {
        let body = json!({ "username": "ada", "password": PASSWORD, "totp_code": code });
        let call = identity.api.post("/api/auth/login").json(body);
        call.header("x-forwarded-for", address).send().await
    };
    let waits = async |seconds: &str| {
        let reply = from("198.51.100.1", "000000").await;
        let reply = refused(reply, 429, "rate_limited");
        assert_eq!(reply.header("retry-after"), seconds);
    };
    for n in 1..=4 {
        from(&format!("203.0.113.{n}"), "000000").await.expect(401);
    }
    // Other endpoints that ask for a code count for the same account.
    let reply = change(&identity, &ada, "disable", Some("000000")).await;
    refused(reply, 401, "invalid_credentials");
    waits("1").await;
    let reply = change(&identity, &ada, "disable", Some("000000")).await;
    refused(reply, 429, "rate_limited");
    assert_eq!(identity.mailed("codes_refused"), ["ada@example.com"]);
    identity.hand.advance(Duration::seconds(1));
    from("203.0.113.6", "000000").await.expect(401);
    waits("2").await;
    assert_eq!(identity.mailed("codes_refused").len(), 1);

    let code = app.next(&identity);
    from("203.0.113.7", &code).await.expect(200);
    for n in 1..=5 {
        from(&format!("203.0.113.{n}"), "000000").await.expect(401);
    }
    waits("1").await;
    assert_eq!(identity.mailed("codes_refused").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_reset_by_mail_keeps_the_second_factor() {
    let identity = Identity::start().await;
    let (_, app, _) = enabled(&identity).await;
    let body = json!({ "username": "ada" });
    identity.forgot(body).await.expect(202);
    let link = identity.last_link("reset_password");
    identity.reset(&link, OTHER).await.expect(204);
    refused(identity.login("ada", OTHER).await, 401, "totp_required");
    let body = json!({ "username": "ada", "password": OTHER, "totp_code": app.next(&identity) });
    let reply = identity.open("/api/auth/login", body).await;
    signed_in(&reply.expect(200).json());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superadmin_needs_a_second_factor_where_it_is_required() {
    let identity = Identity::start_with(|config| config.admin.require_totp = true).await;
    let ada = superadmin(&identity, "ada").await;
    let bob = identity.register_verified("bob", "bob@example.com").await;
    let get = async |path: &str| {
        let call = identity.api.get(path).bearer(&ada.access);
        call.send().await
    };
    let mut browser = Browser::signed_in(&identity, "ada").await;
    for path in [
        "/api/admin/users",
        "/api/admin/audit",
        "/api/admin/oauth-clients",
    ] {
        let reply = refused(get(path).await, 403, "forbidden");
        assert!(
            reply.text().contains("/account/second-factor"),
            "{}",
            reply.text()
        );
    }
    let other = format!("/api/auth/user/{}", bob.id);
    assert!(
        !get(&other)
            .await
            .expect(200)
            .text()
            .contains("bob@example.com")
    );
    for path in [
        "/admin/users",
        "/admin/clients",
        "/admin/keys",
        "/admin/audit",
    ] {
        let page = browser.fetch(path).await.expect(403).html;
        assert!(page.contains("/account/second-factor"), "{page}");
    }
    // The pages do not exist for other accounts, and the second factor can still be set up.
    let mut strangers = Browser::signed_in(&identity, "bob").await;
    strangers.fetch("/admin/users").await.expect(404);
    browser.fetch("/account/second-factor").await.expect(200);
    let post = async |what: &str, body: Value| {
        let path = format!("/api/auth/totp/{what}");
        let call = identity.api.post(&path).bearer(&ada.access).json(body);
        call.send().await.expect(200).json()
    };
    let made = post("setup", json!({ "password": PASSWORD })).await;
    let app = App::new(&made["secret"]);
    refused(get("/api/admin/users").await, 403, "forbidden");
    post("confirm", json!({ "code": app.next(&identity) })).await;
    get("/api/admin/users").await.expect(200);
    browser.fetch("/admin/users").await.expect(200);
    assert!(
        get(&other)
            .await
            .expect(200)
            .text()
            .contains("bob@example.com")
    );
    // A command on the machine needs no second factor.
    identity.sql("DELETE FROM totp_factors");
    run(&identity.db, &["users", "list"], "", &[]).good();
    refused(get("/api/admin/users").await, 403, "forbidden");
}
