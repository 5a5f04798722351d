//! Personal and team projects, and the chat of a team project.

use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::harness::{System, Team, User, plan};

async fn get(system: &System, user: &User, path: &str) -> ApiResponse {
    system.work.get(path).bearer(&user.token).send().await
}

async fn send(system: &System, user: &User, method: &str, path: &str, body: Value) -> ApiResponse {
    system
        .work
        .call(method.parse().unwrap(), path)
        .bearer(&user.token)
        .json(body)
        .send()
        .await
}

/// Creates a team; returns it with its owner, an admin, a member and a stranger.
async fn team_of_three(system: &System) -> (Team, [User; 4]) {
    let users = [
        system.register_user("owner").await,
        system.register_user("admin").await,
        system.register_user("member").await,
        system.register_user("stranger").await,
    ];
    let team = system.team_with_project(&users[0], "engines").await;
    for (user, role) in [(&users[1], "admin"), (&users[2], "member")] {
        let body = json!({"username": user.name, "role": role});
        let path = format!("/api/teams/{}/members", team.slug);
        let call = system
            .identity
            .post(&path)
            .bearer(&users[0].token)
            .json(body);
        call.send().await.expect(201);
    }
    (team, users)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_personal_project_is_created_shown_changed_and_archived() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let body = json!({"name": "  Thesis ", "description": "Chapter 1\nChapter 2", "id": 99, "archived": true});
    let made = send(&system, &ada, "POST", "/api/projects", body)
        .await
        .expect(201)
        .json();
    let id = made["project"]["id"].as_i64().unwrap();
    let project = json!({
        "id": id, "name": "Thesis", "description": "Chapter 1\nChapter 2", "type": "personal",
        "archived": false, "created_at": "2026-11-23T09:00:00Z",
    });
    assert_eq!(made, json!({"success": true, "project": project}));
    let path = format!("/api/projects/{id}");
    assert_eq!(get(&system, &ada, &path).await.expect(200).json(), made);
    let all = get(&system, &ada, "/api/projects").await.expect(200).json();
    assert_eq!(all, json!({"success": true, "projects": [project]}));

    let changed = send(&system, &ada, "PUT", &path, json!({"name": "Dissertation"})).await;
    let changed = changed.expect(200).json();
    assert_eq!(changed["project"]["name"], "Dissertation");
    assert_eq!(changed["project"]["description"], "Chapter 1\nChapter 2");
    assert_eq!(
        send(&system, &ada, "PUT", &path, json!({}))
            .await
            .expect(200)
            .json(),
        changed
    );

    for _ in 0..2 {
        let gone = system
            .work
            .delete(&path)
            .bearer(&ada.token)
            .send()
            .await
            .expect(204);
        assert!(gone.body.is_empty());
    }
    assert_eq!(
        get(&system, &ada, "/api/projects").await.json()["projects"],
        json!([])
    );
    let with = get(&system, &ada, "/api/projects?archived=true")
        .await
        .expect(200)
        .json();
    assert_eq!(with["projects"][0]["archived"], true);
    assert_eq!(
        get(&system, &ada, &path).await.expect(200).json()["project"]["archived"],
        true
    );
    assert_eq!(
        get(&system, &ada, "/api/all-projects").await.json()["projects"],
        json!([])
    );
    let refused = system
        .start_session(&ada, plan(&format!("personal_{id}")))
        .await
        .expect(409);
    assert_eq!(refused.json(), json!({"error": "Project is archived"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_personal_project_of_another_user_is_not_found() {
    let system = System::start().await;
    let (ada, bob) = (
        system.register_user("ada").await,
        system.register_user("bob").await,
    );
    let id = system.personal_project(&ada, "Secret plans").await;
    for path in [
        format!("/api/projects/{id}"),
        "/api/projects/424242".to_owned(),
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let missing = send(&system, &bob, method, &path, json!({"name": "Mine"}))
                .await
                .expect(404);
            assert_eq!(
                missing.json(),
                json!({"error": "Project not found"}),
                "{method}"
            );
        }
    }
    let missing = system
        .start_session(&bob, plan(&format!("personal_{id}")))
        .await
        .expect(404);
    assert_eq!(missing.json(), json!({"error": "Project not found"}));
    assert_eq!(
        get(&system, &bob, "/api/projects").await.json()["projects"],
        json!([])
    );
    let path = format!("/api/projects/{id}");
    assert_eq!(
        get(&system, &ada, &path).await.json()["project"]["name"],
        "Secret plans"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_project_is_refused_with_a_message() {
    let system = System::start().await;
    let (team, [owner, ..]) = team_of_three(&system).await;
    let mine = system.personal_project(&owner, "Mine").await;
    let personal = format!("/api/projects/{mine}");
    let of_team = format!("/api/team-projects/{}", team.project);
    let long = "x".repeat(101);
    let essay = "x".repeat(2_001);
    for bad in [
        json!({"name": ""}),
        json!({"name": "  "}),
        json!({"name": long}),
        json!({"name": "a\nb"}),
        json!({"name": "a\u{0}b"}),
        json!({"name": 7}),
        json!({"name": ["x"]}),
        json!({"name": "x", "description": essay}),
        json!({"name": "x", "description": {}}),
    ] {
        let mut new = bad.clone();
        new["team_id"] = json!(team.id);
        for (method, path, body) in [
            ("POST", "/api/projects", &bad),
            ("PUT", &personal, &bad),
            ("POST", "/api/team-projects", &new),
            ("PUT", &of_team, &bad),
        ] {
            let refused = send(&system, &owner, method, path, body.clone())
                .await
                .expect(400)
                .json();
            assert!(
                refused["error"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{refused}"
            );
            assert_eq!(refused.as_object().unwrap().len(), 1, "{refused}");
        }
    }
    for (path, body) in [
        ("/api/projects", json!({})),
        ("/api/projects", json!([])),
        ("/api/projects", json!("x")),
        ("/api/team-projects", json!({"team_id": team.id})),
        ("/api/team-projects", json!({"name": "x"})),
        ("/api/team-projects", json!({"name": "x", "team_id": 0})),
        ("/api/team-projects", json!({"name": "x", "team_id": "1"})),
        ("/api/team-projects", json!({"name": "x", "team_id": -1})),
        ("/api/team-projects", json!({"name": "x", "team_id": 1.5})),
        (
            "/api/team-projects",
            json!({"name": "x", "team_id": team.id, "is_public": "yes"}),
        ),
        (
            "/api/team-projects",
            json!({"name": "x", "team_id": team.id, "chat_channel": "a\nb"}),
        ),
        (
            "/api/team-projects",
            json!({"name": "x", "team_id": team.id, "chat_channel": long}),
        ),
    ] {
        send(&system, &owner, "POST", path, body).await.expect(400);
    }
    assert_eq!(
        get(&system, &owner, "/api/team-projects").await.json()["team_projects"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn team_project_responses_match_the_contract_exactly() {
    let system = System::start().await;
    let (team, [owner, _, member, stranger]) = team_of_three(&system).await;
    let detail = json!({
        "id": team.project, "name": "Beacon", "description": "", "team_name": "Team engines",
        "team_id": team.id, "is_public": false, "chat_channel": "#focus", "archived": false,
        "created_at": "2026-11-23T09:00:00Z",
    });
    let path = format!("/api/team-projects/{}", team.project);
    assert_eq!(
        get(&system, &member, &path).await.expect(200).json(),
        detail
    );
    let summary = json!({
        "id": team.project, "name": "Beacon", "team_name": "Team engines", "team_id": team.id,
    });
    let all = get(&system, &member, "/api/team-projects")
        .await
        .expect(200)
        .json();
    assert_eq!(all, json!({"success": true, "team_projects": [summary]}));

    let none = get(&system, &stranger, "/api/team-projects")
        .await
        .expect(200)
        .json();
    assert_eq!(none, json!({"success": true, "team_projects": []}));
    let refused = get(&system, &stranger, &path).await.expect(403);
    assert_eq!(
        refused.json(),
        json!({"error": "Not authorized to access this team project"})
    );
    for id in ["424242", "0", "x"] {
        let missing = get(&system, &owner, &format!("/api/team-projects/{id}"))
            .await
            .expect(404);
        assert_eq!(missing.json(), json!({"error": "Team project not found"}));
    }

    let mine = system.personal_project(&member, "Mine").await;
    let all = get(&system, &member, "/api/all-projects")
        .await
        .expect(200)
        .json();
    let personal = json!({
        "id": format!("personal_{mine}"), "name": "Mine", "type": "personal",
        "team_id": null, "team_name": null,
    });
    let of_team = json!({
        "id": format!("team_{}", team.project), "name": "Beacon", "type": "team",
        "team_id": team.id, "team_name": "Team engines",
    });
    assert_eq!(
        all,
        json!({"success": true, "projects": [personal, of_team]})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_owners_and_admins_change_team_projects() {
    let system = System::start().await;
    let (team, [owner, admin, member, stranger]) = team_of_three(&system).await;
    let path = format!("/api/team-projects/{}", team.project);
    let refusal = json!({"error": "Not authorized to change this team project"});
    for user in [&member, &stranger] {
        // Permission is checked before the body, whatever that is.
        for name in ["Taken over", ""] {
            let new = json!({"team_id": team.id, "name": name});
            for (method, path, body) in [
                ("POST", "/api/team-projects", new),
                ("PUT", &path, json!({"name": name})),
                ("DELETE", &path, json!({})),
            ] {
                let refused = send(&system, user, method, path, body).await.expect(403);
                assert_eq!(refused.json(), refusal, "{method} by {}", user.name);
            }
        }
    }
    for user in [&owner, &admin] {
        let body = json!({"name": user.name, "is_public": false, "team_id": 99});
        let changed = send(&system, user, "PUT", &path, body)
            .await
            .expect(200)
            .json();
        assert_eq!(
            (&changed["name"], &changed["team_id"]),
            (&json!(user.name), &json!(team.id))
        );
        assert_eq!(changed["chat_channel"], "#focus", "what is absent stays");
    }
    let missing = send(
        &system,
        &owner,
        "PUT",
        "/api/team-projects/424242",
        json!({}),
    )
    .await
    .expect(404);
    assert_eq!(missing.json(), json!({"error": "Team project not found"}));

    system
        .work
        .delete(&path)
        .bearer(&admin.token)
        .send()
        .await
        .expect(204);
    assert_eq!(
        get(&system, &owner, "/api/team-projects").await.json()["team_projects"],
        json!([])
    );
    let with = get(&system, &owner, "/api/team-projects?archived=true")
        .await
        .json();
    assert_eq!(with["team_projects"].as_array().unwrap().len(), 1);
    assert_eq!(
        get(&system, &member, &path).await.expect(200).json()["archived"],
        true
    );
    let refused = system
        .start_session(&member, plan(&team.project_id()))
        .await
        .expect(409);
    assert_eq!(refused.json(), json!({"error": "Project is archived"}));
    let refused = system
        .start_session(&stranger, plan(&team.project_id()))
        .await
        .expect(403);
    assert_eq!(
        refused.json(),
        json!({"error": "Not authorized to access this team project"})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_reads_a_public_project_and_only_members_start_on_it() {
    let system = System::start().await;
    let (team, [owner, _, member, stranger]) = team_of_three(&system).await;
    let path = format!("/api/team-projects/{}", team.project);
    send(&system, &owner, "PUT", &path, json!({"is_public": true}))
        .await
        .expect(200);
    let read = get(&system, &stranger, &path).await.expect(200).json();
    assert_eq!(
        (&read["is_public"], &read["team_name"]),
        (&json!(true), &json!("Team engines"))
    );
    assert_eq!(
        get(&system, &stranger, "/api/team-projects").await.json()["team_projects"],
        json!([])
    );
    assert_eq!(
        get(&system, &stranger, "/api/all-projects").await.json()["projects"],
        json!([])
    );
    system
        .start_session(&stranger, plan(&team.project_id()))
        .await
        .expect(403);
    system
        .start_session(&member, plan(&team.project_id()))
        .await
        .expect(201);
    // Its chat is for members only.
    get(&system, &stranger, &format!("{path}/chat"))
        .await
        .expect(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_an_unknown_project_says_which_kind_is_missing() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    for (reference, sentence) in [
        ("team_424242", "Team project not found"),
        ("personal_424242", "Project not found"),
        ("team_0", "Project not found"),
        ("team_", "Project not found"),
        ("team_01", "Project not found"),
        ("personal_1e3", "Project not found"),
        ("Team_1", "Project not found"),
        ("42", "Project not found"),
        ("null", "Project not found"),
    ] {
        let missing = system
            .start_session(&ada, plan(reference))
            .await
            .expect(404);
        assert_eq!(missing.json(), json!({"error": sentence}), "{reference}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projects_chat_is_set_by_managers_seen_by_members_and_its_address_by_nobody() {
    let system = System::start().await;
    let (team, [owner, admin, member, stranger]) = team_of_three(&system).await;
    let path = format!("/api/team-projects/{}/chat", team.project);
    let state = |provider: Value, status: &str, by: Option<i64>| {
        let announce = if provider.is_null() {
            json!([])
        } else {
            json!(["planned", "finished"])
        };
        let chat = json!({
            "provider": provider, "channel": "#focus", "status": status, "reason": null, "announce": announce,
            "created_by": by, "client_id": null,
            "last_test": null
        });
        json!({"success": true, "chat": chat})
    };
    let off = state(Value::Null, "off", None);
    let on = |by: &User| state(json!("slack"), "active", Some(by.id));
    assert_eq!(get(&system, &member, &path).await.expect(200).json(), off);
    let hook = json!({"provider": "slack", "webhook_url": system.chat.hook("secret-hook")});
    for user in [&member, &stranger] {
        for method in ["PUT", "DELETE"] {
            let refused = send(&system, user, method, &path, hook.clone())
                .await
                .expect(403);
            let sentence = json!({"error": "Not authorized to change this team project"});
            assert_eq!(refused.json(), sentence, "{method} by {}", user.name);
        }
    }
    let refused = get(&system, &stranger, &path).await.expect(403);
    assert_eq!(
        refused.json(),
        json!({"error": "Not authorized to access this team project"})
    );
    let missing = get(&system, &owner, "/api/team-projects/424242/chat")
        .await
        .expect(404);
    assert_eq!(missing.json(), json!({"error": "Team project not found"}));

    for user in [&owner, &admin] {
        let set = send(&system, user, "PUT", &path, hook.clone())
            .await
            .expect(200);
        assert_eq!(set.json(), on(user));
        assert!(!set.text().contains("secret-hook"));
    }
    let on = on(&admin);
    assert_eq!(get(&system, &member, &path).await.expect(200).json(), on);
    for bad in [
        json!({}),
        json!({"provider": "slack"}),
        json!({"webhook_url": "https://chat.example/x"}),
        json!({"provider": "carrier-pigeon", "webhook_url": "https://chat.example/x"}),
        json!({"provider": "slack", "webhook_url": "ftp://chat.example/x"}),
        json!({"provider": "slack", "webhook_url": "no address"}),
        json!({"provider": "slack", "webhook_url": 7}),
        json!({"provider": "slack", "webhook_url": "https://u:p@chat.example/x"}),
    ] {
        send(&system, &owner, "PUT", &path, bad).await.expect(400);
    }
    assert_eq!(
        get(&system, &member, &path).await.json(),
        on,
        "a refused change changes nothing"
    );
    for _ in 0..2 {
        system
            .work
            .delete(&path)
            .bearer(&owner.token)
            .send()
            .await
            .expect(204);
        assert_eq!(get(&system, &member, &path).await.expect(200).json(), off);
    }
}
