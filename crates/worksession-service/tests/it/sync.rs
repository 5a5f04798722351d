//! What has changed since a client last synced.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::caller::{Caller, changed, honest};
use crate::database::execute;
use crate::past_sessions::{PastSession, insert_sessions};
use crate::service_fixture::Service;

async fn sync_since(caller: &Caller<'_>, cursor: &Value) -> Value {
    let path = format!("/api/sync/status?since={}", cursor.as_str().unwrap());
    caller.get(&path).await.expect(200).json()
}

async fn sync_all(caller: &Caller<'_>) -> Value {
    caller.get("/api/sync/status").await.expect(200).json()
}

/// Returns `type id` of each change.
fn names(answer: &Value) -> Vec<String> {
    let changes = answer["changes"].as_array().unwrap().iter();
    changes
        .map(|change| {
            format!(
                "{} {}",
                change["type"].as_str().unwrap(),
                change["id"].as_str().unwrap()
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_sync_returns_everything_as_the_other_endpoints_do() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let nothing = sync_all(&ada).await;
    assert_eq!(
        nothing,
        json!({
            "success": true, "server_time": "2026-11-23T09:00:00Z", "cursor": nothing["cursor"], "more": false,
            "running_session": null, "changes": [],
        })
    );
    let project = ada.post("/api/projects", json!({"name": "Thesis"})).await;
    let project = project.expect(201).json()["project"].clone();
    service.clock.advance(TimeDelta::seconds(1));
    ada.set_zone("Europe/Berlin").await;
    service.clock.advance(TimeDelta::seconds(1));
    let started = ada.start_coding().await;
    let id = started["session_id"].as_str().unwrap();
    let session = ada
        .get(&format!("/api/sessions/{id}"))
        .await
        .expect(200)
        .json()["session"]
        .clone();
    let data = ada.data().await;
    let all = sync_all(&ada).await;
    assert_eq!(
        all["changes"],
        json!([
            {
                "type": "project", "id": format!("personal_{}", project["id"]), "at": "2026-11-23T09:00:00Z",
                "data": project,
            },
            {
                "type": "preferences", "id": "preferences", "at": "2026-11-23T09:00:01Z",
                "data": {"preferences": data["preferences"], "timezone": "Europe/Berlin"},
            },
            {"type": "session", "id": id, "at": "2026-11-23T09:00:02Z", "data": session},
        ])
    );
    assert_eq!(all["running_session"], session);
    assert_eq!(all["server_time"], "2026-11-23T09:00:02Z");
    // The cursor of an empty answer returns the same.
    assert_eq!(
        sync_since(&ada, &nothing["cursor"]).await["changes"],
        all["changes"]
    );
    let grace = Caller::outsider(&service, 8);
    assert_eq!(names(&sync_all(&grace).await), Vec::<String>::new());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_entity_is_listed_once_and_moves_to_the_end() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let made = ada.post("/api/projects", json!({"name": "Thesis"})).await;
    let number = made.expect(201).json()["project"]["id"].clone();
    let (path, project) = (
        format!("/api/projects/{number}"),
        format!("project personal_{number}"),
    );
    let first = ada.start_coding().await;
    let second = ada
        .start(json!({"category": "coding", "duration": 60}))
        .await;
    let [first_id, second_id] = [&first, &second].map(|started| {
        let id = started["session_id"].as_str().unwrap();
        format!("session {id}")
    });
    let mut page = sync_all(&ada).await;
    assert_eq!(
        names(&page),
        [project.clone(), first_id.clone(), second_id.clone()]
    );
    assert_eq!(page["changes"][1]["data"]["status"], "awaiting_submit");

    let call = |method, body| {
        let call = service.api.call(method, &path).bearer(&ada.token);
        call.json(body)
    };
    let put = call("PUT".parse().unwrap(), json!({"name": "Book"}));
    put.send().await.expect(200);
    page = sync_since(&ada, &page["cursor"]).await;
    assert_eq!(names(&page), std::slice::from_ref(&project));
    assert_eq!(page["changes"][0]["data"]["name"], "Book");
    let delete = call("DELETE".parse().unwrap(), json!({}));
    delete.send().await.expect(204);
    page = sync_since(&ada, &page["cursor"]).await;
    assert_eq!(page["changes"][0]["data"]["archived"], true);

    service.clock.advance(TimeDelta::minutes(25));
    let cheat = changed(honest(&second, &service), &json!({"category": "writing"}));
    ada.submit(cheat).await.expect(422);
    page = sync_since(&ada, &page["cursor"]).await;
    assert_eq!(names(&page), std::slice::from_ref(&second_id));
    assert_eq!(
        page["changes"][0]["data"]["flags"][0]["kind"],
        "locked_mismatch"
    );
    ada.submit(honest(&first, &service)).await.expect(200);
    page = sync_since(&ada, &page["cursor"]).await;
    assert_eq!(names(&page), std::slice::from_ref(&first_id));
    assert_eq!(
        page["running_session"]["session_id"], second["session_id"],
        "the running session is always included"
    );

    // After its deadline, a request or the sweeper abandons the session, whichever comes first.
    service.clock.advance(TimeDelta::hours(14));
    let before = page["cursor"].clone();
    let abandoned = test_kit::wait_until(
        "the sweeper",
        std::time::Duration::from_secs(10),
        async || {
            let answer = sync_since(&ada, &before).await;
            (!names(&answer).is_empty()).then_some(answer)
        },
    );
    page = abandoned.await;
    assert_eq!(names(&page), std::slice::from_ref(&second_id));
    assert_eq!(page["changes"][0]["data"]["status"], "abandoned");
    assert_eq!(page["running_session"], Value::Null);
    ada.submit(honest(&second, &service)).await.expect(200);
    page = sync_since(&ada, &page["cursor"]).await;
    assert_eq!(page["changes"][0]["data"]["note"], "done");
    assert_eq!(
        names(&sync_since(&ada, &page["cursor"]).await),
        Vec::<String>::new()
    );
    assert_eq!(names(&sync_all(&ada).await), [project, first_id, second_id]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_changes_come_in_pages_of_200_and_none_is_skipped() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let past: Vec<PastSession> = (0..450).map(PastSession::nth).collect();
    insert_sessions(&service, &past);
    // Change numbers with gaps, in the reverse order of the starts; one session has none.
    execute(
        &service,
        "UPDATE sessions SET seq = numbered.n FROM (SELECT session_id AS id, \
          3 * (450 - row_number() OVER (ORDER BY started_at)) AS n FROM sessions) AS numbered WHERE session_id = id; \
         INSERT INTO user_sync (user_id, seq) VALUES (7, 2000)",
    );
    ada.post("/api/projects", json!({"name": "Thesis"}))
        .await
        .expect(201);
    let (mut received, mut sizes, mut page) = (Vec::new(), Vec::new(), sync_all(&ada).await);
    loop {
        let names = names(&page);
        sizes.push((names.len(), page["more"].as_bool().unwrap()));
        received.extend(names);
        if page["more"] == false {
            break;
        }
        page = sync_since(&ada, &page["cursor"]).await;
    }
    assert_eq!(sizes, [(200, true), (200, true), (51, false)]);
    let expected = past
        .iter()
        .rev()
        .map(|session| format!("session {}", session.id));
    assert!(
        received
            .iter()
            .take(450)
            .eq(expected.collect::<Vec<_>>().iter())
    );
    assert!(received[450].starts_with("project "), "{}", received[450]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_ahead_of_a_restored_database_starts_over() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let project = ada.post("/api/projects", json!({"name": "Thesis"})).await;
    let number = project.expect(201).json()["project"]["id"].clone();
    let all = sync_all(&ada).await;
    for number in 0..3 {
        ada.start(json!({"category": "coding", "duration": 25, "note": number.to_string()}))
            .await;
    }
    let later = sync_all(&ada).await;
    execute(
        &service,
        "DELETE FROM sessions; UPDATE user_sync SET seq = 1",
    );
    let again = sync_since(&ada, &later["cursor"]).await;
    assert_eq!(again["cursor"], all["cursor"]);
    assert_eq!(names(&again), [format!("project personal_{number}")]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_cursor_is_refused() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    for odd in [
        "",
        "0",
        "c",
        "c-1",
        "c01",
        "c1e3",
        "null",
        "c99999999999999999999",
    ] {
        let refused = ada.get(&format!("/api/sync/status?since={odd}")).await;
        assert_eq!(
            refused.expect(400).json(),
            json!({"error": "since is not a cursor"}),
            "{odd:?}"
        );
    }
    service.stop().await;
}
