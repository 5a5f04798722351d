//! Bounds of the project lists. What the contract says about projects is tested with the whole product.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::database::{count, execute};
use crate::service_fixture::Service;

const SENTENCE: &str = "There are too many projects already";

fn numbers(count: i64) -> String {
    format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})")
}

async fn length(caller: &Caller<'_>, path: &str, list: &str) -> usize {
    let reply = caller.get(path).await.expect(200).json();
    reply[list].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_at_most_2000_projects_even_if_many_are_created_at_once() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    execute(
        &service,
        &format!(
            "INSERT INTO projects (user_id, name, description, created_at, updated_at) {} \
             SELECT 7, 'p', '', '2026-01-01 00:00:00', '2026-01-01 00:00:00' FROM n; \
             UPDATE projects SET archived_at = '2026-01-01 00:00:00' WHERE id % 2 = 0",
            numbers(1_995)
        ),
    );
    let made =
        join_all((0..16).map(|n| ada.post("/api/projects", json!({"name": format!("{n}")})))).await;
    let mut statuses: Vec<u16> = made.iter().map(|reply| reply.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![201; 5], vec![409; 11]].concat());
    let refused = ada
        .post("/api/projects", json!({"name": "more"}))
        .await
        .expect(409);
    assert_eq!(refused.json(), json!({"error": SENTENCE}));
    assert_eq!(
        length(&ada, "/api/projects?archived=true", "projects").await,
        2_000
    );
    assert_eq!(length(&ada, "/api/projects", "projects").await, 1_003);
    // Each user has a limit of their own.
    let eve = Caller::outsider(&service, 8);
    eve.post("/api/projects", json!({"name": "hers"}))
        .await
        .expect(201);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_with_invisible_or_bidirectional_characters_are_refused_everywhere() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let own = json!({"name": "Engine"});
    let own = ada.post("/api/projects", own).await.expect(201).json();
    let own = format!("/api/projects/{}", own["project"]["id"]);
    let of_team = ada
        .team_project()
        .await
        .replace("team_", "/api/team-projects/");
    let session = ada.work("coding", 25).await;
    let session = format!("/api/sessions/{}", session["session_id"].as_str().unwrap());
    for name in [
        "Te\u{200B}am",
        "Te\u{AD}am",
        "\u{3164}",
        "\u{202E}maeT",
        "Te\u{200D}am",
        "\u{2800}",
        "\u{FEFF}Team",
        "Te\nam",
    ] {
        let refused = async |reply: test_kit::ApiResponse| {
            let error = reply.expect(400).json()["error"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(error.contains("be a single line without"), "{error}");
        };
        let named = json!({"name": name, "team_id": 3});
        let webhook = json!({"url": "https://hooks.example/x", "description": name});
        refused(ada.post("/api/projects", named.clone()).await).await;
        refused(ada.put(&own, named.clone()).await).await;
        refused(ada.post("/api/team-projects", named.clone()).await).await;
        refused(ada.put(&of_team, named.clone()).await).await;
        refused(ada.put(&of_team, json!({"chat_channel": name})).await).await;
        refused(ada.post("/api/webhooks", webhook).await).await;
        let start = json!({"category": name, "duration": 25});
        refused(ada.post("/api/session/start", start).await).await;
        let call = service
            .api
            .call("PATCH".parse().unwrap(), &session)
            .bearer(&ada.token);
        refused(call.json(json!({"tags": ["fine", name]})).send().await).await;
    }
    for name in ["❤\u{FE0F} Engine", "می\u{200C}خواهم", "👩\u{200D}💻"] {
        let named = json!({"name": name});
        let made = ada.post("/api/projects", named).await.expect(201).json();
        assert_eq!(made["project"]["name"], name);
        let start = json!({"category": name, "duration": 25});
        ada.post("/api/session/start", start).await.expect(201);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_has_at_most_2000_projects_even_if_many_are_created_at_once() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    ada.team_project().await;
    execute(
        &service,
        &format!(
            "INSERT INTO team_projects (team_id, team_name, name, description, chat_channel, is_public, created_at, \
              updated_at) {} SELECT 3, 'Engines', 'p', '', '', false, '2026-01-01 00:00:00', '2026-01-01 00:00:00' FROM n",
            numbers(1_994)
        ),
    );
    let body = |n: i32| json!({"team_id": 3, "name": n.to_string()});
    let made = join_all((0..16).map(|n| ada.post("/api/team-projects", body(n)))).await;
    let mut statuses: Vec<u16> = made.iter().map(|reply| reply.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![201; 5], vec![409; 11]].concat());
    let refused = ada.post("/api/team-projects", body(99)).await.expect(409);
    assert_eq!(refused.json(), json!({"error": SENTENCE}));
    assert_eq!(
        length(&ada, "/api/team-projects", "team_projects").await,
        2_000
    );
    assert_eq!(length(&ada, "/api/all-projects", "projects").await, 2_000);
    assert_eq!(
        count(&service, "SELECT COUNT(*) AS number FROM team_projects"),
        2_000
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_with_archived_projects_mark_them() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let (open, gone) = (ada.team_project().await, ada.team_project().await);
    let mine = ada
        .post("/api/projects", json!({"name": "Mine"}))
        .await
        .expect(201)
        .json();
    let mine = format!("/api/projects/{}", mine["project"]["id"]);
    let path = format!("/api/team-projects/{}", gone.trim_start_matches("team_"));
    for path in [&path, &mine] {
        service
            .api
            .delete(path)
            .bearer(&ada.token)
            .send()
            .await
            .expect(204);
    }
    let entries = |page: Value, list: &str| -> Vec<(Value, Value)> {
        let entries = page[list].as_array().unwrap().clone().into_iter();
        entries
            .map(|entry| {
                (
                    entry["id"].clone(),
                    entry.get("archived").cloned().unwrap_or_default(),
                )
            })
            .collect()
    };
    let read = async |path: &str, list: &str| entries(ada.get(path).await.expect(200).json(), list);
    let number = |reference: &str| {
        json!(
            reference
                .trim_start_matches("team_")
                .parse::<i64>()
                .unwrap()
        )
    };
    // Without archived projects, an entry has only the fields of the contract.
    assert_eq!(
        read("/api/team-projects", "team_projects").await,
        [(number(&open), json!(null))]
    );
    assert_eq!(
        read("/api/all-projects", "projects").await,
        [(json!(open), json!(null))]
    );
    assert_eq!(
        read("/api/team-projects?archived=true", "team_projects").await,
        [(number(&open), json!(false)), (number(&gone), json!(true))]
    );
    let all = read("/api/all-projects?archived=true", "projects").await;
    let archived: Vec<&Value> = all.iter().map(|entry| &entry.1).collect();
    assert_eq!(archived, [&json!(true), &json!(false), &json!(true)]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forbidden_team_project_change_is_403_before_body_validation() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let project = service.team_project().await;
    let path = format!("/api/team-projects/{project}");
    for body in ["{", "[]", "{\"name\": 7}", "{\"name\": \"\"}"] {
        let put = |token: &str| {
            let call = service.api.put(&path).bearer(token);
            call.body("application/json", body).send()
        };
        let refused = put("outsider-8").await.expect(403);
        assert_eq!(
            refused.json(),
            json!({"error": "Not authorized to change this team project"})
        );
        put("user-").await.expect(400);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_team_id_in_a_body_is_400_and_a_foreign_one_403() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    for odd in [
        json!(0),
        json!(-1),
        json!(1.0),
        json!("3"),
        json!("0042"),
        json!(9_223_372_036_854_775_808_u64),
        json!(true),
        json!([3]),
    ] {
        let body = json!({"team_id": odd, "name": "Beacon"});
        let refused = ada
            .post("/api/team-projects", body)
            .await
            .expect(400)
            .json();
        assert!(refused["error"].is_string(), "{odd}: {refused}");
    }
    let missing = ada
        .post("/api/team-projects", json!({"name": "Beacon"}))
        .await
        .expect(400);
    assert_eq!(missing.json(), json!({"error": "team_id is required"}));
    let foreign = ada
        .post(
            "/api/team-projects",
            json!({"team_id": 4, "name": "Beacon"}),
        )
        .await;
    let sentence = json!({"error": "Not authorized to change this team project"});
    assert_eq!(foreign.expect(403).json(), sentence);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_projects_are_listed_only_on_request() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let made = ada
        .post("/api/projects", json!({"name": "Mine"}))
        .await
        .expect(201)
        .json();
    let mine = made["project"]["id"].clone();
    let team = ada
        .team_project()
        .await
        .trim_start_matches("team_")
        .to_owned();
    let lists = [
        ("/api/projects", "projects", 1),
        ("/api/team-projects", "team_projects", 1),
        ("/api/all-projects", "projects", 2),
    ];
    let shown = async |query: &str| {
        let mut counts = Vec::new();
        for (path, field, _) in lists {
            let answer = ada.get(&format!("{path}{query}")).await.expect(200).json();
            assert_eq!(answer["success"], true);
            counts.push(answer[field].as_array().unwrap().len());
        }
        counts
    };
    let all: Vec<_> = lists.map(|list| list.2).into();
    assert_eq!(shown("").await, all);
    for path in [
        format!("/api/projects/{mine}"),
        format!("/api/team-projects/{team}"),
    ] {
        service
            .api
            .delete(&path)
            .bearer(&ada.token)
            .send()
            .await
            .expect(204);
    }
    assert_eq!(shown("").await, [0, 0, 0]);
    assert_eq!(shown("?archived=false").await, [0, 0, 0]);
    assert_eq!(shown("?archived=true").await, all);
    for (id, sentence) in [
        (format!("personal_{mine}"), "Project is archived"),
        (format!("team_{team}"), "Project is archived"),
    ] {
        let body = json!({"category": "coding", "duration": 25, "project_id": id});
        let refused = ada.post("/api/session/start", body).await.expect(409);
        assert_eq!(refused.json(), json!({"error": sentence}));
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn project_lists_are_limited_to_2000() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)";
    let at = "'2026-01-01 09:00:00', '2026-01-01 09:00:00'";
    execute(
        &service,
        &format!(
            "INSERT INTO projects (user_id, name, description, created_at, updated_at, seq) \
              {numbers} SELECT 7, 'one of many', '', {at}, 0 FROM n; \
             INSERT INTO team_projects (team_id, team_name, name, description, chat_channel, is_public, \
              created_at, updated_at) \
              {numbers} SELECT 3, 'Engines', 'one of many', '', '', false, {at} FROM n"
        ),
    );
    for (path, list, body) in [
        ("/api/projects", "projects", json!({"name": "Mine"})),
        (
            "/api/team-projects",
            "team_projects",
            json!({"team_id": 3, "name": "Ours"}),
        ),
    ] {
        ada.post(path, body.clone()).await.expect(201);
        let refused = ada.post(path, body).await.expect(409).json();
        assert_eq!(
            refused,
            json!({"error": "There are too many projects already"})
        );
        let all = ada
            .get(&format!("{path}?archived=true"))
            .await
            .expect(200)
            .json();
        assert_eq!(all[list].as_array().unwrap().len(), 2_000);
    }
    // Other users can still create projects.
    let bob = Caller::outsider(&service, 8);
    bob.post("/api/projects", json!({"name": "Mine"}))
        .await
        .expect(201);
    service.stop().await;
}
