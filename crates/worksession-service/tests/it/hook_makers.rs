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

use crate::chat::{HOOK, KEY, tell};
use crate::identity::{Service, Stub};
use crate::identity_events::{PATIENCE, World, user_gone, user_id};
use crate::person::{Person, events};
use crate::rows;
use crate::told::mails;
use crate::webhooks::{make, path_of};

const PATH: &str = "/api/webhooks";
const URL: &str = "https://hooks.example/x";

fn holder<'a>(service: &'a Service, token: &str) -> Person<'a> {
    Person {
        service,
        token: token.to_owned(),
    }
}

fn hook() -> Value {
    json!({"provider": "slack", "webhook_url": HOOK})
}

async fn own(person: &Person<'_>) -> Value {
    make(person, json!({"url": URL})).await.0
}

async fn of_team(person: &Person<'_>) -> Value {
    make(person, json!({"url": URL, "team_id": 3})).await.0
}

async fn listed(person: &Person<'_>) -> Vec<Value> {
    let list = person.get(PATH).await.expect(200).json();
    let webhooks = list["webhooks"].as_array().unwrap().iter();
    webhooks.map(|webhook| webhook["id"].clone()).collect()
}

async fn shown(person: &Person<'_>, webhook: &Value) -> Value {
    let answer = person.get(&path_of(webhook)).await.expect(200).json();
    answer["webhook"].clone()
}

async fn chat_of(person: &Person<'_>, path: &str) -> Value {
    person.get(path).await.expect(200).json()["chat"].clone()
}

