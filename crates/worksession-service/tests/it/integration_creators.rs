//! Integrations depend on the credential that created them: who may change which, when each is paused, who adopts it.

use std::sync::atomic::Ordering;

use auth_types::{TeamId, TeamRole};
use broker::Broker;
use event_types::{
    MailTemplate, MembershipChanged, SessionRevoked, TeamRef, UserChanged, WebhookConfigured,
    WebhookDue,
};
use futures_util::future::join_all;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use service_kit::seal::{Purpose, SealingKeys};
use test_kit::wait_until;
use uuid::Uuid;

use crate::broker_fixture::{TIMEOUT, World, user_deleted, user_id};
use crate::caller::{Caller, session_events};
use crate::database;
use crate::fake_identity::FakeIdentity;
use crate::fake_notifier::{CHAT_URL, KEY, publish, requested_mails};
use crate::service_fixture::Service;
use crate::webhook_fixture::{create_webhook, path_of};

const PATH: &str = "/api/webhooks";
const URL: &str = "https://hooks.example/x";

fn caller_with<'a>(service: &'a Service, token: &str) -> Caller<'a> {
    Caller {
        service,
        token: token.to_owned(),
    }
}

fn chat_body() -> Value {
    json!({"provider": "slack", "webhook_url": CHAT_URL})
}

async fn create_own(caller: &Caller<'_>) -> Value {
    create_webhook(caller, json!({"url": URL})).await.0
}

async fn create_for_team(caller: &Caller<'_>) -> Value {
    create_webhook(caller, json!({"url": URL, "team_id": 3}))
        .await
        .0
}

async fn list_ids(caller: &Caller<'_>) -> Vec<Value> {
    let list = caller.get(PATH).await.expect(200).json();
    let webhooks = list["webhooks"].as_array().unwrap().iter();
    webhooks.map(|webhook| webhook["id"].clone()).collect()
}

async fn get_webhook(caller: &Caller<'_>, webhook: &Value) -> Value {
    let answer = caller.get(&path_of(webhook)).await.expect(200).json();
    answer["webhook"].clone()
}

async fn get_chat(caller: &Caller<'_>, path: &str) -> Value {
    caller.get(path).await.expect(200).json()["chat"].clone()
}

