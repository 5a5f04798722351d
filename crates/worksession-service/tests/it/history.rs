//! The caller's sessions: the list with its filters and pages, and a single session.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::caller::{Caller, changed, honest};
use crate::database::execute;
use crate::past_sessions::{PastSession, insert_sessions};
use crate::service_fixture::Service;

async fn list(caller: &Caller<'_>, query: &str) -> Value {
    let reply = caller.get(&format!("/api/sessions?{query}")).await;
    reply.expect(200).json()
}

/// Returns the last digits of the ids on a page.
fn numbers(page: &Value) -> Vec<usize> {
    let number = |session: &Value| {
        let id = session["session_id"].as_str().unwrap();
        usize::from_str_radix(id.rsplit('-').next().unwrap(), 16).unwrap()
    };
    let sessions = page["sessions"].as_array().unwrap();
    sessions.iter().map(number).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_shown_with_its_plan_and_its_outcome() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let project = ada.team_project().await;
    let started = ada
        .start(json!({"category": "coding", "duration": 25, "project_id": project, "note": "the plan"}))
        .await;
    let id = started["session_id"].as_str().unwrap();
    let path = format!("/api/sessions/{id}");
    let running = json!({
        "session_id": id,
        "status": "running",
        "category": "coding",
        "planned_duration": 25,
        "planning_note": "the plan",
        "project": {"id": project, "name": "Engine", "type": "team"},
        "started_at": "2026-11-23T09:00:00Z",
        "expected_end_at": "2026-11-23T09:25:00Z",
        "ended_at": null,
        "start_time": null,
        "end_time": null,
        "submitted_at": null,
        "credited_minutes": 0,
        "points_awarded": 0.0,
        "note": "",
        "quality_rating": null,
        "tags": [],
        "client": "client_a",
        "flags": [],
    });
    let shown = ada.get(&path).await.expect(200);
    assert_eq!(shown.header("cache-control"), "no-store");
    assert_eq!(shown.json(), json!({"success": true, "session": running}));

    service.clock.advance(TimeDelta::minutes(30));
    let wrong = changed(honest(&started, &service), &json!({"category": "writing"}));
    ada.submit(wrong).await.expect(422);
    let body = changed(
        honest(&started, &service),
        &json!({
            "note": "what I did", "quality_rating": 4, "tags": ["deep", "a \"b\", c"],
            "start_time": "2026-11-23T09:55:00+01:00",
        }),
    );
    let answer = ada.submit(body).await.expect(200).json();
    let shown = ada.get(&path).await.expect(200).json();
    let session = changed(
        running,
        &json!({
            "status": "completed",
            "ended_at": shown["session"]["ended_at"],
            "start_time": "2026-11-23T08:55:00Z",
            "end_time": "2026-11-23T09:30:00Z",
            "submitted_at": "2026-11-23T09:30:00Z",
            "credited_minutes": 25,
            "points_awarded": answer["points_awarded"],
            "note": "what I did",
            "quality_rating": 4,
            "tags": ["deep", "a \"b\", c"],
            "flags": [
                {"kind": "locked_mismatch", "severity": "info", "state": "open",
                 "reason": "Attempt 1 to change the locked plan"},
                {"kind": "client_clock", "severity": "info", "state": "open",
                 "reason": "The reported start is 300 s too early"},
            ],
        }),
    );
    assert_eq!(shown["session"], session);
    let page = list(&ada, "").await;
    assert_eq!(
        page,
        json!({"success": true, "sessions": [session], "next_cursor": null})
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_another_user_an_unknown_and_a_malformed_id_are_not_found() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let started = ada.start_coding().await;
    let id = started["session_id"].as_str().unwrap();
    let eve = Caller::outsider(&service, 8);
    for (caller, id) in [
        (&eve, id),
        (&ada, "01890a5d-ac96-774b-bcce-b302099a8057"),
        (&ada, "1"),
        (&ada, "x"),
        (&ada, &id.replace('-', "")),
        (&ada, &format!("{id}%20")),
        (&ada, "%00"),
    ] {
        let refused = caller.get(&format!("/api/sessions/{id}")).await.expect(404);
        assert_eq!(
            refused.json(),
            json!({"error": "Session not found"}),
            "{id}"
        );
    }
    assert_eq!(list(&eve, "").await["sessions"], json!([]));
    let path = format!("/api/sessions/{}", id.to_uppercase());
    let shown = ada.get(&path).await.expect(200).json();
    assert_eq!(shown["session"]["session_id"], id);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_contiguous_even_if_sessions_start_at_the_same_instant() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    // Seven sessions start at each instant.
    let sessions: Vec<PastSession> = (0..260)
        .map(|n| PastSession {
            started_at: PastSession::nth(n / 7).started_at,
            ..PastSession::nth(n)
        })
        .collect();
    insert_sessions(&service, &sessions);
    insert_sessions(
        &service,
        &[PastSession {
            user: 8,
            ..PastSession::nth(1_000)
        }],
    );
    for (query, size) in [
        ("", 50),
        ("limit=1", 1),
        ("limit=13", 13),
        ("limit=200", 200),
    ] {
        let (mut read, mut cursor) = (Vec::<usize>::new(), String::new());
        loop {
            let page = list(&ada, &format!("{query}&cursor={cursor}")).await;
            let numbers = numbers(&page);
            read.extend(&numbers);
            match page["next_cursor"].as_str() {
                Some(next) => {
                    assert_eq!(numbers.len(), size);
                    next.clone_into(&mut cursor);
                }
                None => break,
            }
        }
        assert_eq!(read, (0..260).rev().collect::<Vec<_>>(), "{query}");
    }
    // A page that ends with the last session has no cursor to an empty page.
    let exact = list(&ada, "limit=196&to=2020-01-02T03:00:00Z").await;
    assert_eq!(numbers(&exact).len(), 196);
    assert_eq!(exact["next_cursor"], json!(null));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_filter_selects_its_sessions_and_filters_combine() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let make = |n: usize, change: &dyn Fn(&mut PastSession)| {
        let mut past = PastSession::nth(n);
        change(&mut past);
        past
    };
    insert_sessions(
        &service,
        &[
            make(0, &|past| past.tags = r#"["deep","x,y"]"#.to_owned()),
            make(1, &|past| past.project = "team_1".to_owned()),
            make(2, &|past| past.project = "team_11".to_owned()),
            make(3, &|past| past.project = "personal_1".to_owned()),
            make(4, &|past| past.status = "partial"),
            make(5, &|past| past.status = "abandoned"),
            make(6, &|past| past.category = "Coding".to_owned()),
            make(7, &|past| past.tags = r#"["a\"deep","deeper"]"#.to_owned()),
            make(8, &|past| past.tags = r#"["Deep"]"#.to_owned()),
            make(9, &|past| past.status = "awaiting_submit"),
            make(10, &|past| past.status = "running"),
        ],
    );
    let table: [(&str, &[usize]); 22] = [
        ("status=completed", &[8, 7, 6, 3, 2, 1, 0]),
        ("status=partial,abandoned", &[5, 4]),
        ("status=running", &[10]),
        ("status=awaiting_submit,running", &[10, 9]),
        ("status=running,partial", &[10, 4]),
        ("project_id=team_1", &[1]),
        ("project_id=personal_1", &[3]),
        ("project_id=none", &[10, 9, 8, 7, 6, 5, 4, 0]),
        ("project_id=team_2", &[]),
        ("category=Coding", &[6]),
        ("category=coding&status=partial", &[4]),
        ("category=", &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ("tag=deep", &[0]),
        ("tag=Deep", &[8]),
        ("tag=x%2Cy", &[0]),
        ("tag=%2C", &[]),
        ("tag=a%22deep", &[7]),
        ("tag=deep&status=running", &[]),
        (
            "tag=deep&category=coding&status=completed&project_id=none",
            &[0],
        ),
        ("from=2020-01-01T09:00:00Z", &[10, 9]),
        (
            "from=2020-01-01T03:00:00Z&to=2020-01-01T05:00:00%2B01:00",
            &[4, 3],
        ),
        ("from=2020-01-01&to=2020-01-01&limit=2", &[10, 9]),
    ];
    for (query, expected) in table {
        assert_eq!(numbers(&list(&ada, query).await), expected, "{query}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_are_those_of_the_users_own_zone() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    ada.set_zone("Pacific/Kiritimati").await;
    insert_sessions(&service, &(0..48).map(PastSession::nth).collect::<Vec<_>>());
    // In that zone, 1 January lasts until 10:00 UTC and begins at 10:00 UTC of the day before.
    let first = list(&ada, "to=2020-01-01").await;
    assert_eq!(numbers(&first), (0..10).rev().collect::<Vec<_>>());
    let second = list(&ada, "from=2020-01-02&to=2020-01-02").await;
    assert_eq!(numbers(&second), (10..34).rev().collect::<Vec<_>>());
    let nothing = list(&ada, "from=2020-01-02&to=2020-01-01").await;
    assert_eq!(nothing["sessions"], json!([]));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_query_is_refused_with_a_message() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let table = [
        ("limit=0", "limit must be 1 to 200"),
        ("limit=201", "limit must be 1 to 200"),
        ("limit=-1", "limit must be 1 to 200"),
        ("limit=many", "The parameter limit must be a whole number"),
        ("limit=1&limit=2", "The parameter limit is given twice"),
        (
            "tag=%00",
            "The parameter tag must not contain the NUL character",
        ),
        ("cursor=x", "cursor is not valid"),
        ("cursor=MTIz", "cursor is not valid"),
        ("cursor=LTEuYQ", "cursor is not valid"),
        (
            "project_id=team_0",
            "project_id must be team_N, personal_N or none",
        ),
        (
            "project_id=7",
            "project_id must be team_N, personal_N or none",
        ),
        (
            "status=done",
            "status must be of running, awaiting_submit, completed, partial, abandoned",
        ),
        (
            "status=running,",
            "status must be of running, awaiting_submit, completed, partial, abandoned",
        ),
        (
            "from=today",
            "from must be a date (YYYY-MM-DD) or an RFC 3339 time",
        ),
        (
            "to=2026-02-30",
            "to must be a date (YYYY-MM-DD) or an RFC 3339 time",
        ),
    ];
    for (query, sentence) in table {
        let refused = ada.get(&format!("/api/sessions?{query}")).await.expect(400);
        assert_eq!(refused.json(), json!({"error": sentence}), "{query}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sparse_filter_reads_at_most_10_000_sessions_and_returns_a_cursor() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let rare = |n: usize| n == 3 || n == 19_000;
    let sessions: Vec<PastSession> = (0..20_000)
        .map(|n| PastSession {
            category: if rare(n) { "rare" } else { "coding" }.to_owned(),
            ..PastSession::nth(n)
        })
        .collect();
    insert_sessions(&service, &sessions);
    execute(&service, "ANALYZE");
    let first = list(&ada, "category=rare").await;
    assert_eq!(numbers(&first), [19_000]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = list(&ada, &format!("category=rare&cursor={cursor}")).await;
    assert_eq!(numbers(&second), [3]);
    assert_eq!(second["next_cursor"], json!(null));
    let nothing = list(&ada, "category=none%20such").await;
    assert_eq!(nothing["sessions"], json!([]));
    assert!(nothing["next_cursor"].is_string(), "{nothing}");
    // A full page reads no further than it must.
    let full = list(&ada, "category=coding&limit=1").await;
    assert_eq!(numbers(&full), [19_999]);
    let cursor = full["next_cursor"].as_str().unwrap();
    let next = list(&ada, &format!("category=coding&limit=1&cursor={cursor}")).await;
    assert_eq!(numbers(&next), [19_998]);
    service.stop().await;
}