/// Returns the status of one request for each operation of a webhook.
async fn tries(person: &Person<'_>, webhook: &Value) -> [u16; 7] {
    let path = path_of(webhook);
    let replay = format!("{path}/deliveries/{}/replay", Uuid::nil());
    [
        person.get(&path).await.status,
        person.get(&format!("{path}/deliveries")).await.status,
        person.put(&path, json!({})).await.status,
        person.post(&format!("{path}/test"), json!({})).await.status,
        person.post(&replay, json!({})).await.status,
        person
            .post(&format!("{path}/rotate-secret"), json!({}))
            .await
            .status,
        person.delete(&path).await.status,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_or_sso_session_sees_and_changes_only_webhooks_that_it_created() {
    let limits = json!({"enabled": false});
    let identity = format!("http://{}", Stub::default().start("127.0.0.1:0"));
    let settings = json!({"identity_url": identity, "rate_limits": limits});
    let service = Service::with(settings, Broker::memory()).await;
    let (ada, app) = (holder(&service, "member-7"), holder(&service, "app-7"));
    let (other_app, sso) = (holder(&service, "otherapp-7"), holder(&service, "sso-7"));
    let other_sso = holder(&service, "othersso-7");
    let everybody = [&ada, &app, &other_app, &sso, &other_sso];
    let mut made = Vec::new();
    for person in everybody {
        made.push([own(person).await, of_team(person).await]);
    }
    assert_eq!(listed(&ada).await.len(), 10);
    assert_eq!(made[1][0]["client_id"], "app");
    assert_eq!(made[3][0]["client_id"], Value::Null);
    for (at, person) in everybody.into_iter().enumerate().skip(1) {
        let theirs: Vec<Value> = made[at]
            .iter()
            .map(|webhook| webhook["id"].clone())
            .collect();
        assert_eq!(listed(person).await, theirs);
        for (whose, webhooks) in made.iter().enumerate().filter(|(whose, _)| *whose != at) {
            for webhook in webhooks {
                assert_eq!(tries(person, webhook).await, [404; 7], "{at} {whose}");
            }
        }
    }
    for (at, person) in everybody.into_iter().enumerate().skip(1) {
        let allowed = tries(person, &made[at][1]).await;
        assert_eq!(allowed, [200, 200, 200, 202, 404, 200, 204]);
    }
    // A user who sets the address at the product itself becomes the creator; no other change has that effect.
    for (made_by, maker) in [(&made[1][0], &app), (&made[3][0], &sso)] {
        let path = path_of(made_by);
        ada.put(&path, json!({"description": "x"}))
            .await
            .expect(200);
        ada.post(&format!("{path}/rotate-secret"), json!({}))
            .await
            .expect(200);
        assert_eq!(maker.get(&path).await.status, 200);
        let changed = ada.put(&path, json!({"url": URL})).await.expect(200);
        assert_eq!(changed.json()["webhook"]["client_id"], Value::Null);
        assert_eq!(maker.get(&path).await.status, 404);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_or_sso_session_changes_only_the_chat_that_it_configured() {
    let (service, _stub) = Service::with_stub(0).await;
    let (ada, app) = (holder(&service, "member-7"), holder(&service, "app-7"));
    let (other, sso) = (holder(&service, "otherapp-7"), holder(&service, "sso-7"));
    let path = format!("/api/team-projects/{}/chat", service.team_project().await);
    let test = format!("{path}/test");
    let refused = json!({"error": "Not authorized to change this team project"});
    for (maker, others) in [
        (&app, [&other, &sso]),
        (&sso, [&app, &other]),
        (&ada, [&app, &sso]),
    ] {
        let set = maker.put(&path, hook()).await.expect(200).json();
        let client = if maker.token == "app-7" {
            json!("app")
        } else {
            Value::Null
        };
        assert_eq!(set["chat"]["client_id"], client);
        assert_eq!(set["chat"]["created_by"], 7);
        for person in others {
            for reply in [
                person.put(&path, hook()).await,
                person.put(&path, json!({})).await,
                person.delete(&path).await,
                person.post(&test, json!({})).await,
            ] {
                assert_eq!(reply.expect(403).json(), refused, "{}", person.token);
            }
            assert_eq!(chat_of(person, &path).await["provider"], "slack");
        }
        maker.put(&path, hook()).await.expect(200);
        maker.post(&test, json!({})).await.expect(202);
        maker.delete(&path).await.expect(204);
    }
    assert_eq!(chat_of(&ada, &path).await["created_by"], Value::Null);
    // A chat that a user changes at the product itself is theirs from then on.
    app.put(&path, hook()).await.expect(200);
    ada.put(&path, hook()).await.expect(200);
    app.put(&path, hook()).await.expect(403);
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
struct Hooks {
    webhooks: Vec<(String, Value)>,
    chats: Vec<(String, String)>,
}

const MAKERS: [&str; 6] = [
    "member-7",
    "app-7",
    "otherapp-7",
    "sso-7",
    "app-8",
    "ours-7",
];

async fn hooks(service: &Service) -> Hooks {
    let (mut webhooks, mut chats) = (Vec::new(), Vec::new());
    for token in MAKERS {
        let maker = holder(service, token);
        webhooks.push((format!("own of {token}"), own(&maker).await));
        webhooks.push((format!("team's of {token}"), of_team(&maker).await));
        let path = format!("/api/team-projects/{}/chat", service.team_project().await);
        maker.put(&path, hook()).await.expect(200);
        chats.push((format!("chat of {token}"), path));
    }
    Hooks { webhooks, chats }
}

impl Hooks {
    /// Returns the names of those that are paused.
    async fn paused(&self, service: &Service) -> Vec<&str> {
        let mut paused = Vec::new();
        for (name, webhook) in &self.webhooks {
            let id = if name.ends_with('8') { 8 } else { 7 };
            let webhook = shown(&Person::member(service, id), webhook).await;
            if webhook["status"] == "paused" {
                assert!(webhook["reason"].is_string());
                paused.push(name.as_str());
            }
        }
        for (name, path) in &self.chats {
            let chat = chat_of(&Person::member(service, 7), path).await;
            if chat["status"] == "paused" {
                assert_eq!(chat["provider"], "slack");
                paused.push(name.as_str());
            }
        }
        paused
    }

    async fn until_paused(&self, service: &Service, count: usize) -> Vec<&str> {
        wait_until("the hooks to be paused", PATIENCE, async || {
            let paused = self.paused(service).await;
            (paused.len() >= count).then_some(paused)
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_access_pauses_only_the_integrations_created_with_it() {
    let world = World::start().await;
    let hooks = hooks(&world.service).await;
    for unrelated in [
        revoked(7, &["member", "app7"], &[]),
        revoked(7, &[], &["ap", "app7", "otherap"]),
        revoked(9, &["sso7"], &["app"]),
    ] {
        world.tell(&unrelated).await;
    }
    world.settle().await;
    assert_eq!(hooks.paused(&world.service).await, Vec::<&str>::new());
    let (id, at) = (Uuid::now_v7(), world.service.time.now());
    let event = revoked(7, &["any"], &["another", "app"]);
    world.tell_as(id, at, &event).await;
    let of_app = ["own of app-7", "team's of app-7", "chat of app-7"];
    assert_eq!(hooks.until_paused(&world.service, 3).await, of_app);
    world.taken_in(id).await;

    // The event is redelivered after a manager has adopted one webhook and the client has set the address of another.
    let (ada, app) = (
        Person::member(&world.service, 7),
        holder(&world.service, "app-7"),
    );
    let kept = path_of(&hooks.webhooks[2].1);
    ada.post(&format!("{kept}/adopt"), json!({}))
        .await
        .expect(200);
    // A paused webhook stays paused until it is adopted or its address is set again.
    let paused = path_of(&hooks.webhooks[3].1);
    for change in [json!({}), json!({"description": "x"})] {
        for person in [&ada, &app] {
            let kept = person.put(&paused, change.clone()).await.expect(200);
            assert_eq!(kept.json()["webhook"]["status"], "paused");
        }
    }
    ada.post(&format!("{paused}/rotate-secret"), json!({}))
        .await
        .expect(200);
    assert_eq!(shown(&ada, &hooks.webhooks[3].1).await["status"], "paused");
    app.put(&paused, json!({"url": URL})).await.expect(200);
    world.tell_as(id, at, &event).await;
    world.settle().await;
    assert_eq!(hooks.paused(&world.service).await, ["chat of app-7"]);

    world.tell(&revoked(7, &["x", "sso7"], &[])).await;
    let all = [
        "own of sso-7",
        "team's of sso-7",
        "chat of app-7",
        "chat of sso-7",
    ];
    assert_eq!(hooks.until_paused(&world.service, 4).await, all);

    // First-party clients are affected too, if a user removes their access.
    world.tell(&revoked(7, &[], &["ours"])).await;
    let paused = hooks.until_paused(&world.service, 7).await;
    let of_ours = paused.iter().filter(|name| name.ends_with("ours-7"));
    assert_eq!(of_ours.count(), 3);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn team_integrations_pause_when_their_creator_loses_the_role_or_account() {
    for lost in ["role", "membership", "activity", "account"] {
        let world = World::start().await;
        let hooks = hooks(&world.service).await;
        world.tell(&role(7, 4, None)).await;
        world.tell(&role(7, 3, Some(TeamRole::Admin))).await;
        world.tell(&role(9, 3, None)).await;
        world.settle().await;
        assert_eq!(hooks.paused(&world.service).await, Vec::<&str>::new());
        match lost {
            "role" => world.tell(&role(8, 3, Some(TeamRole::Member))).await,
            "membership" => world.tell(&role(8, 3, None)).await,
            "activity" => {
                let (user_id, deleted, is_active) = (user_id(8), false, false);
                let changed = UserChanged {
                    user_id,
                    deleted,
                    is_active,
                };
                world.tell(&changed).await
            }
            _ => {
                // The account's own webhook is deleted.
                world.tell(&user_gone(8)).await;
                world.settle().await;
                let sql =
                    "SELECT count(*) AS number FROM webhooks WHERE created_by = 8 OR user_id = 8";
                wait_until("the account's to go", PATIENCE, async || {
                    (rows::count(&world.service, sql) == 0).then_some(())
                })
                .await;
                let sql = "SELECT count(*) AS number FROM webhooks WHERE status = 'paused' AND team_id = 3";
                assert_eq!(rows::count(&world.service, sql), 1);
                let sql = "SELECT count(*) AS number FROM chat_integrations WHERE status = 'paused' AND created_by IS NULL";
                assert_eq!(rows::count(&world.service, sql), 1);
                world.stop().await;
                continue;
            }
        };
        let paused = hooks.until_paused(&world.service, 2).await;
        assert_eq!(paused, ["team's of app-8", "chat of app-8"], "{lost}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_integration_gets_no_events_and_the_notifier_is_informed() {
    let world = World::start().await;
    let (heard, configured) = world.destinations();
    let (ada, app) = (
        Person::member(&world.service, 7),
        holder(&world.service, "app-7"),
    );
    let webhook = own(&app).await;
    let project = ada.team_project().await;
    let path = format!(
        "/api/team-projects/{}/chat",
        project.trim_start_matches("team_")
    );
    app.put(&path, hook()).await.expect(200);
    world.tell(&revoked(7, &[], &["app"])).await;
    let told = world.told::<WebhookConfigured>(2).await;
    let off = told.iter().find(|told| told.sealed.is_none()).unwrap();
    assert_eq!(
        (json!(off.webhook_id), off.revision),
        (webhook["id"].clone(), 1)
    );
    let chat = wait_until("the chat to be paused", PATIENCE, async || {
        let configured = configured.lock().unwrap();
        configured
            .iter()
            .find(|told| told.sealed.is_none())
            .cloned()
    })
    .await;
    assert_eq!(chat.revision, 1);

    let body = json!({"category": "coding", "duration": 25, "project_id": project});
    ada.start(body).await;
    wait_until("the session to be told of", PATIENCE, async || {
        let sql = "SELECT count(*) AS number FROM outbox WHERE state = 'pending'";
        (rows::count(&world.service, sql) == 0).then_some(())
    })
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
    assert_eq!(world.told::<WebhookDue>(1).await[0].revision, 2);
    let again = wait_until("the chat to be in use", PATIENCE, async || {
        let configured = configured.lock().unwrap();
        configured.iter().find(|told| told.revision == 2).cloned()
    })
    .await;
    let context = event_types::IntegrationConfigured::seal_context(again.project_id, 2);
    let sealer = SealingKeys::new(&KEY, []).sealer(Purpose::Chats).unwrap();
    let plain = sealer.open_text(&context, &again.sealed.unwrap()).unwrap();
    assert!(plain.expose_secret().contains(HOOK));
    drop(heard);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_and_the_team_owner_each_get_one_mail_about_paused_integrations() {
    let (stub, broker) = (Stub::default(), Broker::memory());
    let identity = format!("http://{}", stub.start("127.0.0.1:0"));
    let service = Service::with(json!({ "identity_url": identity }), broker.clone()).await;
    stub.writes_to(Some(7), None, "ada");
    stub.writes_to(None, Some(3), "owner");
    let app = holder(&service, "app-7");
    for _ in 0..12 {
        of_team(&app).await;
    }
    let described = json!({"url": URL, "description": "the wall"});
    make(&app, described).await;
    let chat = format!("/api/team-projects/{}/chat", service.team_project().await);
    app.put(&chat, hook()).await.expect(200);
    let withdrawn = revoked(7, &[], &["app"]);
    stub.is_away.store(true, Ordering::SeqCst);
    let id = Uuid::now_v7();
    tell(&broker, id, &withdrawn).await;
    stub.until_existence_asked(1).await;
    assert!(mails(&service).await.is_empty(), "nobody is forgotten");
    stub.is_away.store(false, Ordering::SeqCst);
    // The memory broker stores nothing, so the sender publishes the event again.
    tell(&broker, id, &withdrawn).await;
    let mails = wait_until("the mails", PATIENCE, async || {
        let mails = mails(&service).await;
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
    let (service, _stub) = Service::with_stub(0).await;
    let (app, project) = (holder(&service, "app-7"), service.team_project().await);
    let (mine, team) = (own(&app).await, of_team(&app).await);
    let chat = format!("/api/team-projects/{project}/chat");
    app.put(&chat, hook()).await.expect(200);
    for table in ["webhooks", "chat_integrations"] {
        rows::execute(
            &service,
            &format!("UPDATE {table} SET status = 'paused', reason = 'why'"),
        );
    }
    let ada = Person::member(&service, 7);
    let body =
        json!({"category": "coding", "duration": 25, "project_id": format!("team_{project}")});
    let id = ada.start(body).await["session_id"].clone();
    let started = events(&service, "session.started.v1", &id);
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
        let person = holder(&service, token);
        let got = [
            person.post(&adopt(&mine), json!({})).await.status,
            person.post(&adopt(&team), json!({})).await.status,
            person.post(&adopt(&chat), json!({})).await.status,
        ];
        assert_eq!(got, [own, of_team, of_chat], "{token}");
    }
    let eve = Person::member(&service, 8);
    for hook in [
        eve.get(&team).await.expect(200).json()["webhook"].clone(),
        chat_of(&eve, &chat).await,
    ] {
        assert_eq!(hook["status"], "active");
        assert_eq!(
            (&hook["reason"], &hook["client_id"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(hook["created_by"], 8);
    }
    // Of several concurrent calls, one adopts it and the later ones change nothing.
    let revision = "SELECT max(revision) AS number FROM ";
    rows::execute(&service, "UPDATE chat_integrations SET status = 'paused'");
    let path = adopt(&chat);
    for reply in join_all((0..8).map(|_| ada.post(&path, json!({})))).await {
        assert_eq!(reply.expect(200).json()["chat"]["created_by"], 7);
    }
    assert_eq!(
        rows::count(&service, &format!("{revision}chat_integrations")),
        3
    );
    let path = adopt(&mine);
    for reply in join_all((0..8).map(|_| ada.post(&path, json!({})))).await {
        assert_eq!(reply.expect(200).json()["webhook"]["status"], "active");
    }
    let sql = format!("{revision}webhooks WHERE user_id = 7");
    assert_eq!(rows::count(&service, &sql), 2);
    ada.put(&mine, json!({"url": "https://other.example"}))
        .await
        .expect(200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integration_stored_after_its_credentials_ended_is_paused() {
    let (service, stub) = Service::with_stub(0).await;
    let project = service.team_project().await;
    let chat = format!("/api/team-projects/{project}/chat");
    let ada = Person::member(&service, 7);
    let statuses = async || {
        let list = ada.get(PATH).await.expect(200).json();
        let webhooks = list["webhooks"].as_array().unwrap().iter();
        webhooks
            .map(|webhook| webhook["status"].clone())
            .collect::<Vec<_>>()
    };
    // The tokens still pass validation.
    stub.sign_in_is("app7", false, Some(TeamRole::Owner));
    stub.sign_in_is("sso7", false, Some(TeamRole::Owner));
    stub.sign_in_is("signedin7", true, Some(TeamRole::Member));
    let body = json!({"url": URL, "team_id": 3});
    for (token, status) in [("app-7", 401), ("sso-7", 401), ("signedin-7", 403)] {
        let person = holder(&service, token);
        person.post(PATH, body.clone()).await.expect(status);
        person.put(&chat, hook()).await.expect(status);
        assert_eq!(chat_of(&ada, &chat).await["status"], "paused", "{token}");
        ada.delete(&chat).await.expect(204);
    }
    assert_eq!(statuses().await, ["paused"; 3]);
    // The identity service does not say whether the credential is still valid.
    stub.is_away.store(true, Ordering::SeqCst);
    holder(&service, "otherapp-7")
        .post(PATH, body.clone())
        .await
        .expect(503);
    assert_eq!(statuses().await, ["paused"; 4]);
    // A user's own webhook, set at the product itself, needs no check.
    holder(&service, "signedin-7")
        .post(PATH, json!({"url": URL}))
        .await
        .expect(201);
    service.stop().await;
}