/// Returns the status of one request for each operation of a webhook.
async fn try_all(caller: &Caller<'_>, webhook: &Value) -> [u16; 7] {
    let path = path_of(webhook);
    let replay = format!("{path}/deliveries/{}/replay", Uuid::nil());
    [
        caller.get(&path).await.status,
        caller.get(&format!("{path}/deliveries")).await.status,
        caller.put(&path, json!({})).await.status,
        caller.post(&format!("{path}/test"), json!({})).await.status,
        caller.post(&replay, json!({})).await.status,
        caller
            .post(&format!("{path}/rotate-secret"), json!({}))
            .await
            .status,
        caller.delete(&path).await.status,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_or_sso_session_sees_and_changes_only_webhooks_that_it_created() {
    let limits = json!({"enabled": false});
    let identity_url = format!("http://{}", FakeIdentity::default().start("127.0.0.1:0"));
    let settings = json!({"identity_url": identity_url, "rate_limits": limits});
    let service = Service::with(settings, Broker::memory()).await;
    let (ada, app) = (
        caller_with(&service, "member-7"),
        caller_with(&service, "app-7"),
    );
    let (other_app, sso) = (
        caller_with(&service, "otherapp-7"),
        caller_with(&service, "sso-7"),
    );
    let other_sso = caller_with(&service, "othersso-7");
    let everybody = [&ada, &app, &other_app, &sso, &other_sso];
    let mut made = Vec::new();
    for caller in everybody {
        made.push([create_own(caller).await, create_for_team(caller).await]);
    }
    assert_eq!(list_ids(&ada).await.len(), 10);
    assert_eq!(made[1][0]["client_id"], "app");
    assert_eq!(made[3][0]["client_id"], Value::Null);
    for (at, caller) in everybody.into_iter().enumerate().skip(1) {
        let theirs: Vec<Value> = made[at]
            .iter()
            .map(|webhook| webhook["id"].clone())
            .collect();
        assert_eq!(list_ids(caller).await, theirs);
        for (whose, webhooks) in made.iter().enumerate().filter(|(whose, _)| *whose != at) {
            for webhook in webhooks {
                assert_eq!(try_all(caller, webhook).await, [404; 7], "{at} {whose}");
            }
        }
    }
    for (at, caller) in everybody.into_iter().enumerate().skip(1) {
        let allowed = try_all(caller, &made[at][1]).await;
        assert_eq!(allowed, [200, 200, 200, 202, 404, 200, 204]);
    }
    // A user who sets the address at the product itself becomes the creator; no other change has that effect.
    for (made_by, creator) in [(&made[1][0], &app), (&made[3][0], &sso)] {
        let path = path_of(made_by);
        ada.put(&path, json!({"description": "x"}))
            .await
            .expect(200);
        ada.post(&format!("{path}/rotate-secret"), json!({}))
            .await
            .expect(200);
        assert_eq!(creator.get(&path).await.status, 200);
        let changed = ada.put(&path, json!({"url": URL})).await.expect(200);
        assert_eq!(changed.json()["webhook"]["client_id"], Value::Null);
        assert_eq!(creator.get(&path).await.status, 404);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_or_sso_session_changes_only_the_chat_that_it_configured() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (ada, app) = (
        caller_with(&service, "member-7"),
        caller_with(&service, "app-7"),
    );
    let (other, sso) = (
        caller_with(&service, "otherapp-7"),
        caller_with(&service, "sso-7"),
    );
    let path = format!("/api/team-projects/{}/chat", service.team_project().await);
    let test = format!("{path}/test");
    let refused = json!({"error": "Not authorized to change this team project"});
    for (creator, others) in [
        (&app, [&other, &sso]),
        (&sso, [&app, &other]),
        (&ada, [&app, &sso]),
    ] {
        let set = creator.put(&path, chat_body()).await.expect(200).json();
        let client = if creator.token == "app-7" {
            json!("app")
        } else {
            Value::Null
        };
        assert_eq!(set["chat"]["client_id"], client);
        assert_eq!(set["chat"]["created_by"], 7);
        for caller in others {
            for reply in [
                caller.put(&path, chat_body()).await,
                caller.put(&path, json!({})).await,
                caller.delete(&path).await,
                caller.post(&test, json!({})).await,
            ] {
                assert_eq!(reply.expect(403).json(), refused, "{}", caller.token);
            }
            assert_eq!(get_chat(caller, &path).await["provider"], "slack");
        }
        creator.put(&path, chat_body()).await.expect(200);
        creator.post(&test, json!({})).await.expect(202);
        creator.delete(&path).await.expect(204);
    }
    assert_eq!(get_chat(&ada, &path).await["created_by"], Value::Null);
    // A chat that a user changes at the product itself is theirs from then on.
    app.put(&path, chat_body()).await.expect(200);
    ada.put(&path, chat_body()).await.expect(200);
    app.put(&path, chat_body()).await.expect(403);
    service.stop().await;
}

fn revoked(user: i64, sids: &[&str], clients: &[&str]) -> SessionRevoked {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    SessionRevoked {
        user_id: user_id(user),
        sids: list(sids),
        clients: list(clients),
    }
}

fn role(user: i64, team: i64, role: Option<TeamRole>) -> MembershipChanged {
    MembershipChanged {
        user_id: user_id(user),
        team: TeamRef {
            id: TeamId::new(team).unwrap(),
            slug: format!("team-{team}"),
            name: "Engines".to_owned(),
        },
        role,
    }
}

/// The webhooks and chats of a test, named after the tokens that created them.
struct Integrations {
    webhooks: Vec<(String, Value)>,
    chats: Vec<(String, String)>,
}

const CREATORS: [&str; 6] = [
    "member-7",
    "app-7",
    "otherapp-7",
    "sso-7",
    "app-8",
    "ours-7",
];

async fn create_integrations(service: &Service) -> Integrations {
    let (mut webhooks, mut chats) = (Vec::new(), Vec::new());
    for token in CREATORS {
        let creator = caller_with(service, token);
        webhooks.push((format!("own of {token}"), create_own(&creator).await));
        let team = create_for_team(&creator).await;
        webhooks.push((format!("team's of {token}"), team));
        let path = format!("/api/team-projects/{}/chat", service.team_project().await);
        creator.put(&path, chat_body()).await.expect(200);
        chats.push((format!("chat of {token}"), path));
    }
    Integrations { webhooks, chats }
}

impl Integrations {
    /// Returns the names of those that are paused.
    async fn paused(&self, service: &Service) -> Vec<&str> {
        let mut paused = Vec::new();
        for (name, webhook) in &self.webhooks {
            let id = if name.ends_with('8') { 8 } else { 7 };
            let webhook = get_webhook(&Caller::member(service, id), webhook).await;
            if webhook["status"] == "paused" {
                assert!(webhook["reason"].is_string());
                paused.push(name.as_str());
            }
        }
        for (name, path) in &self.chats {
            let chat = get_chat(&Caller::member(service, 7), path).await;
            if chat["status"] == "paused" {
                assert_eq!(chat["provider"], "slack");
                paused.push(name.as_str());
            }
        }
        paused
    }

    async fn until_paused(&self, service: &Service, count: usize) -> Vec<&str> {
        wait_until("the integrations to be paused", TIMEOUT, async || {
            let paused = self.paused(service).await;
            (paused.len() >= count).then_some(paused)
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_access_pauses_only_the_integrations_created_with_it() {
    let world = World::start().await;
    let integrations = create_integrations(&world.service).await;
    for unrelated in [
        revoked(7, &["member", "app7"], &[]),
        revoked(7, &[], &["ap", "app7", "otherap"]),
        revoked(9, &["sso7"], &["app"]),
    ] {
        world.publish(&unrelated).await;
    }
    world.until_all_consumed().await;
    let paused = integrations.paused(&world.service).await;
    assert_eq!(paused, Vec::<&str>::new());
    let (id, at) = (Uuid::now_v7(), world.service.time.now());
    let event = revoked(7, &["any"], &["another", "app"]);
    world.publish_at(id, at, &event).await;
    let of_app = ["own of app-7", "team's of app-7", "chat of app-7"];
    assert_eq!(integrations.until_paused(&world.service, 3).await, of_app);
    world.until_consumed(id).await;

    // The event is redelivered after a manager has adopted one webhook and the client has set the address of another.
    let (ada, app) = (
        Caller::member(&world.service, 7),
        caller_with(&world.service, "app-7"),
    );
    let adopted = path_of(&integrations.webhooks[2].1);
    ada.post(&format!("{adopted}/adopt"), json!({}))
        .await
        .expect(200);
    // A paused webhook stays paused until it is adopted or its address is set again.
    let paused = path_of(&integrations.webhooks[3].1);
    for change in [json!({}), json!({"description": "x"})] {
        for caller in [&ada, &app] {
            let changed = caller.put(&paused, change.clone()).await.expect(200);
            assert_eq!(changed.json()["webhook"]["status"], "paused");
        }
    }
    ada.post(&format!("{paused}/rotate-secret"), json!({}))
        .await
        .expect(200);
    let webhook = get_webhook(&ada, &integrations.webhooks[3].1).await;
    assert_eq!(webhook["status"], "paused");
    app.put(&paused, json!({"url": URL})).await.expect(200);
    world.publish_at(id, at, &event).await;
    world.until_all_consumed().await;
    assert_eq!(integrations.paused(&world.service).await, ["chat of app-7"]);

    world.publish(&revoked(7, &["x", "sso7"], &[])).await;
    let all = [
        "own of sso-7",
        "team's of sso-7",
        "chat of app-7",
        "chat of sso-7",
    ];
    assert_eq!(integrations.until_paused(&world.service, 4).await, all);

    // First-party clients are affected too, if a user removes their access.
    world.publish(&revoked(7, &[], &["ours"])).await;
    let paused = integrations.until_paused(&world.service, 7).await;
    let of_ours = paused.iter().filter(|name| name.ends_with("ours-7"));
    assert_eq!(of_ours.count(), 3);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn team_integrations_pause_when_their_creator_loses_the_role_or_account() {
    for lost in ["role", "membership", "activity", "account"] {
        let world = World::start().await;
        let integrations = create_integrations(&world.service).await;
        world.publish(&role(7, 4, None)).await;
        world.publish(&role(7, 3, Some(TeamRole::Admin))).await;
        world.publish(&role(9, 3, None)).await;
        world.until_all_consumed().await;
        let paused = integrations.paused(&world.service).await;
        assert_eq!(paused, Vec::<&str>::new());
        match lost {
            "role" => world.publish(&role(8, 3, Some(TeamRole::Member))).await,
            "membership" => world.publish(&role(8, 3, None)).await,
            "activity" => {
                let (user_id, deleted, is_active) = (user_id(8), false, false);
                let changed = UserChanged {
                    user_id,
                    deleted,
                    is_active,
                };
                world.publish(&changed).await
            }
            _ => {
                // The account's own webhook is deleted.
                world.publish(&user_deleted(8)).await;
                world.until_all_consumed().await;
                let sql =
                    "SELECT count(*) AS number FROM webhooks WHERE created_by = 8 OR user_id = 8";
                wait_until(
                    "the account's webhooks to be deleted",
                    TIMEOUT,
                    async || (database::count(&world.service, sql) == 0).then_some(()),
                )
                .await;
                let sql = "SELECT count(*) AS number FROM webhooks WHERE status = 'paused' AND team_id = 3";
                assert_eq!(database::count(&world.service, sql), 1);
                let sql = "SELECT count(*) AS number FROM chat_integrations WHERE status = 'paused' AND created_by IS NULL";
                assert_eq!(database::count(&world.service, sql), 1);
                world.stop().await;
                continue;
            }
        };
        let paused = integrations.until_paused(&world.service, 2).await;
        assert_eq!(paused, ["team's of app-8", "chat of app-8"], "{lost}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_integration_gets_no_events_and_the_notifier_is_informed() {
    let world = World::start().await;
    let (consumer, configured) = world.consume_chats();
    let (ada, app) = (
        Caller::member(&world.service, 7),
        caller_with(&world.service, "app-7"),
    );
    let webhook = create_own(&app).await;
    let project = ada.team_project().await;
    let path = format!(
        "/api/team-projects/{}/chat",
        project.trim_start_matches("team_")
    );
    app.put(&path, chat_body()).await.expect(200);
    world.publish(&revoked(7, &[], &["app"])).await;
    let changes = world.received::<WebhookConfigured>(2).await;
    let off = changes.iter().find(|one| one.sealed.is_none()).unwrap();
    assert_eq!(
        (json!(off.webhook_id), off.revision),
        (webhook["id"].clone(), 1)
    );
    let chat = wait_until("the chat to be paused", TIMEOUT, async || {
        let configured = configured.lock().unwrap();
        configured.iter().find(|one| one.sealed.is_none()).cloned()
    })
    .await;
    assert_eq!(chat.revision, 1);

    let body = json!({"category": "coding", "duration": 25, "project_id": project});
    ada.start(body).await;
    wait_until(
        "the session's events to be published",
        TIMEOUT,
        async || {
            let sql = "SELECT count(*) AS number FROM outbox WHERE state = 'pending'";
            (database::count(&world.service, sql) == 0).then_some(())
        },
    )
    .await;
    let test = format!("{}/test", path_of(&webhook));
    ada.post(&test, json!({})).await.expect(409);
    ada.post(&format!("{path}/test"), json!({}))
        .await
        .expect(409);
    // After they are adopted, both get events again.
    ada.post(&format!("{}/adopt", path_of(&webhook)), json!({}))
        .await
        .expect(200);
    ada.post(&format!("{path}/adopt"), json!({}))
        .await
        .expect(200);
    ada.post(&test, json!({})).await.expect(202);
    ada.post(&format!("{path}/test"), json!({}))
        .await
        .expect(202);
    assert_eq!(world.received::<WebhookDue>(1).await[0].revision, 2);
    let again = wait_until("the chat to be active", TIMEOUT, async || {
        let configured = configured.lock().unwrap();
        configured.iter().find(|one| one.revision == 2).cloned()
    })
    .await;
    let context = event_types::IntegrationConfigured::seal_context(again.project_id, 2);
    let sealer = SealingKeys::new(&KEY, []).sealer(Purpose::Chats).unwrap();
    let plain = sealer.open_text(&context, &again.sealed.unwrap()).unwrap();
    assert!(plain.expose_secret().contains(CHAT_URL));
    drop(consumer);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_and_the_team_owner_each_get_one_mail_about_paused_integrations() {
    let (identity, broker) = (FakeIdentity::default(), Broker::memory());
    let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
    let service = Service::with(json!({ "identity_url": identity_url }), broker.clone()).await;
    identity.add_contact(Some(7), None, "ada");
    identity.add_contact(None, Some(3), "owner");
    let app = caller_with(&service, "app-7");
    for _ in 0..12 {
        create_for_team(&app).await;
    }
    let described = json!({"url": URL, "description": "the wall"});
    create_webhook(&app, described).await;
    let chat = format!("/api/team-projects/{}/chat", service.team_project().await);
    app.put(&chat, chat_body()).await.expect(200);
    let withdrawn = revoked(7, &[], &["app"]);
    identity.is_down.store(true, Ordering::SeqCst);
    let id = Uuid::now_v7();
    publish(&broker, id, &withdrawn).await;
    identity.until_existence_checked(1).await;
    assert!(
        requested_mails(&service).await.is_empty(),
        "the mails wait for the identity service"
    );
    identity.is_down.store(false, Ordering::SeqCst);
    // The memory broker stores nothing, so the sender publishes the event again.
    publish(&broker, id, &withdrawn).await;
    let mails = wait_until("the mails", TIMEOUT, async || {
        let mails = requested_mails(&service).await;
        (mails.len() == 2).then_some(mails)
    })
    .await;
    let text = |username: &str, hooks: Vec<String>, more| MailTemplate::HooksPaused {
        username: username.to_owned(),
        reason: "The application or sign-in that set it up no longer has access".to_owned(),
        hooks,
        more,
        at: service.time.now(),
        link: format!("{}/settings/webhooks", service.api.base()),
    };
    let of_team = vec!["The webhook “https://hooks.example”".to_owned(); 10];
    for (to, text) in [
        (
            "ada@example.com",
            text("ada", vec!["The webhook “the wall”".to_owned()], 0),
        ),
        ("owner@example.com", text("owner", of_team, 3)),
    ] {
        assert!(
            mails.iter().any(|mail| mail.to == to && mail.text == text),
            "{to}"
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_integration_is_adopted_once_by_a_user_who_may_change_it() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (app, project) = (caller_with(&service, "app-7"), service.team_project().await);
    let (mine, team) = (create_own(&app).await, create_for_team(&app).await);
    let chat = format!("/api/team-projects/{project}/chat");
    app.put(&chat, chat_body()).await.expect(200);
    for table in ["webhooks", "chat_integrations"] {
        database::execute(
            &service,
            &format!("UPDATE {table} SET status = 'paused', reason = 'why'"),
        );
    }
    let ada = Caller::member(&service, 7);
    let body =
        json!({"category": "coding", "duration": 25, "project_id": format!("team_{project}")});
    let id = ada.start(body).await["session_id"].clone();
    let started = session_events(&service, "session.started.v1", &id);
    assert_eq!(started[0]["data"]["chat"], Value::Null);
    let adopt = |path: &str| format!("{path}/adopt");
    let (mine, team) = (path_of(&mine), path_of(&team));
    for (token, own, of_team, of_chat) in [
        ("nobody", 401, 401, 401),
        ("app-7", 403, 403, 403),
        ("sso-7", 403, 403, 403),
        ("colleague-9", 404, 403, 403),
        ("outsider-9", 404, 404, 403),
        ("member-8", 404, 200, 200),
    ] {
        let caller = caller_with(&service, token);
        let got = [
            caller.post(&adopt(&mine), json!({})).await.status,
            caller.post(&adopt(&team), json!({})).await.status,
            caller.post(&adopt(&chat), json!({})).await.status,
        ];
        assert_eq!(got, [own, of_team, of_chat], "{token}");
    }
    let eve = Caller::member(&service, 8);
    for integration in [
        eve.get(&team).await.expect(200).json()["webhook"].clone(),
        get_chat(&eve, &chat).await,
    ] {
        assert_eq!(integration["status"], "active");
        assert_eq!(
            (&integration["reason"], &integration["client_id"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(integration["created_by"], 8);
    }
    // Of several concurrent calls, one adopts it and the later ones change nothing.
    let revision = "SELECT max(revision) AS number FROM ";
    database::execute(&service, "UPDATE chat_integrations SET status = 'paused'");
    let path = adopt(&chat);
    for reply in join_all((0..8).map(|_| ada.post(&path, json!({})))).await {
        assert_eq!(reply.expect(200).json()["chat"]["created_by"], 7);
    }
    assert_eq!(
        database::count(&service, &format!("{revision}chat_integrations")),
        3
    );
    let path = adopt(&mine);
    for reply in join_all((0..8).map(|_| ada.post(&path, json!({})))).await {
        assert_eq!(reply.expect(200).json()["webhook"]["status"], "active");
    }
    let sql = format!("{revision}webhooks WHERE user_id = 7");
    assert_eq!(database::count(&service, &sql), 2);
    ada.put(&mine, json!({"url": "https://other.example"}))
        .await
        .expect(200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integration_stored_after_its_credentials_ended_is_paused() {
    let (service, identity) = Service::with_fake_identity(0).await;
    let project = service.team_project().await;
    let chat = format!("/api/team-projects/{project}/chat");
    let ada = Caller::member(&service, 7);
    let statuses = async || {
        let list = ada.get(PATH).await.expect(200).json();
        let webhooks = list["webhooks"].as_array().unwrap().iter();
        webhooks
            .map(|webhook| webhook["status"].clone())
            .collect::<Vec<_>>()
    };
    // The tokens still pass validation.
    identity.set_session("app7", false, Some(TeamRole::Owner));
    identity.set_session("sso7", false, Some(TeamRole::Owner));
    identity.set_session("signedin7", true, Some(TeamRole::Member));
    let body = json!({"url": URL, "team_id": 3});
    for (token, status) in [("app-7", 401), ("sso-7", 401), ("signedin-7", 403)] {
        let caller = caller_with(&service, token);
        caller.post(PATH, body.clone()).await.expect(status);
        caller.put(&chat, chat_body()).await.expect(status);
        assert_eq!(get_chat(&ada, &chat).await["status"], "paused", "{token}");
        ada.delete(&chat).await.expect(204);
    }
    assert_eq!(statuses().await, ["paused"; 3]);
    // The identity service cannot say whether the credential is still valid.
    identity.is_down.store(true, Ordering::SeqCst);
    caller_with(&service, "otherapp-7")
        .post(PATH, body.clone())
        .await
        .expect(503);
    assert_eq!(statuses().await, ["paused"; 4]);
    // A user's own webhook, set at the product itself, needs no check.
    caller_with(&service, "signedin-7")
        .post(PATH, json!({"url": URL}))
        .await
        .expect(201);
    service.stop().await;
}
