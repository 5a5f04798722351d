//! Mails about a chat or a webhook that was disabled. The test plays the notifier.

use auth_types::{TeamId, TeamRole, UserId};
use broker::{Broker, PublishOutcome};
use event_types::{
    EventData, Exchange, IntegrationDisabled, Mail, MailRequested, MailTemplate, MembershipChanged,
    TeamRef, WebhookDisabled,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use service_kit::seal::{Purpose, SealingKeys};
use test_kit::wait_until;
use uuid::Uuid;

use crate::chat::{HOOK, KEY, events, service, tell};
use crate::identity::Service;
use crate::identity_events::{PATIENCE, World};
use crate::person::Person;
use crate::rows;
use crate::webhooks::{make, path_of};

/// Returns the mails that were requested, oldest first.
pub async fn mails(service: &Service) -> Vec<Mail> {
    let sealer = SealingKeys::new(&KEY, []).sealer(Purpose::Mails).unwrap();
    let events = events(service).await.into_iter();
    let asked = events.filter(|(_, event)| event.event_type == MailRequested::TYPE);
    asked
        .map(|(exchange, event)| {
            assert_eq!(Exchange::from_name(&exchange), Some(Exchange::Private));
            let request: MailRequested = event.data_as().unwrap();
            let context = MailRequested::seal_context(&request.template);
            let plain = sealer.open_text(&context, &request.sealed).unwrap();
            let mail: Mail = serde_json::from_str(plain.expose_secret()).unwrap();
            assert_eq!(mail.text.template(), request.template);
            mail
        })
        .collect()
}

fn contacts(service: &Service) -> i64 {
    rows::count(service, "SELECT count(*) AS number FROM hook_contacts")
}

fn hook() -> Value {
    json!({"provider": "slack", "webhook_url": HOOK})
}

async fn chat_refuses(broker: &Broker, project_id: i64, revision: i64, reason: &str) {
    let data = IntegrationDisabled {
        project_id,
        revision,
        reason: reason.to_owned(),
    };
    assert_eq!(
        tell(broker, Uuid::now_v7(), &data).await,
        PublishOutcome::Confirmed
    );
}

async fn receiver_refuses(broker: &Broker, webhook: &Value, revision: i64) {
    let data = WebhookDisabled {
        webhook_id: webhook["id"].as_i64().unwrap(),
        revision,
        reason: "It answered 410".to_owned(),
    };
    assert_eq!(
        tell(broker, Uuid::now_v7(), &data).await,
        PublishOutcome::Confirmed
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_creator_of_a_chat_gets_one_mail_when_it_is_disabled() {
    let (service, broker) = service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    for id in [7, 8] {
        let person = Person::verified(&service, id);
        person.put(&path, hook()).await.expect(200);
    }
    assert_eq!(contacts(&service), 1);
    for row in rows::all(&service) {
        assert!(!row.text.contains("example.com"), "{row:?}");
    }
    chat_refuses(&broker, project, 1, "It answered 403").await;
    assert!(mails(&service).await.is_empty(), "there is a newer one");

    chat_refuses(&broker, project, 2, "It answered 404").await;
    chat_refuses(&broker, project, 2, "It answered 404 again").await;
    let mails = mails(&service).await;
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to, "person8@example.com");
    let text = MailTemplate::ChatSwitchedOff {
        username: "person8".to_owned(),
        project_id: project,
        project: "Beacon".to_owned(),
        team: "Engines".to_owned(),
        provider: "slack".to_owned(),
        reason: "It answered 404".to_owned(),
        at: service.time.now(),
        link: format!("{}/docs/", service.api.base()),
    };
    assert!(mails[0].text == text, "{}", mails[0].text.template());
    assert_eq!(contacts(&service), 0, "nothing is kept when it was said");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_verified_address_of_the_last_creator_no_mail_is_sent() {
    let (service, broker) = service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let reachable = Person::verified(&service, 7);
    reachable.put(&path, hook()).await.expect(200);
    let unproven = Person::member(&service, 8);
    unproven.put(&path, hook()).await.expect(200);
    assert_eq!(contacts(&service), 0);
    chat_refuses(&broker, project, 2, "It answered 404").await;
    assert!(mails(&service).await.is_empty());
    let shown = unproven.get(&path).await.expect(200).json();
    assert_eq!(shown["chat"]["status"], "off");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_editor_of_a_webhook_gets_a_mail_when_it_is_disabled() {
    let (service, broker) = service().await;
    let (ada, bob) = (Person::verified(&service, 7), Person::verified(&service, 8));
    let url = "https://hooks.example:8443/very/secret";
    let body = json!({"url": url, "team_id": 3, "description": "the wall"});
    let (of_team, _) = make(&ada, body).await;
    let (own, _) = make(&ada, json!({ "url": url })).await;
    bob.put(&path_of(&of_team), json!({})).await.expect(200);
    assert_eq!(contacts(&service), 2);
    // A revision from before Bob's change.
    receiver_refuses(&broker, &of_team, 1).await;
    assert!(mails(&service).await.is_empty());
    receiver_refuses(&broker, &of_team, 2).await;
    receiver_refuses(&broker, &own, 1).await;
    receiver_refuses(&broker, &own, 1).await;
    let mut mails = mails(&service).await;
    mails.sort_by(|one, other| other.to.cmp(&one.to));
    let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(to, ["person8@example.com", "person7@example.com"]);
    for (mail, webhook, username, description) in [
        (&mails[0], &of_team, "person8", "the wall"),
        (&mails[1], &own, "person7", ""),
    ] {
        let text = MailTemplate::WebhookSwitchedOff {
            username: username.to_owned(),
            webhook_id: webhook["id"].as_i64().unwrap(),
            description: description.to_owned(),
            origin: "https://hooks.example:8443".to_owned(),
            reason: "It answered 410".to_owned(),
            at: service.time.now(),
            link: format!("{}/docs/", service.api.base()),
        };
        assert!(mail.text == text, "{username}");
    }
    // Ada activates it again.
    ada.put(&path_of(&of_team), json!({})).await.expect(200);
    assert_eq!(contacts(&service), 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_the_email_scope_does_not_change_the_contact() {
    let (service, broker) = service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let by = |token: &str| Person {
        service: &service,
        token: token.to_owned(),
    };
    let (ada, by_client) = (by("named-7"), by("nameless-7"));
    ada.put(&path, hook()).await.expect(200);
    let body = json!({"url": "https://hooks.example/x"});
    let (webhook, _) = make(&ada, body.clone()).await;
    by_client.put(&path, hook()).await.expect(200);
    let renamed = json!({"description": "renamed"});
    by_client.put(&path_of(&webhook), renamed).await.expect(200);
    // What such a client creates has no contact.
    make(&by_client, body).await;
    assert_eq!(contacts(&service), 2);
    chat_refuses(&broker, project, 2, "It answered 404").await;
    receiver_refuses(&broker, &webhook, 2).await;
    let mails = mails(&service).await;
    let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(to, ["person7@example.com"; 2]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_integration_deletes_its_contact() {
    let (service, broker) = service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let ada = Person::verified(&service, 7);
    ada.put(&path, hook()).await.expect(200);
    let (webhook, _) = make(&ada, json!({"url": "https://hooks.example/x"})).await;
    assert_eq!(contacts(&service), 2);
    ada.delete(&path).await.expect(204);
    assert_eq!(contacts(&service), 1);
    ada.delete(&path_of(&webhook)).await.expect(204);
    assert_eq!(contacts(&service), 0);
    chat_refuses(&broker, project, 1, "It answered 404").await;
    receiver_refuses(&broker, &webhook, 1).await;
    assert!(mails(&service).await.is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_manager_stays_the_contact_of_their_own_webhooks_only() {
    let world = World::start().await;
    let service = &world.service;
    let ada = Person::verified(service, 7);
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    ada.put(&path, hook()).await.expect(200);
    let url = "https://hooks.example/x";
    make(&ada, json!({"url": url, "team_id": 3})).await;
    make(&ada, json!({ "url": url })).await;
    let is_now = async |team: i64, role: Option<TeamRole>| {
        let data = MembershipChanged {
            user_id: UserId::new(7).unwrap(),
            team: TeamRef {
                id: TeamId::new(team).unwrap(),
                slug: "engines".to_owned(),
                name: "Engines".to_owned(),
            },
            role,
        };
        let asked = world.stub.existence_asked();
        world.tell(&data).await;
        world.stub.until_existence_asked(asked + 1).await;
        world.settle().await;
    };
    is_now(4, None).await;
    assert_eq!(contacts(service), 3, "another team");
    // The service checks the event with the identity service.
    world.stub.is_there(Some(7), Some(3), Some(TeamRole::Admin));
    is_now(3, None).await;
    assert_eq!(contacts(service), 3, "an old event, or a forged one");
    world.stub.nobody_is_there();
    is_now(3, Some(TeamRole::Member)).await;
    wait_until("the team's to be forgotten", PATIENCE, async || {
        (contacts(service) == 1).then_some(())
    })
    .await;
    world.stop().await;
}
