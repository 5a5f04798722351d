//! The existence endpoint, which the other services ask before they erase something.

use auth_types::wire::{Contact, ExistenceQuestion};
use auth_types::{TeamId, UserId};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use service_kit::seal::{Purpose, SealingKeys};
use test_kit::ApiResponse;

use crate::support::{ENCRYPTION_KEY, Identity, MAIL_KEY, PASSWORD, refused};
use crate::team_fixture::TeamFixture;

fn sealed(key: &[u8; 32], place: &str, question: &Value) -> String {
    let sealer = SealingKeys::new(key, [])
        .sealer(Purpose::Questions)
        .unwrap();
    sealer.seal(place, question.to_string().as_bytes()).unwrap()
}

async fn ask(identity: &Identity, sealed: &str) -> ApiResponse {
    let call = identity.api.post("/api/auth/existence");
    call.json(json!({ "sealed": sealed })).send().await
}

async fn told(identity: &Identity, user_id: Option<i64>, team_id: Option<i64>) -> Value {
    let question = ExistenceQuestion {
        user_id: user_id.and_then(UserId::new),
        team_id: team_id.and_then(TeamId::new),
        session_id: None,
    };
    let place = ExistenceQuestion::SEAL_CONTEXT;
    let sealed = sealed(&MAIL_KEY, place, &json!(question));
    ask(identity, &sealed).await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deactivated_account_exists_and_a_deleted_account_or_team_does_not() {
    let fixture = TeamFixture::start().await;
    let identity = &fixture.identity;
    let (there, gone) = (
        json!({"exists": true, "role": null}),
        json!({"exists": false, "role": null}),
    );
    let ada = identity.register("adanew").await;
    let made = fixture.create(&ada, "passing").await.expect(201).json();
    let team = made["team"]["id"].as_i64().unwrap();
    assert_eq!(told(identity, Some(ada.id), None).await, there);
    assert_eq!(told(identity, None, Some(team)).await, there);
    let both = told(identity, Some(ada.id), Some(team)).await;
    assert_eq!(both, json!({"exists": true, "role": "owner"}));
    assert_eq!(told(identity, Some(ada.id + 1), Some(team)).await, gone);
    for never in [
        told(identity, Some(99_999), None),
        told(identity, None, None),
    ] {
        assert_eq!(never.await, gone);
    }

    identity.sql("UPDATE users SET is_active = FALSE WHERE username = 'adanew'");
    assert_eq!(told(identity, Some(ada.id), None).await, there);
    identity.sql("UPDATE users SET is_active = TRUE WHERE username = 'adanew'");
    let path = format!("/api/auth/user/{}", ada.id);
    let call = identity.api.delete(&path).bearer(&ada.access);
    let deleted = call.json(json!({ "password": PASSWORD })).send().await;
    deleted.expect(204);
    assert_eq!(told(identity, Some(ada.id), None).await, gone);
    assert_eq!(
        told(identity, None, Some(team)).await,
        gone,
        "it was its own"
    );
    assert_eq!(told(identity, Some(ada.id), Some(team)).await, gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_caller_with_the_shared_key_may_ask_what_exists() {
    let identity = Identity::start().await;
    let question = json!({"user_id": 1, "team_id": null});
    let place = ExistenceQuestion::SEAL_CONTEXT;
    for forged in [
        String::new(),
        question.to_string(),
        sealed(&ENCRYPTION_KEY, place, &question),
        sealed(&MAIL_KEY, "another place", &question),
        sealed(&MAIL_KEY, place, &json!("no question")),
    ] {
        refused(ask(&identity, &forged).await, 403, "forbidden");
    }
    let call = identity.api.post("/api/auth/existence");
    refused(call.json(json!({})).send().await, 400, "validation_failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contact_is_returned_sealed_if_its_address_is_verified() {
    let fixture = TeamFixture::start().await;
    let identity = &fixture.identity;
    let ada = identity.register("adanew").await;
    let made = fixture.create(&ada, "passing").await.expect(201).json();
    let team = made["team"]["id"].as_i64();
    let proven = |is: &str| {
        let sql = format!("email = 'ada@example.com', email_verified = {is}");
        identity.sql(&format!("UPDATE users SET {sql} WHERE username = 'adanew'"));
    };
    proven("FALSE");
    assert!(told(identity, Some(ada.id), None).await["contact"].is_null());
    proven("TRUE");
    for (user, team) in [(Some(ada.id), None), (None, team), (Some(ada.id + 1), team)] {
        let answer = told(identity, user, team).await;
        let sealed = answer["contact"].as_str().unwrap();
        let sealer = SealingKeys::new(&MAIL_KEY, [])
            .sealer(Purpose::Questions)
            .unwrap();
        let plain = sealer.open_text(Contact::SEAL_CONTEXT, sealed).unwrap();
        let contact: Value = serde_json::from_str(plain.expose_secret()).unwrap();
        let expected = json!({"username": "adanew", "email": "ada@example.com"});
        assert_eq!(contact, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_with_a_session_is_answered_no_once_the_session_has_ended() {
    let fixture = TeamFixture::start().await;
    let identity = &fixture.identity;
    let ada = identity.register("adanew").await;
    let made = fixture.create(&ada, "passing").await.expect(201).json();
    let call = identity.api.get("/api/auth/validate").bearer(&ada.access);
    let sid = call.send().await.expect(200).json()["session_id"].clone();
    let ask = async |session_id: &Value| {
        let question =
            json!({"user_id": ada.id, "team_id": made["team"]["id"], "session_id": session_id});
        let sealed = sealed(&MAIL_KEY, ExistenceQuestion::SEAL_CONTEXT, &question);
        ask(identity, &sealed).await.expect(200).json()
    };
    let (good, over) = (
        json!({"exists": true, "role": "owner"}),
        json!({"exists": false, "role": "owner"}),
    );
    assert_eq!(ask(&sid).await, good);
    assert_eq!(ask(&json!("another")).await, over);
    let call = identity.api.post("/api/auth/logout").bearer(&ada.access);
    call.json(json!({})).send().await.expect(200);
    assert_eq!(ask(&sid).await, over);
}
