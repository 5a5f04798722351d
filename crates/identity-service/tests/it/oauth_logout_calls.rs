//! Clients are told of the end of their sessions (OpenID Connect Back-Channel Logout).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use broker::{Acknowledgement, Broker, ConsumeOptions, Queue};
use chrono::Duration;
use diesel::connection::SimpleConnection as _;
use event_types::{Event, EventData as _, LogoutCall, LogoutRequested};
use identity_service::{Deps, start};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{DecodingKey, Validation};
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use service_kit::Clock;
use service_kit::seal::{Purpose, Sealer, SealingKeys};
use test_kit::{ApiClient, TestBackend, wait_until};
use tokio::sync::mpsc::unbounded_channel;

use crate::admin_api::superadmin;
use crate::oauth_device::decide;
use crate::oauth_fixture::{CALLBACK, OAuth, SECRET, VERIFIER, answer, brought, claims};
use crate::oauth_logout::{let_in, logout, set_metadata, text};
use crate::support::{Identity, MAIL_KEY, PASSWORD, SignedIn, beginning, refused, signed_in};

const URI: &str = "https://app.example.com/backchannel";

fn sealer() -> Sealer {
    let keys = SealingKeys::new(&MAIL_KEY, []);
    keys.sealer(Purpose::Logouts).unwrap()
}

/// Returns an identity service whose client `web` is told of logouts.
async fn begin() -> OAuth {
    let oauth = OAuth::start_with(|config| config.housekeeping_seconds = 1).await;
    set_metadata(
        &oauth.identity,
        "web",
        &json!({ "backchannel_logout_uri": URI }),
    );
    oauth
}

/// Returns the calls in the outbox, which are not signed yet.
fn requested(identity: &Identity) -> Vec<Value> {
    let events = identity.events("identity.logout_requested.v1");
    let open = |event: &Value| {
        let client = text(event, "client_id");
        let context = format!("unsigned-logout/{client}");
        let plain = sealer().open_text(&context, text(event, "sealed")).unwrap();
        serde_json::from_str(plain.expose_secret()).unwrap()
    };
    events.iter().map(open).collect()
}

fn sids(calls: &[Value]) -> Vec<&str> {
    calls.iter().map(|call| text(call, "sid")).collect()
}

fn sid(tokens: &Value) -> String {
    text(&claims(text(tokens, "access_token")), "sid").to_owned()
}

/// A way in which a client's session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    RevokedByClient,
    RefreshTokenReused,
    CodeReplayed,
    SignInEnded,
    EndedInTheList,
    OthersEnded,
    GlobalLogout,
    PasswordChanged,
    AccessWithdrawn,
    Deactivated,
    PasswordResetByAdministrator,
    RevokedByAdministrator,
    AccountDeleted,
    Expired,
}

const ENDS: [End; 14] = [
    End::RevokedByClient,
    End::RefreshTokenReused,
    End::CodeReplayed,
    End::SignInEnded,
    End::EndedInTheList,
    End::OthersEnded,
    End::GlobalLogout,
    End::PasswordChanged,
    End::AccessWithdrawn,
    End::Deactivated,
    End::PasswordResetByAdministrator,
    End::RevokedByAdministrator,
    End::AccountDeleted,
    End::Expired,
];

/// A user who has let `web` in by an access token.
struct User {
    own: SignedIn,
    code: String,
    tokens: Value,
}

async fn user(oauth: &OAuth, name: &str) -> User {
    let own = oauth.identity.register(name).await;
    let path = OAuth::request("web", &[]);
    let reply = oauth.authorize(&path, &own.access).await.expect(302);
    let code = answer(reply.header("location"))["code"].clone();
    let tokens = oauth.redeem("web", &code).await.expect(200).json();
    User { own, code, tokens }
}

