//! Events of the identity service. Deleted accounts are tested in `account_erasure`, teams in
//! `renamed_and_deleted_teams`.

use std::time::{Duration, Instant};

use auth_types::TeamRole;
use broker::PublishOutcome;
use event_types::{MembershipChanged, SessionRevoked, UserChanged};
use serde_json::json;
use uuid::Uuid;

use crate::broker_fixture::{World, team_ref, user_id};
use crate::database;

/// Makes requests as both users, twice, with `between` in the middle; returns how many validations that took.
async fn count_validations(world: &World, between: impl AsyncFn()) -> usize {
    let request = async |token: &str| {
        let call = world.service.api.get("/api/projects").bearer(token);
        call.send().await.expect(200);
    };
    for _ in 0..10 {
        // What the last round cached has expired.
        tokio::time::sleep(Duration::from_millis(1_050)).await;
        let (since, before) = (Instant::now(), world.identity.validation_count());
        request("user-").await;
        request("outsider-8").await;
        between().await;
        request("user-").await;
        request("outsider-8").await;
        // After a longer time, cached results may have expired.
        if since.elapsed() < Duration::from_millis(950) {
            return world.identity.validation_count() - before;
        }
    }
    panic!("the machine is too slow for this test");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_user_removes_only_that_users_cached_validations() {
    let world = World::start().await;
    let user_id = user_id(7);
    let membership = MembershipChanged {
        user_id,
        team: team_ref(3, "Engines"),
        role: Some(TeamRole::Member),
    };
    let revoked = SessionRevoked {
        user_id,
        sids: vec!["one".to_owned()],
        clients: Vec::new(),
    };
    let changed = UserChanged {
        user_id,
        deleted: false,
        is_active: true,
    };
    for (which, expected) in [
        ("nothing", 2),
        ("membership", 3),
        ("revoked", 3),
        ("changed", 3),
    ] {
        let between = async || {
            match which {
                "membership" => drop(world.publish(&membership).await),
                "revoked" => drop(world.publish(&revoked).await),
                "changed" => drop(world.publish(&changed).await),
                _ => {}
            }
            world.until_all_consumed().await;
        };
        assert_eq!(
            count_validations(&world, between).await,
            expected,
            "{which}"
        );
    }
    let gone = "SELECT count(*) AS number FROM departures";
    assert_eq!(database::count(&world.service, gone), 0);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_identity_event_is_dead_lettered_and_does_not_block_the_queue() {
    let world = World::start().await;
    let body = |kind: &str, data: serde_json::Value| {
        json!({
            "specversion": "1.0", "id": Uuid::now_v7(), "source": "identity-service", "type": kind,
            "subject": "user/7", "time": "2026-11-23T09:00:00Z", "datacontenttype": "application/json",
            "data": data,
        })
    };
    for (key, body) in [
        (
            "identity.user_changed.v2",
            body("identity.user_changed.v2", json!({"user_id": 7})),
        ),
        (
            "identity.user_changed.v1",
            body(
                "identity.user_changed.v1",
                json!({"user_id": 0, "deleted": true}),
            ),
        ),
        ("identity.news.v1", body("identity.news.v1", json!({}))),
        ("identity.user_changed.v1", json!("no event")),
    ] {
        let outcome = world
            .publish_bytes(Uuid::now_v7(), key, body.to_string().into_bytes())
            .await;
        // RabbitMQ moves it to the dead-letter queue; the memory broker has none.
        if test_kit::TestBackend::current() == test_kit::TestBackend::Sqlite {
            assert!(
                matches!(outcome, PublishOutcome::Unreadable(_)),
                "{outcome:?}"
            );
        } else {
            assert_eq!(outcome, PublishOutcome::Confirmed);
        }
    }
    world.until_all_consumed().await;
    let gone = "SELECT count(*) AS number FROM departures";
    assert_eq!(database::count(&world.service, gone), 0);
    world.stop().await;
}
