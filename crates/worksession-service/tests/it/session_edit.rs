//! What a user may change after the submit, and what never changes.

use chrono::TimeDelta;
use futures_util::future::join_all;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::caller::{Caller, changed, flags, honest, session_events};
use crate::database::count;
use crate::service_fixture::Service;

async fn patch(caller: &Caller<'_>, id: &Value, body: Value) -> ApiResponse {
    let path = format!("/api/sessions/{}", id.as_str().unwrap());
    let call = caller.service.api.call("PATCH".parse().unwrap(), &path);
    call.bearer(&caller.token).json(body).send().await
}

async fn get_session(caller: &Caller<'_>, id: &Value) -> Value {
    let path = format!("/api/sessions/{}", id.as_str().unwrap());
    caller.get(&path).await.expect(200).json()["session"].clone()
}

/// Works 25 minutes on a project; returns the response of the start and the body of the submit.
async fn submitted_session(caller: &Caller<'_>) -> (Value, Value) {
    let project = caller.team_project().await;
    let plan =
        json!({"category": "coding", "duration": 25, "note": "the plan", "project_id": project});
    let started = caller.start(plan).await;
    caller.service.clock.advance(TimeDelta::minutes(25));
    let body = changed(
        honest(&started, caller.service),
        &json!({"quality_rating": 3, "tags": ["deep"]}),
    );
    caller.submit(body.clone()).await.expect(200);
    (started, body)
}

