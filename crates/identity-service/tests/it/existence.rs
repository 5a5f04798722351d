//! What the product's other parts are told before they erase something.

use auth_types::wire::ExistenceQuestion;
use auth_types::{TeamId, UserId};
use serde_json::{Value, json};
use service_kit::seal::Sealer;
use test_kit::Reply;

use crate::cast::Cast;
use crate::support::{ENCRYPTION_KEY, Identity, MAIL_KEY, PASSWORD, refused};

fn sealed(key: &[u8; 32], place: &str, question: &Value) -> String {
    let sealer = Sealer::new(key, []).unwrap();
    sealer.seal(place, question.to_string().as_bytes()).unwrap()
}

async fn ask(identity: &Identity, sealed: &str) -> Reply {
    let call = identity.api.post("/api/auth/existence");
    call.json(json!({ "sealed": sealed })).send().await
}

async fn told(identity: &Identity, user_id: Option<i64>, team_id: Option<i64>) -> Value {
    let question = ExistenceQuestion {
        user_id: user_id.and_then(UserId::new),
        team_id: team_id.and_then(TeamId::new),
    };
    let place = ExistenceQuestion::SEAL_CONTEXT;
    let sealed = sealed(&MAIL_KEY, place, &json!(question));
    ask(identity, &sealed).await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deactivated_exists_and_what_is_deleted_does_not() {
    let cast = Cast::assemble().await;
    let identity = &cast.identity;
    let (there, gone) = (
        json!({"exists": true, "role": null}),
        json!({"exists": false, "role": null}),
    );
    let ada = identity.register("adanew").await;
    let made = cast.create(&ada, "passing").await.expect(201).json();
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
async fn only_who_has_the_key_that_the_parts_share_may_ask() {
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
