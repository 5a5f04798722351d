//! Sign-in at the work-session service, with the real identity service behind it.

use serde_json::{Value, json};
use test_kit::{ApiClient, ApiResponse};
use totp_rs::{Builder, Secret};

use crate::harness::{Options, PASSWORD, System};
use crate::processes::{holdfast, quick};

/// Starts both areas behind the same proxy, with the identity area's rate limits on.
async fn behind_a_proxy(worksession: Value) -> System {
    System::with(Options {
        identity: json!({"rate_limits": {"enabled": true}, "trusted_proxies": "127.0.0.1/32"}),
        worksession,
        ..Options::default()
    })
    .await
}

/// Signs in from `address`, according to the proxy.
async fn login(system: &System, address: &str, body: Value) -> ApiResponse {
    let call = system.work.post("/api/login").json(body);
    call.header("x-forwarded-for", address)
        .header("user-agent", "desk/4.2")
        .send()
        .await
}

fn with(password: &str) -> Value {
    json!({"username": "Ada", "password": password})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tokens_are_valid_in_both_areas_and_the_session_is_listed_with_its_client() {
    let system = behind_a_proxy(json!({"trusted_proxies": "127.0.0.1/32"})).await;
    let ada = system.register_user("ada").await;
    let reply = login(&system, "203.0.113.9", with(PASSWORD))
        .await
        .expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    let tokens = reply.json();
    assert_eq!(tokens["expires_in"], 2_592_000);
    assert_eq!(tokens["user"]["id"], ada.id);
    assert!(tokens["refresh_token"].is_string());
    let token = tokens["access_token"].as_str().unwrap();
    for (api, path) in [
        (&system.work, "/api/user/data"),
        (&system.identity, "/api/auth/me"),
    ] {
        api.get(path).bearer(token).send().await.expect(200);
    }
    let listed = system.identity.get("/api/auth/sessions").bearer(token);
    let listed = listed.send().await.expect(200).json();
    let own = &listed["sessions"].as_array().unwrap()[..]
        .iter()
        .find(|session| session["current"] == true)
        .unwrap();
    assert_eq!(own["address"], "203.0.113.9");
    assert_eq!(own["user_agent"], "desk/4.2");
    let refresh = json!({"refresh_token": tokens["refresh_token"]});
    let refreshed = system.identity.post("/api/auth/refresh").json(refresh);
    refreshed.send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_name_and_a_wrong_password_get_the_same_response() {
    let system = System::start().await;
    system.register_user("ada").await;
    let long = "x".repeat(100);
    for body in [
        with("wrong password"),
        with(""),
        with(&long),
        json!({"username": "nobody", "password": PASSWORD}),
        json!({"username": "", "password": PASSWORD}),
        json!({"username": "ada@example.com", "password": PASSWORD}),
        json!({"username": "Ada", "password": "wrong password", "totp_code": "123456"}),
    ] {
        let refused = login(&system, "203.0.113.9", body).await.expect(401);
        assert_eq!(refused.json(), json!({"error": "Invalid credentials"}));
    }
    login(&system, "203.0.113.9", with(PASSWORD))
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_factor_is_requested_and_accepted_once() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let post = async |what: &str, body: Value| {
        let path = format!("/api/auth/totp/{what}");
        let call = system.identity.post(&path).bearer(&ada.token).json(body);
        call.send().await.expect(200).json()
    };
    let made = post("setup", json!({"password": PASSWORD})).await;
    let secret = Secret::try_from_base32(made["secret"].as_str().unwrap()).unwrap();
    // After half a minute, the code is one that was not used yet.
    let next = || {
        system.clock.advance(chrono::TimeDelta::seconds(30));
        let totp = Builder::new().with_secret(secret.clone()).build().unwrap();
        let now = u64::try_from(system.now().timestamp()).unwrap();
        totp.generate(now).to_string()
    };
    post("confirm", json!({"code": next()})).await;

    let asked = login(&system, "203.0.113.9", with(PASSWORD))
        .await
        .expect(401);
    assert_eq!(asked.json(), json!({"error": "TOTP code required"}));
    let code = next();
    let wrong = if code == "000000" { "000001" } else { "000000" };
    for (code, status) in [(wrong, 401), (code.as_str(), 200), (code.as_str(), 401)] {
        let mut body = with(PASSWORD);
        body["totp_code"] = json!(code);
        let reply = login(&system, "203.0.113.9", body).await.expect(status);
        if status == 401 {
            assert_eq!(reply.json(), json!({"error": "Invalid credentials"}));
        }
    }
    // Without the password, the response does not reveal that there is a second factor.
    let refused = login(&system, "203.0.113.9", with("wrong"))
        .await
        .expect(401);
    assert_eq!(refused.json(), json!({"error": "Invalid credentials"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_behind_one_proxy_do_not_share_their_failure_limits() {
    let system = behind_a_proxy(json!({"trusted_proxies": "127.0.0.1/32"})).await;
    system.register_user("ada").await;
    for _ in 0..10 {
        login(&system, "198.51.100.1", with("wrong"))
            .await
            .expect(401);
    }
    let refused = login(&system, "198.51.100.1", with(PASSWORD))
        .await
        .expect(429);
    assert_eq!(refused.json(), json!({"error": "Too many requests"}));
    assert!((1..=2).contains(&refused.header("retry-after").parse::<u64>().unwrap()));
    login(&system, "198.51.100.2", with(PASSWORD))
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_client_address_gives_no_further_tries() {
    let system = behind_a_proxy(json!({})).await;
    system.register_user("ada").await;
    for made_up in 1..=10 {
        let address = format!("198.51.100.{made_up}");
        login(&system, &address, with("wrong")).await.expect(401);
    }
    login(&system, "198.51.100.99", with(PASSWORD))
        .await
        .expect(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_one_process_each_client_has_its_own_limits_without_configuration() {
    let data = tempfile::tempdir().unwrap();
    let mut env = quick();
    env.insert("IDENTITY__RATE_LIMITS__ENABLED".into(), "true".into());
    env.insert("WORKSESSION__TRUSTED_PROXIES".into(), "127.0.0.1/32".into());
    let process = holdfast(data.path(), &["serve"], &env);
    let urls = process.wait_listening(&["identity", "worksession", "notifier"]);
    let identity = ApiClient::new(&*urls["identity"]);
    let work = ApiClient::new(&*urls["worksession"]);
    let account = json!({"username": "Ada", "password": PASSWORD});
    let register = identity.post("/api/auth/register").json(account.clone());
    register.send().await.expect(201);
    let login = async |address: String, body: Value| {
        let call = work.post("/api/login").json(body);
        call.header("x-forwarded-for", &address).send().await
    };
    // More than one address may try: if all counted as one, the last sign-in would be limited.
    for n in 1..=70 {
        login(format!("203.0.113.{n}"), with("wrong")).await;
    }
    login("198.51.100.7".into(), account).await.expect(200);
}