fn last_change(service: &Service) -> i64 {
    count(
        service,
        "SELECT seq AS number FROM user_sync WHERE user_id = 7",
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_changes_note_rating_and_tags_and_nothing_else() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let (started, _) = submitted_session(&ada).await;
    let id = &started["session_id"];
    let before = get_session(&ada, id).await;
    let data = ada.data().await;
    let table = [
        (json!({"note": "better"}), json!({"note": "better"})),
        (json!({"quality_rating": 5.0}), json!({"quality_rating": 5})),
        (
            json!({"tags": [" a ", "b", "a", "b\t"]}),
            json!({"tags": ["a", "b"]}),
        ),
        (
            json!({"note": "all", "quality_rating": 1, "tags": [], "other": {"ignored": true}}),
            json!({"note": "all", "quality_rating": 1, "tags": []}),
        ),
        (
            json!({"tags": ["again"], "status": "abandoned", "credited_minutes": 480}),
            json!({"tags": ["again"]}),
        ),
        (
            json!({"note": null, "tags": null}),
            json!({"note": "", "tags": []}),
        ),
    ];
    let mut expected = before;
    for (body, change) in table {
        service.clock.advance(TimeDelta::days(1));
        let change_before = last_change(&service);
        expected = changed(expected, &change);
        let answer = patch(&ada, id, body.clone()).await.expect(200).json();
        assert_eq!(
            answer,
            json!({"success": true, "session": expected}),
            "{body}"
        );
        assert_eq!(get_session(&ada, id).await, expected);
        assert_eq!(last_change(&service), change_before + 1, "{body}");
    }
    expected["quality_rating"] = Value::Null;
    let answer = patch(&ada, id, json!({"quality_rating": null})).await;
    assert_eq!(answer.expect(200).json()["session"], expected);

    // An empty body changes nothing.
    let change_before = last_change(&service);
    let answer = patch(&ada, id, json!({})).await.expect(200).json();
    assert_eq!(
        (&answer["session"], last_change(&service)),
        (&expected, change_before)
    );
    let numbered = format!(
        "SELECT seq AS number FROM sessions WHERE session_id = '{}'",
        id.as_str().unwrap()
    );
    assert_eq!(count(&service, &numbered), change_before);
    for total in ["total", "this_month"] {
        assert_eq!(ada.data().await["points"][total], data["points"][total]);
    }
    assert_eq!(ada.data().await["session_stats"], data["session_stats"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_may_repeat_locked_fields_but_not_change_them() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let (started, _) = submitted_session(&ada).await;
    let id = &started["session_id"];
    let before = get_session(&ada, id).await;
    let plan = &started["presession"];
    let project = &plan["project"]["id"];

    let whole = changed(
        before.clone(),
        &json!({"note": "as a client sends it back"}),
    );
    patch(&ada, id, whole).await.expect(200);
    for same in [
        json!({"category": " coding ", "duration": 25, "project_id": project, "planning_note": "the plan"}),
        json!({"plannedDuration": 25, "projectId": project, "planningNote": "the plan"}),
        json!({"category": null, "duration": null, "planning_note": null, "project": null}),
    ] {
        patch(&ada, id, same).await.expect(200);
    }

    let table = [
        (json!({"category": "Coding"}), "category"),
        (json!({"duration": 24}), "duration"),
        (json!({"planned_duration": -25}), "duration"),
        (json!({"plannedDuration": 480}), "duration"),
        (json!({"project_id": "none"}), "project_id"),
        (json!({"project_id": null}), "project_id"),
        (json!({"project_id": "team_0"}), "project_id"),
        (json!({"projectId": "personal_1"}), "project_id"),
        (
            json!({"project": {"id": "none", "name": "Engine"}}),
            "project_id",
        ),
        (json!({"planning_note": ""}), "planning_note"),
        (json!({"planningNote": "another plan"}), "planning_note"),
        (
            json!({"planning_note": "x", "project_id": "", "duration": 1, "category": ""}),
            "category, duration, project_id, planning_note",
        ),
    ];
    let before = get_session(&ada, id).await;
    for (body, names) in table {
        let body = changed(body, &json!({"note": "sneaked in", "quality_rating": 5}));
        let refused = patch(&ada, id, body.clone()).await.expect(422).json();
        let sentence = format!("Locked fields differ from the plan: {names}");
        assert_eq!(refused, json!({"error": sentence}), "{body}");
        assert_eq!(get_session(&ada, id).await, before, "{body}");
    }
    assert_eq!(flags(&service, id), Vec::<String>::new());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_user_edits_a_session_and_only_after_the_submit() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let (done, _) = submitted_session(&ada).await;
    let running = ada.start_coding().await;
    let body = json!({"note": "edited"});
    let early = patch(&ada, &running["session_id"], body.clone())
        .await
        .expect(409);
    assert_eq!(
        early.json(),
        json!({"error": "Session is not submitted yet"})
    );
    let wrong = changed(body.clone(), &json!({"duration": 1}));
    patch(&ada, &running["session_id"], wrong).await.expect(422);
    let eve = Caller::member(&service, 8);
    for (caller, id) in [
        (&eve, &done["session_id"]),
        (&ada, &json!("01890a5d-ac96-774b-bcce-b302099a8057")),
        (&ada, &json!("1")),
    ] {
        let refused = patch(caller, id, body.clone()).await.expect(404);
        assert_eq!(refused.json(), json!({"error": "Session not found"}));
    }
    for (body, sentence) in [
        (
            json!({"quality_rating": 0}),
            "quality_rating must be 1 to 5",
        ),
        (
            json!({"quality_rating": 6}),
            "quality_rating must be 1 to 5",
        ),
        (
            json!({"note": "x".repeat(2_001)}),
            "note must have at most 2000 characters",
        ),
        (
            json!({"tags": vec!["x"; 11]}),
            "tags must be at most 10 of 1 to 32 characters each",
        ),
        (
            json!({"tags": ["x".repeat(33)]}),
            "tags must be at most 10 of 1 to 32 characters each",
        ),
        (
            json!({"tags": [""]}),
            "tags must be at most 10 of 1 to 32 characters each",
        ),
    ] {
        let refused = patch(&ada, &done["session_id"], body).await.expect(400);
        assert_eq!(refused.json(), json!({"error": sentence}));
    }
    for body in [
        json!({"note": 7}),
        json!({"quality_rating": "5"}),
        json!({"quality_rating": 4.5}),
        json!({"tags": "deep"}),
        json!({"tags": [1]}),
        json!({"duration": "25"}),
        json!([]),
    ] {
        patch(&ada, &done["session_id"], body).await.expect(400);
    }
    assert_eq!(get_session(&ada, &done["session_id"]).await["note"], "done");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_submit_after_an_edit_gets_the_stored_response_and_undoes_nothing() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let (started, body) = submitted_session(&ada).await;
    let id = &started["session_id"];
    let answer = ada.submit(body.clone()).await.expect(200).text();
    patch(
        &ada,
        id,
        json!({"note": "edited", "quality_rating": 5, "tags": []}),
    )
    .await
    .expect(200);
    assert_eq!(ada.submit(body.clone()).await.expect(200).text(), answer);
    assert_eq!(get_session(&ada, id).await["note"], "edited");
    // The body with the edited values counts as another submit.
    let other = changed(
        body,
        &json!({"note": "edited", "quality_rating": 5, "tags": []}),
    );
    ada.submit(other).await.expect(409);
    assert_eq!(
        session_events(&service, "session.submitted.v1", id).len(),
        1
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_submitted_too_late_can_be_edited_too() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let started = ada.start_coding().await;
    service.clock.advance(TimeDelta::hours(13));
    let answer = ada.submit(honest(&started, &service)).await.expect(200);
    assert_eq!(answer.json()["status"], "abandoned");
    let edited = patch(
        &ada,
        &started["session_id"],
        json!({"note": "what I remember"}),
    )
    .await;
    let session = edited.expect(200).json()["session"].clone();
    assert_eq!(
        (
            &session["note"],
            &session["status"],
            &session["points_awarded"]
        ),
        (&json!("what I remember"), &json!("abandoned"), &json!(0.0))
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_concurrent_edits_of_different_fields_are_all_stored() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let (started, _) = submitted_session(&ada).await;
    let id = &started["session_id"];
    for round in 1..=5 {
        let before = last_change(&service);
        let (note, tags) = (format!("note {round}"), json!([format!("tag {round}")]));
        let fields = [
            json!({"note": note}),
            json!({"quality_rating": round}),
            json!({"tags": tags}),
        ];
        let edits = (0..16).map(|n: usize| patch(&ada, id, fields[n % 3].clone()));
        for reply in join_all(edits).await {
            reply.expect(200);
        }
        let session = get_session(&ada, id).await;
        assert_eq!(
            (
                &session["note"],
                &session["quality_rating"],
                &session["tags"]
            ),
            (&json!(note), &json!(round), &tags)
        );
        assert_eq!(last_change(&service), before + 16);
    }
    service.stop().await;
}
