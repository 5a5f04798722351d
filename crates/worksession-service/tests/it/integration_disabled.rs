//! Mails about a chat or a webhook that was disabled. The test plays the notifier.

use auth_types::{TeamId, TeamRole, UserId};
use broker::{Broker, PublishOutcome};
use event_types::{IntegrationDisabled, MailTemplate, MembershipChanged, TeamRef, WebhookDisabled};
use serde_json::{Value, json};
use test_kit::wait_until;
use uuid::Uuid;

use crate::broker_fixture::{TIMEOUT, World};
use crate::caller::Caller;
use crate::database;
use crate::fake_notifier::{CHAT_URL, publish, requested_mails, start_service};
use crate::service_fixture::Service;
use crate::webhook_fixture::{create_webhook, path_of};

fn count_contacts(service: &Service) -> i64 {
    database::count(service, "SELECT count(*) AS number FROM hook_contacts")
}

fn chat_body() -> Value {
    json!({"provider": "slack", "webhook_url": CHAT_URL})
}

async fn report_chat_disabled(broker: &Broker, project_id: i64, revision: i64, reason: &str) {
    let data = IntegrationDisabled {
        project_id,
        revision,
        reason: reason.to_owned(),
    };
    assert_eq!(
        publish(broker, Uuid::now_v7(), &data).await,
        PublishOutcome::Confirmed
    );
}

async fn report_webhook_disabled(broker: &Broker, webhook: &Value, revision: i64) {
    let data = WebhookDisabled {
        webhook_id: webhook["id"].as_i64().unwrap(),
        revision,
        reason: "It answered 410".to_owned(),
    };
    assert_eq!(
        publish(broker, Uuid::now_v7(), &data).await,
        PublishOutcome::Confirmed
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_creator_of_a_chat_gets_one_mail_when_it_is_disabled() {
    let (service, broker) = start_service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    for id in [7, 8] {
        let caller = Caller::verified(&service, id);
        caller.put(&path, chat_body()).await.expect(200);
    }
    assert_eq!(count_contacts(&service), 1);
    for row in database::all_rows(&service) {
        assert!(!row.text.contains("example.com"), "{row:?}");
    }
    report_chat_disabled(&broker, project, 1, "It answered 403").await;
    assert!(
        requested_mails(&service).await.is_empty(),
        "there is a newer revision"
    );

    report_chat_disabled(&broker, project, 2, "It answered 404").await;
    report_chat_disabled(&broker, project, 2, "It answered 404 again").await;
    let mails = requested_mails(&service).await;
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
    assert_eq!(
        count_contacts(&service),
        0,
        "the contact is deleted with the mail"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_verified_address_of_the_last_creator_no_mail_is_sent() {
    let (service, broker) = start_service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let reachable = Caller::verified(&service, 7);
    reachable.put(&path, chat_body()).await.expect(200);
    let unverified = Caller::member(&service, 8);
    unverified.put(&path, chat_body()).await.expect(200);
    assert_eq!(count_contacts(&service), 0);
    report_chat_disabled(&broker, project, 2, "It answered 404").await;
    assert!(requested_mails(&service).await.is_empty());
    let shown = unverified.get(&path).await.expect(200).json();
    assert_eq!(shown["chat"]["status"], "off");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_editor_of_a_webhook_gets_a_mail_when_it_is_disabled() {
    let (service, broker) = start_service().await;
    let (ada, bob) = (Caller::verified(&service, 7), Caller::verified(&service, 8));
    let url = "https://hooks.example:8443/very/secret";
    let body = json!({"url": url, "team_id": 3, "description": "the wall"});
    let (of_team, _) = create_webhook(&ada, body).await;
    let (own, _) = create_webhook(&ada, json!({ "url": url })).await;
    bob.put(&path_of(&of_team), json!({})).await.expect(200);
    assert_eq!(count_contacts(&service), 2);
    // A revision from before Bob's change.
    report_webhook_disabled(&broker, &of_team, 1).await;
    assert!(requested_mails(&service).await.is_empty());
    report_webhook_disabled(&broker, &of_team, 2).await;
    report_webhook_disabled(&broker, &own, 1).await;
    report_webhook_disabled(&broker, &own, 1).await;
    let mut mails = requested_mails(&service).await;
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
    assert_eq!(count_contacts(&service), 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_the_email_scope_does_not_change_the_contact() {
    let (service, broker) = start_service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let caller = |token: &str| Caller {
        service: &service,
        token: token.to_owned(),
    };
    let (ada, by_client) = (caller("named-7"), caller("nameless-7"));
    ada.put(&path, chat_body()).await.expect(200);
    let body = json!({"url": "https://hooks.example/x"});
    let (webhook, _) = create_webhook(&ada, body.clone()).await;
    by_client.put(&path, chat_body()).await.expect(200);
    let renamed = json!({"description": "renamed"});
    by_client.put(&path_of(&webhook), renamed).await.expect(200);
    // What such a client creates has no contact.
    create_webhook(&by_client, body).await;
    assert_eq!(count_contacts(&service), 2);
    report_chat_disabled(&broker, project, 2, "It answered 404").await;
    report_webhook_disabled(&broker, &webhook, 2).await;
    let mails = requested_mails(&service).await;
    let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(to, ["person7@example.com"; 2]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_integration_deletes_its_contact() {
    let (service, broker) = start_service().await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    let ada = Caller::verified(&service, 7);
    ada.put(&path, chat_body()).await.expect(200);
    let (webhook, _) = create_webhook(&ada, json!({"url": "https://hooks.example/x"})).await;
    assert_eq!(count_contacts(&service), 2);
    ada.delete(&path).await.expect(204);
    assert_eq!(count_contacts(&service), 1);
    ada.delete(&path_of(&webhook)).await.expect(204);
    assert_eq!(count_contacts(&service), 0);
    report_chat_disabled(&broker, project, 1, "It answered 404").await;
    report_webhook_disabled(&broker, &webhook, 1).await;
    assert!(requested_mails(&service).await.is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_manager_stays_the_contact_of_their_own_webhooks_only() {
    let world = World::start().await;
    let service = &world.service;
    let ada = Caller::verified(service, 7);
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat");
    ada.put(&path, chat_body()).await.expect(200);
    let url = "https://hooks.example/x";
    create_webhook(&ada, json!({"url": url, "team_id": 3})).await;
    create_webhook(&ada, json!({ "url": url })).await;
    let change_role = async |team: i64, role: Option<TeamRole>| {
        let data = MembershipChanged {
            user_id: UserId::new(7).unwrap(),
            team: TeamRef {
                id: TeamId::new(team).unwrap(),
                slug: "engines".to_owned(),
                name: "Engines".to_owned(),
            },
            role,
        };
        let checks = world.identity.existence_check_count();
        world.publish(&data).await;
        world.identity.until_existence_checked(checks + 1).await;
        world.until_all_consumed().await;
    };
    change_role(4, None).await;
    assert_eq!(count_contacts(service), 3, "another team");
    // The service checks the event with the identity service.
    world
        .identity
        .add_existing(Some(7), Some(3), Some(TeamRole::Admin));
    change_role(3, None).await;
    assert_eq!(count_contacts(service), 3, "an old event, or a forged one");
    world.identity.remove_all();
    change_role(3, Some(TeamRole::Member)).await;
    wait_until("the team's contacts to be deleted", TIMEOUT, async || {
        (count_contacts(service) == 1).then_some(())
    })
    .await;
    world.stop().await;
}
