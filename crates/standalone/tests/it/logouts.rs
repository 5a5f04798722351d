//! Clients are told of the end of their sessions (OpenID Connect Back-Channel Logout), by real processes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{DecodingKey, Validation};
use serde_json::{Value, json};
use test_kit::{ApiClient, FakeChat, Process, wait_until};
use url::Url;
use url::form_urlencoded::{self, Serializer};

use crate::harness::PASSWORD;
use crate::processes::{holdfast, quick};

const CALLBACK: &str = "https://app.example.com/cb";
const SESSIONS: usize = 20;

/// Starts everything in one process, and returns the address of the identity area.
fn serve(data: &Path) -> (Process, ApiClient) {
    let process = holdfast(data, &["serve"], &quick());
    let addresses = process.wait_listening(&["identity", "worksession", "notifier"]);
    let identity = ApiClient::new(&addresses["identity"]);
    (process, identity)
}

/// Registers a client that is called at `uri`, and returns its id and secret.
fn register(data: &Path, uri: &str) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_holdfast"))
        .args(["--data-dir", data.to_str().unwrap(), "admin", "identity"])
        .args(["clients", "create", "--name", "App", "--json"])
        .args(["--redirect-uri", CALLBACK, "--backchannel-logout-uri", uri])
        .env_clear()
        .envs(quick())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let client: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |name: &str| client[name].as_str().unwrap().to_owned();
    (text("client_id"), text("client_secret"))
}

/// Lets the client in with an access token, and returns the client's session and the account's id in its ID token.
async fn let_in(identity: &ApiClient, token: &str, client: &(String, String)) -> (String, String) {
    let query = Serializer::new(String::new())
        .extend_pairs([("client_id", client.0.as_str()), ("redirect_uri", CALLBACK)])
        .extend_pairs([("response_type", "code"), ("scope", "openid")])
        .finish();
    let call = identity.get(&format!("/api/oauth/authorize?{query}"));
    let reply = call.bearer(token).send().await.expect(302);
    let address: Url = reply.header("location").parse().unwrap();
    let code = address.query_pairs().find(|(name, _)| name == "code");
    let form = Serializer::new(String::new())
        .extend_pairs([
            ("grant_type", "authorization_code"),
            ("redirect_uri", CALLBACK),
        ])
        .extend_pairs([("client_id", &client.0), ("client_secret", &client.1)])
        .append_pair("code", &code.unwrap().1)
        .finish();
    let call = identity.post("/api/oauth/token");
    let call = call.body("application/x-www-form-urlencoded", form);
    let tokens = call.send().await.expect(200).json();
    let claims =
        jsonwebtoken::dangerous::insecure_decode::<Value>(tokens["id_token"].as_str().unwrap());
    let claims = claims.unwrap().claims;
    let text = |name: &str| claims[name].as_str().unwrap().to_owned();
    (text("sid"), text("sub"))
}

/// Verifies a logout call as a client does (section 2.6), and returns `sub` and `sid`.
fn verified(jwks: &JwkSet, client: &str, body: &[u8]) -> (String, String) {
    let form: Vec<_> = form_urlencoded::parse(body).into_owned().collect();
    let [(name, token)] = form.as_slice() else {
        panic!("{form:?}");
    };
    assert_eq!(name, "logout_token");
    let header = jsonwebtoken::decode_header(token).unwrap();
    assert_eq!(header.typ.as_deref(), Some("logout+jwt"));
    let jwk = jwks.find(&header.kid.unwrap()).unwrap();
    let mut validation = Validation::new(header.alg);
    validation.set_issuer(&["http://localhost"]);
    validation.set_audience(&[client]);
    let key = DecodingKey::from_jwk(jwk).unwrap();
    let claims = jsonwebtoken::decode::<Value>(token, &key, &validation)
        .unwrap()
        .claims;
    let event = "http://schemas.openid.net/event/backchannel-logout";
    assert_eq!(claims["events"], json!({ event: {} }));
    assert_eq!(claims.get("nonce"), None);
    let text = |name: &str| claims[name].as_str().unwrap().to_owned();
    (text("sub"), text("sid"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_logout_that_was_answered_reaches_the_client_although_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let client_server = FakeChat::start().await;
    let (mut process, identity) = serve(data);
    let client = register(data, &client_server.hook("backchannel"));
    let body = json!({ "username": "ada", "password": PASSWORD });
    let ada = identity.post("/api/auth/register").json(body).send().await;
    let token = ada.expect(201).json()["access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut ended = BTreeSet::new();
    for _ in 0..SESSIONS {
        let (sid, sub) = let_in(&identity, &token, &client).await;
        ended.insert((sub, sid));
    }
    let call = identity.get("/api/auth/global-logout").bearer(&token);
    call.send().await.expect(400);
    process.kill();
    let (_process, identity) = serve(data);
    let jwks = identity.get("/.well-known/jwks.json").send().await;
    let jwks: JwkSet = serde_json::from_value(jwks.expect(200).json()).unwrap();
    wait_until("every logout", Duration::from_secs(120), async || {
        let messages = client_server.messages();
        let called = messages.iter().map(|message| {
            assert_eq!(message.path, "/services/backchannel");
            verified(&jwks, &client.0, &message.raw)
        });
        (called.collect::<BTreeSet<_>>() == ended).then_some(())
    })
    .await;
}