/// Ends the client's session of this user.
async fn end(oauth: &OAuth, admin: &SignedIn, user: &User, by: End) {
    let web = ("web", Some(SECRET));
    let refresh = text(&user.tokens, "refresh_token");
    let call = async |method: Method, path: &str, body: Value, token: &str, status: u16| {
        let call = oauth.identity.api.call(method, path).bearer(token);
        call.json(body).send().await.expect(status);
    };
    let own = async |method: Method, path: &str, body: Value, status: u16| {
        call(method, path, body, &user.own.access, status).await;
    };
    let admin = async |method: Method, path: &str, body: Value, status: u16| {
        let path = format!("/api/admin/users/{}{path}", user.own.id);
        call(method, &path, body, &admin.access, status).await;
    };
    match by {
        End::RevokedByClient => {
            let form = [("token", refresh)];
            oauth
                .post("/api/oauth/revoke", web, &form)
                .await
                .expect(200);
        }
        End::RefreshTokenReused => {
            oauth.refresh("web", refresh, None).await.expect(200);
            oauth.identity.hand.advance(Duration::minutes(1));
            oauth.refresh("web", refresh, None).await.expect(400);
        }
        End::CodeReplayed => drop(oauth.redeem("web", &user.code).await.expect(400)),
        End::SignInEnded => own(Method::POST, "/api/auth/logout", json!({}), 200).await,
        End::EndedInTheList => {
            let path = format!("/api/auth/sessions/{}", sid(&user.tokens));
            own(Method::DELETE, &path, json!({}), 204).await;
        }
        End::OthersEnded => own(Method::DELETE, "/api/auth/sessions", json!({}), 204).await,
        End::GlobalLogout => {
            own(Method::GET, "/api/auth/global-logout", json!({}), 400).await;
        }
        End::PasswordChanged => {
            let body = json!({ "current_password": PASSWORD, "new_password": "battery staple" });
            own(Method::POST, "/api/auth/password/change", body, 204).await;
        }
        End::AccessWithdrawn => {
            own(Method::DELETE, "/api/auth/applications/web", json!({}), 204).await;
        }
        End::Deactivated => admin(Method::PATCH, "", json!({ "is_active": false }), 200).await,
        End::PasswordResetByAdministrator => {
            admin(Method::POST, "/reset-password", json!({}), 200).await;
        }
        End::RevokedByAdministrator => {
            admin(Method::POST, "/revoke-sessions", json!({}), 200).await;
        }
        End::AccountDeleted => {
            let path = format!("/api/auth/user/{}", user.own.id);
            own(Method::DELETE, &path, json!({ "password": PASSWORD }), 204).await;
        }
        // Housekeeping ends it.
        End::Expired => oauth.identity.hand.advance(Duration::days(91)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_of_a_clients_session_requests_one_logout_call() {
    let oauth = begin().await;
    let admin = superadmin(&oauth.identity, "root").await;
    for (number, by) in ENDS.into_iter().enumerate() {
        let user = user(&oauth, &format!("user-{number}")).await;
        end(&oauth, &admin, &user, by).await;
        let what = format!("{by:?}");
        let sub = json!(user.own.id.to_string());
        let calls = wait_until(&what, StdDuration::from_secs(20), async || {
            let mut calls = requested(&oauth.identity);
            calls.retain(|call| call["sub"] == sub);
            (!calls.is_empty()).then_some(calls)
        })
        .await;
        let expected = json!({
            "uri": URI, "algorithm": "ES256", "sub": user.own.id.to_string(), "sid": sid(&user.tokens),
        });
        assert_eq!(calls, [expected], "{by:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_client_is_called_at_its_last_address() {
    let oauth = begin().await;
    let admin = superadmin(&oauth.identity, "root").await;
    let web = oauth.tokens("web", "openid").await;
    // It does not know the id of this session.
    oauth.tokens("web", "profile").await;
    let path = "/api/admin/oauth-clients/web";
    let call = oauth.identity.api.call(Method::DELETE, path);
    call.bearer(&admin.access).send().await.expect(204);
    let calls = requested(&oauth.identity);
    assert_eq!(sids(&calls), [sid(&web)]);
    assert_eq!(calls[0]["uri"], URI);

    // So is one that a start no longer finds in its configuration.
    set_metadata(
        &oauth.identity,
        "native",
        &json!({ "backchannel_logout_uri": URI }),
    );
    oauth
        .identity
        .sql("UPDATE oauth_clients SET is_configured = true WHERE id = 'native'");
    let native = oauth.tokens("native", "openid").await;
    let replica = oauth.identity.replica("https://id.example.com").await;
    let calls = requested(&oauth.identity);
    let called = sids(&calls).into_iter().map(str::to_owned);
    let expected = BTreeSet::from([sid(&web), sid(&native)]);
    assert_eq!(called.collect::<BTreeSet<_>>(), expected);
    assert_eq!(calls.len(), 2);
    replica.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sessions_over_the_limit_request_logout_calls() {
    let oauth = begin().await;
    let mut first = None;
    for _ in 0..201 {
        let tokens = oauth.tokens("web", "openid").await;
        first.get_or_insert(tokens);
        oauth.identity.hand.advance(Duration::milliseconds(1));
    }
    let calls = requested(&oauth.identity);
    assert_eq!(sids(&calls), [sid(&first.unwrap())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_are_told_sign_out_with_the_sign_in_that_let_them_in() {
    let oauth = begin().await;
    let told = json!({ "backchannel_logout_uri": URI });
    oauth.add_client("offline", Some(SECRET), false);
    oauth
        .identity
        .sql("UPDATE oauth_clients SET scope = 'openid offline_access' WHERE id = 'offline'");
    set_metadata(&oauth.identity, "offline", &told);
    oauth.add_client("silent", None, false);
    set_metadata(&oauth.identity, "silent", &told);
    let mut browser = oauth.browser().await;
    let mut other = oauth.browser().await;
    let web = let_in(&oauth, &mut browser, "web", "openid").await;
    let elsewhere = let_in(&oauth, &mut other, "web", "openid").await;
    let native = let_in(&oauth, &mut browser, "native", "openid").await;
    let silent = let_in(&oauth, &mut browser, "silent", "profile").await;
    let offline = {
        let changes = [("scope", Some("openid offline_access"))];
        let page = browser.get(&OAuth::request("offline", &changes)).await;
        let page = browser
            .submit(page.form("/consent").set("decision", "allow"))
            .await;
        let code = answer(page.leads_to.as_deref().unwrap())["code"].clone();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        let reply = oauth.token(("offline", Some(SECRET)), &form).await;
        reply.expect(200).json()
    };
    let form = browser.get("/account").await.form("/logout");
    browser.submit(form).await;
    let calls = requested(&oauth.identity);
    let called: BTreeSet<&str> = sids(&calls).into_iter().collect();
    let (web_sid, offline_sid) = (sid(&web), sid(&offline));
    assert_eq!(called, BTreeSet::from([&*web_sid, &*offline_sid]));
    // Offline access outlives the sign-in (Back-Channel Logout section 2.7). So do clients that cannot be told, and those
    // without ID tokens.
    for (tokens, status) in [
        (&web, 401),
        (&offline, 200),
        (&elsewhere, 200),
        (&native, 200),
        (&silent, 200),
    ] {
        let access = signed_in(tokens).access;
        assert_eq!(oauth.identity.validate(&access).await.status, status);
    }
    let audited = "SELECT count(*) AS n FROM audit_log WHERE details LIKE '%sign_in_ended%'";
    assert_eq!(oauth.identity.count(audited), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_of_somebody_else_in_the_same_browser_signs_the_clients_out() {
    let oauth = begin().await;
    oauth.identity.register("bob").await;
    let mut browser = oauth.browser().await;
    let web = let_in(&oauth, &mut browser, "web", "openid").await;
    for (name, calls) in [("ada", 0), ("bob", 1)] {
        let form = browser.get("/login?again=true").await.form("/login");
        let form = form.set("username", name).set("password", PASSWORD);
        browser.submit(form).await;
        assert_eq!(requested(&oauth.identity).len(), calls, "{name}");
    }
    assert_eq!(sids(&requested(&oauth.identity)), [sid(&web)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_is_redeemed_while_somebody_else_signs_in_leaves_no_session() {
    let oauth = begin().await;
    oauth.identity.register("bob").await;
    let mut browser = oauth.browser().await;
    let page = browser.get(&OAuth::request("web", &[])).await;
    let form = page.form("/consent").set("decision", "allow");
    let code = brought(&browser.submit(form).await)["code"].clone();
    let form = browser.get("/login?again=true").await.form("/login");
    let form = form.set("username", "bob").set("password", PASSWORD);
    // The redemption stops after it has found the sign-in, and before it opens the session. On SQLite, one of both waits.
    let is_postgres = TestBackend::current() == TestBackend::Postgres;
    let mut other = oauth.identity.db.pool(1).dedicated().unwrap();
    let hold = match is_postgres {
        true => "BEGIN; SELECT 1 FROM oauth_codes FOR UPDATE",
        false => "BEGIN IMMEDIATE",
    };
    other.batch_execute(hold).unwrap();
    let is_signed_in = AtomicBool::new(false);
    let until_waiting = async |connections: i64| {
        let waiting = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let probe = async || {
            let is_done = is_signed_in.load(Ordering::SeqCst) || !is_postgres;
            (is_done || oauth.identity.count(waiting) == connections).then_some(())
        };
        wait_until("a lock", StdDuration::from_secs(20), probe).await;
    };
    let sign_in = async {
        until_waiting(1).await;
        let page = browser.submit(form).await;
        assert_eq!(page.path, "/account");
        is_signed_in.store(true, Ordering::SeqCst);
    };
    let release = async {
        until_waiting(2).await;
        other.batch_execute("ROLLBACK").unwrap();
    };
    let (reply, (), ()) = tokio::join!(oauth.redeem("web", &code), sign_in, release);
    if reply.status != 200 && !is_postgres {
        refused(reply, 400, "invalid_grant");
        return;
    }
    let tokens = reply.expect(200).json();
    let access = text(&tokens, "access_token");
    refused(oauth.identity.validate(access).await, 401, "token_revoked");
    assert_eq!(sids(&requested(&oauth.identity)), [sid(&tokens)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_does_not_sign_out_with_the_browser_in_which_it_was_connected() {
    let oauth = begin().await;
    let mut browser = oauth.browser().await;
    let web = ("web", Some(SECRET));
    let form = [("scope", "openid")];
    let reply = oauth
        .post("/api/oauth/device_authorization", web, &form)
        .await;
    let begun = reply.expect(200).json();
    decide(&mut browser, text(&begun, "user_code"), "allow").await;
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("device_code", text(&begun, "device_code")),
    ];
    let tokens = oauth.token(web, &form).await.expect(200).json();
    let form = browser.get("/account").await.form("/logout");
    browser.submit(form).await;
    assert_eq!(requested(&oauth.identity), Vec::<Value>::new());
    oauth
        .identity
        .validate(text(&tokens, "access_token"))
        .await
        .expect(200);
}

/// Starts a service whose events go to a consumer in this process, on the database of `oauth`.
async fn publishing(
    oauth: &OAuth,
    broker: &Broker,
    clock: &Clock,
) -> identity_service::RunningService {
    let mut config = crate::support::config(&oauth.identity.db);
    config.base_url = Some(oauth.identity.running.base_url().parse().unwrap());
    let deps = Deps {
        clock: clock.clone(),
        broker: broker.clone(),
        has_consumers: true,
    };
    start(config, deps).await.unwrap()
}

/// Verifies a logout token as a client does, and returns its claims.
fn verified(jwks: &JwkSet, issuer: &str, token: &str, algorithm: &str) -> Value {
    let header = jsonwebtoken::decode_header(token).unwrap();
    assert_eq!(header.typ.as_deref(), Some("logout+jwt"));
    assert_eq!(format!("{:?}", header.alg), algorithm);
    let jwk = jwks.find(&header.kid.unwrap()).unwrap();
    let mut validation = Validation::new(header.alg);
    validation.set_issuer(&[issuer]);
    validation.set_audience(&["web"]);
    // The clock of the test stands still.
    validation.validate_exp = false;
    let key = DecodingKey::from_jwk(jwk).unwrap();
    jsonwebtoken::decode::<Value>(token, &key, &validation)
        .unwrap()
        .claims
}

#[tokio::test(flavor = "multi_thread")]
async fn the_relay_signs_a_short_lived_token_for_each_attempt_when_it_publishes() {
    let oauth = begin().await;
    let mut browser = oauth.browser().await;
    let mut expected = BTreeMap::new();
    for algorithm in ["ES256", "RS256"] {
        oauth.identity.sql(&format!(
            "UPDATE oauth_clients SET id_token_alg = '{algorithm}' WHERE id = 'web'"
        ));
        let tokens = let_in(&oauth, &mut browser, "web", "openid").await;
        expected.insert(sid(&tokens), algorithm);
        browser
            .get(&logout(&[("id_token_hint", text(&tokens, "id_token"))]))
            .await;
        browser = oauth.browser().await;
    }
    assert_eq!(requested(&oauth.identity).len(), 2);
    // The broker is away for three hours.
    oauth.identity.hand.advance(Duration::hours(3));
    let published_at = oauth.identity.clock.now().timestamp();
    let broker = Broker::memory();
    let (sender, mut received) = unbounded_channel();
    let _consumer = broker.consume(
        Queue::NotifyLogouts,
        ConsumeOptions::default(),
        move |delivery| {
            sender.send(delivery).unwrap();
            async { Acknowledgement::Ack }
        },
    );
    let running = publishing(&oauth, &broker, &oauth.identity.clock).await;
    let jwks = ApiClient::new(running.base_url())
        .get("/.well-known/jwks.json")
        .send()
        .await;
    let jwks: JwkSet = serde_json::from_value(jwks.expect(200).json()).unwrap();
    let issuer = oauth.identity.running.base_url();
    let mut jtis = BTreeSet::new();
    for _ in 0..2 {
        let delivery = received.recv().await.unwrap();
        let event = Event::decode(&delivery.body).unwrap();
        let event: LogoutRequested = event.data_as().unwrap();
        assert_eq!(event.client_id, "web");
        let context = LogoutRequested::seal_context("web");
        let plain = sealer().open_text(&context, &event.sealed).unwrap();
        let call: LogoutCall = serde_json::from_str(plain.expose_secret()).unwrap();
        assert_eq!(call.uri, URI);
        let hours = [1, 6, 24].map(|hours| hours * 3_600);
        let offsets = [0, 10, 60, 600].into_iter().chain(hours);
        for (token, offset) in call.tokens.iter().zip(offsets) {
            let sid = text(&claims(&token.jwt), "sid").to_owned();
            let mut claims = verified(&jwks, issuer, &token.jwt, expected[&sid]);
            assert!(jtis.insert(text(&claims, "jti").to_owned()), "used twice");
            claims["jti"] = json!("…");
            let iat = published_at + offset;
            assert_eq!(token.valid_from.timestamp(), iat);
            assert_eq!(
                claims,
                json!({
                    "iss": issuer, "sub": oauth.ada.id.to_string(), "aud": "web", "iat": iat, "exp": iat + 120,
                    "jti": "…", "sid": sid,
                    "events": { "http://schemas.openid.net/event/backchannel-logout": {} },
                })
            );
        }
        assert_eq!(call.tokens.len(), 7);
    }
    assert_eq!(jtis.len(), 14);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_signed_holds_up_no_other_event() {
    let oauth = begin().await;
    let sealed = |text: &str| {
        sealer()
            .seal("unsigned-logout/other", text.as_bytes())
            .unwrap()
    };
    for sealed in ["x".to_owned(), sealed("{}")] {
        let data = LogoutRequested {
            client_id: "web".to_owned(),
            sealed,
        };
        let id = uuid::Uuid::now_v7();
        let event = Event::new(id, "test", beginning(), None, &data).unwrap();
        oauth.identity.sql(&format!(
            "INSERT INTO outbox (id, exchange, routing_key, body, created_at) VALUES ('{id}', 'work.private', \
             'identity.logout_requested.v1', '{}', '2026-11-21 12:00:00')",
            event.encode().unwrap()
        ));
    }
    let user = user(&oauth, "bob").await;
    let admin = superadmin(&oauth.identity, "root").await;
    end(&oauth, &admin, &user, End::RevokedByClient).await;
    let broker = Broker::memory();
    let (sender, mut received) = unbounded_channel();
    let _consumer = broker.consume(
        Queue::NotifyLogouts,
        ConsumeOptions::default(),
        move |delivery| {
            sender.send(delivery).unwrap();
            async { Acknowledgement::Ack }
        },
    );
    let running = publishing(&oauth, &broker, &oauth.identity.clock).await;
    let delivery = received.recv().await.unwrap();
    let event = Event::decode(&delivery.body).unwrap();
    assert_eq!(event.event_type, LogoutRequested::TYPE);
    let unroutable = "SELECT count(*) AS n FROM outbox WHERE state = 'unroutable' AND routing_key = 'identity.logout_requested.v1'";
    let both = async || (oauth.identity.count(unroutable) == 2).then_some(());
    wait_until("both to be set aside", StdDuration::from_secs(20), both).await;
    running.stop().await;
}
