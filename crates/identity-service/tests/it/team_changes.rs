//! The life of a team: changes, leaving, transfer and deletion, and who may do which.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{SignedIn, refused};
use crate::team_fixture::TeamFixture;

const CREW: &str = "/api/teams/crew";

fn slugs(list: &Value) -> Vec<&str> {
    let teams = list["teams"].as_array().unwrap();
    teams.iter().map(|t| t["slug"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn admins_change_name_and_description_and_only_the_owner_the_slug() {
    let fixture = TeamFixture::start().await;
    let change = async |by: &SignedIn, body: Value| fixture.put(by, CREW, body).await;
    let team = change(&fixture.admin, json!({ "name": "  Band " }))
        .await
        .expect(200)
        .json()["team"]
        .clone();
    assert_eq!(
        (&team["name"], &team["description"]),
        (&json!("Band"), &json!("we"))
    );
    assert_eq!(team["member_count"], 3);
    let team = change(
        &fixture.admin,
        json!({ "description": null, "name": null, "slug": null }),
    )
    .await
    .expect(200)
    .json()["team"]
        .clone();
    assert_eq!(
        (&team["name"], &team["description"]),
        (&json!("Band"), &Value::Null)
    );
    change(
        &fixture.admin,
        json!({ "slug": "crew", "description": "they" }),
    )
    .await
    .expect(200);
    for slug in ["band", "CREW", "admin", "no slug"] {
        let body = json!({ "slug": slug, "name": "" });
        refused(change(&fixture.admin, body).await, 403, "forbidden");
    }
    let body = json!({ "name": "", "slug": "no slug" });
    refused(change(&fixture.member, body).await, 403, "forbidden");
    let body = json!({ "name": "x" });
    refused(change(&fixture.stranger, body).await, 404, "team_not_found");

    change(&fixture.owner, json!({ "slug": "CREW" }))
        .await
        .expect(200);
    let team = change(
        &fixture.owner,
        json!({ "slug": "Band", "name": "The Band" }),
    )
    .await
    .expect(200)
    .json()["team"]
        .clone();
    assert_eq!(
        (&team["slug"], &team["name"]),
        (&json!("Band"), &json!("The Band"))
    );
    refused(
        fixture.get(&fixture.member, CREW).await,
        404,
        "team_not_found",
    );
    let detail = fixture
        .get(&fixture.member, "/api/teams/band")
        .await
        .expect(200);
    assert_eq!(detail.json()["team"], team);
    // The old slug is free.
    fixture.create(&fixture.stranger, "crew").await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_change_of_a_team_is_refused_and_changes_nothing() {
    let fixture = TeamFixture::start().await;
    fixture.create(&fixture.stranger, "Other").await.expect(201);
    let before = fixture.get(&fixture.owner, CREW).await.expect(200).json();
    for body in [
        json!({ "name": "" }),
        json!({ "name": " " }),
        json!({ "name": "x".repeat(101) }),
        json!({ "name": "a\u{7}b" }),
        json!({ "name": 1 }),
        json!({ "slug": "" }),
        json!({ "slug": "not fine" }),
        json!({ "slug": "settings" }),
        json!({ "slug": "x".repeat(65) }),
        json!({ "slug": 7 }),
        json!({ "description": "x".repeat(2_001) }),
        json!({ "description": ["x"] }),
        json!({ "name": "Good", "slug": "not fine" }),
    ] {
        let reply = fixture.put(&fixture.owner, CREW, body).await;
        refused(reply, 400, "validation_failed");
    }
    let body = json!({ "name": "Good", "slug": "oTHER" });
    refused(
        fixture.put(&fixture.owner, CREW, body).await,
        409,
        "slug_taken",
    );
    let after = fixture.get(&fixture.owner, CREW).await.expect(200).json();
    assert_eq!(before, after);
}

#[tokio::test(flavor = "multi_thread")]
async fn renaming_a_team_publishes_an_event_and_a_new_description_does_not() {
    let fixture = TeamFixture::start().await;
    let events = || fixture.identity.events("identity.team_changed.v1");
    let seen = async || {
        let path = "/api/auth/validate?include=teams";
        fixture.get(&fixture.member, path).await.expect(200).json()["teams"][0].clone()
    };
    assert_eq!(seen().await["name"], "The Crew");
    assert_eq!(events().len(), 1);
    let (audited, nothing) = (fixture.audit_end(), json!({}));
    for body in [
        nothing,
        json!({ "name": "The Crew", "slug": "crew", "description": "we" }),
    ] {
        fixture.put(&fixture.owner, CREW, body).await.expect(200);
    }
    assert!(fixture.audit_since(audited).is_empty());
    let body = json!({ "description": "they" });
    fixture.put(&fixture.owner, CREW, body).await.expect(200);
    assert_eq!(events().len(), 1);
    let body = json!({ "name": "Band", "slug": "band" });
    fixture.put(&fixture.owner, CREW, body).await.expect(200);
    let expected = json!({ "team": { "id": 1, "slug": "band", "name": "Band" }, "deleted": false });
    assert!(events().contains(&expected));
    let expected = json!({ "id": 1, "slug": "band", "name": "Band", "role": "member" });
    assert_eq!(seen().await, expected);
    let changed = format!("team.changed - {}", fixture.owner.id);
    assert_eq!(fixture.audit_since(audited), [changed.clone(), changed]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_team_is_gone_for_everybody_and_its_id_is_not_reused() {
    let fixture = TeamFixture::start().await;
    let (_, token) = fixture
        .invited(&fixture.owner, "new@example.com", None)
        .await;
    refused(fixture.delete(&fixture.admin, CREW).await, 403, "forbidden");
    refused(
        fixture.delete(&fixture.member, CREW).await,
        403,
        "forbidden",
    );
    refused(
        fixture.delete(&fixture.stranger, CREW).await,
        404,
        "team_not_found",
    );
    let told = fixture
        .identity
        .events("identity.membership_changed.v1")
        .len();
    let audited = fixture.audit_end();
    let reply = fixture
        .delete(&fixture.owner, "/api/teams/CREW")
        .await
        .expect(204);
    assert!(reply.body.is_empty());
    refused(
        fixture.delete(&fixture.owner, CREW).await,
        404,
        "team_not_found",
    );
    refused(
        fixture.get(&fixture.owner, CREW).await,
        404,
        "team_not_found",
    );
    refused(
        fixture.answer(&fixture.stranger, &token).await,
        404,
        "invitation_not_found",
    );
    for who in [&fixture.owner, &fixture.admin, &fixture.member] {
        let list = fixture.get(who, "/api/teams").await.expect(200).json();
        assert_eq!(list["teams"], json!([]));
        let path = "/api/auth/validate?include=teams";
        let seen = fixture.get(who, path).await.expect(200).json();
        assert_eq!(seen["teams"], json!([]));
    }
    // One event reports the end of all memberships.
    let team = json!({ "id": 1, "slug": "crew", "name": "The Crew" });
    let events = fixture.identity.events("identity.team_changed.v1");
    assert!(events.contains(&json!({ "team": team, "deleted": true })));
    let memberships = fixture.identity.events("identity.membership_changed.v1");
    assert_eq!(memberships.len(), told);
    let id = fixture.owner.id;
    assert_eq!(
        fixture.audit_since(audited),
        [format!("team.deleted {id} {id}")]
    );
    let again = fixture
        .create(&fixture.stranger, "crew")
        .await
        .expect(201)
        .json();
    assert_eq!(again["team"]["id"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_can_leave_a_team_but_its_owner() {
    let fixture = TeamFixture::start().await;
    let leave = async |by: &SignedIn| {
        let call = fixture.identity.api.post("/api/teams/Crew/leave");
        call.bearer(&by.access).send().await
    };
    refused(leave(&fixture.owner).await, 409, "last_owner");
    refused(leave(&fixture.stranger).await, 404, "team_not_found");
    let audited = fixture.audit_end();
    for who in [&fixture.member, &fixture.admin] {
        let reply = leave(who).await.expect(204);
        assert!(reply.body.is_empty());
        refused(leave(who).await, 404, "team_not_found");
        refused(fixture.get(who, CREW).await, 404, "team_not_found");
        assert!(fixture.is_told(who, None));
    }
    let (mia, adam) = (fixture.member.id, fixture.admin.id);
    assert_eq!(
        fixture.audit_since(audited),
        [
            format!("team.member_removed {mia} {mia}"),
            format!("team.member_removed {adam} {adam}")
        ]
    );
    refused(leave(&fixture.owner).await, 409, "last_owner");
    let call = fixture.identity.api.post("/api/teams/crew/leave");
    refused(call.send().await, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_membership_change_is_published_and_audited() {
    let fixture = TeamFixture::start().await;
    let audited = fixture.audit_end();
    fixture
        .add(&fixture.admin, "sam", Some("admin"))
        .await
        .expect(201);
    fixture
        .set_role(&fixture.admin, "sam", "member")
        .await
        .expect(200);
    fixture
        .set_role(&fixture.admin, "sam", "member")
        .await
        .expect(200);
    fixture
        .set_role(&fixture.owner, "olga", "owner")
        .await
        .expect(200);
    fixture
        .set_role(&fixture.owner, "adam", "owner")
        .await
        .expect(200);
    fixture.remove(&fixture.admin, "sam").await.expect(204);
    let (olga, adam, sam) = (fixture.owner.id, fixture.admin.id, fixture.stranger.id);
    assert_eq!(
        fixture.audit_since(audited),
        [
            format!("team.member_added {sam} {adam}"),
            format!("team.role_changed {sam} {adam}"),
            format!("team.handed_over {adam} {olga}"),
            format!("team.member_removed {sam} {adam}"),
        ]
    );
    let events = fixture.identity.events("identity.membership_changed.v1");
    let mut events: Vec<_> = events
        .iter()
        .map(|event| (event["user_id"].as_i64().unwrap(), event["role"].as_str()))
        .collect();
    let mut expected = vec![
        (olga, Some("owner")),
        (adam, Some("admin")),
        (fixture.member.id, Some("member")),
        (sam, Some("admin")),
        (sam, Some("member")),
        (olga, Some("admin")),
        (adam, Some("owner")),
        (sam, None),
    ];
    events.sort_unstable();
    expected.sort_unstable();
    assert_eq!(events, expected);
}

/// The status that each endpoint returns to the owner, an admin, a member, and an account outside of the team.
/// `NAME` differs for each caller, so that their calls do not affect each other.
const GUARDS: [(&str, &str, &str, [u16; 4]); 14] = [
    ("GET", "crew", "", [200, 200, 200, 404]),
    ("PUT", "crew", r#"{"name":"NAME"}"#, [200, 200, 403, 404]),
    ("PUT", "crew", r#"{"slug":"Crew"}"#, [200, 403, 403, 404]),
    ("GET", "crew/members", "", [200, 200, 200, 404]),
    (
        "POST",
        "crew/members",
        r#"{"username":"new-NAME"}"#,
        [201, 201, 403, 404],
    ),
    (
        "PUT",
        "crew/members/new-NAME",
        r#"{"role":"admin"}"#,
        [200, 200, 403, 404],
    ),
    (
        "PUT",
        "crew/members/olga",
        r#"{"role":"member"}"#,
        [409, 403, 403, 404],
    ),
    ("DELETE", "crew/members/new-NAME", "", [204, 204, 403, 404]),
    ("DELETE", "crew/members/olga", "", [409, 403, 403, 404]),
    (
        "POST",
        "crew/invite",
        r#"{"email":"NAME@example.com"}"#,
        [200, 200, 403, 404],
    ),
    ("GET", "crew/invitations", "", [200, 200, 403, 404]),
    (
        "DELETE",
        "crew/invitations/0198f0a2-5c1e-7cc0-8a3b-1f2e3d4c5b6a",
        "",
        [404, 404, 403, 404],
    ),
    ("POST", "crew/leave", "", [409, 204, 204, 404]),
    ("DELETE", "crew", "", [204, 403, 403, 404]),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_team_endpoint_answers_each_role_as_in_the_table() {
    let fixture = TeamFixture::start().await;
    for name in ["new-owner", "new-admin", "new-member", "new-stranger"] {
        fixture.identity.register(name).await;
    }
    let callers = [
        ("owner", &fixture.owner),
        ("admin", &fixture.admin),
        ("member", &fixture.member),
        ("stranger", &fixture.stranger),
    ];
    for (verb, path, body, statuses) in GUARDS {
        let method = Method::from_bytes(verb.as_bytes()).unwrap();
        let call = |name: &str| {
            let path = format!("/api/teams/{}", path.replace("NAME", name));
            let call = fixture.identity.api.call(method.clone(), &path);
            match body {
                "" => call,
                body => call.body("application/json", body.replace("NAME", name)),
            }
        };
        refused(call("owner").send().await, 401, "authentication_required");
        // The least powerful caller goes first, because a refused call changes nothing.
        for ((name, who), status) in callers.iter().zip(statuses).rev() {
            let reply = call(name).bearer(&who.access).send().await;
            assert_eq!(
                reply.status,
                status,
                "{verb} {path} {name}: {}",
                reply.text()
            );
        }
        if path == "crew/leave" {
            for who in [&fixture.admin, &fixture.member] {
                let (_, token) = fixture
                    .invited(&fixture.owner, "back@example.com", None)
                    .await;
                fixture.answer(who, &token).await.expect(200);
            }
            fixture
                .set_role(&fixture.owner, "adam", "admin")
                .await
                .expect(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_and_a_concurrent_removal_of_the_new_owner_cannot_both_succeed() {
    let fixture = TeamFixture::start().await;
    for _ in 0..6 {
        let (hand_over, removal) = tokio::join!(
            fixture.set_role(&fixture.owner, "mia", "owner"),
            fixture.remove(&fixture.admin, "mia")
        );
        match (hand_over.status, removal.status) {
            (200, 403) => {
                let back = fixture.set_role(&fixture.member, "olga", "owner").await;
                back.expect(200);
            }
            (404, 204) => {
                fixture.add(&fixture.owner, "mia", None).await.expect(201);
            }
            both => panic!("{both:?}"),
        }
        assert_eq!(fixture.role_of("Olga").await.as_deref(), Some("owner"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrently_deleted_team_gains_no_member() {
    let fixture = TeamFixture::start().await;
    for _ in 0..4 {
        let (deleted, added) = tokio::join!(
            fixture.delete(&fixture.owner, CREW),
            fixture.add(&fixture.admin, "sam", None)
        );
        deleted.expect(204);
        assert!(matches!(added.status, 201 | 404), "{}", added.text());
        let list = fixture.get(&fixture.stranger, "/api/teams").await.json();
        assert_eq!(list["teams"], json!([]));
        fixture.create(&fixture.owner, "crew").await.expect(201);
        fixture
            .add(&fixture.owner, "adam", Some("admin"))
            .await
            .expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_teams_that_request_each_others_slugs_are_both_refused() {
    let fixture = TeamFixture::start().await;
    fixture.create(&fixture.stranger, "band").await.expect(201);
    let (one, other) = tokio::join!(
        fixture.put(&fixture.owner, CREW, json!({ "slug": "band" })),
        fixture.put(
            &fixture.stranger,
            "/api/teams/band",
            json!({ "slug": "crew" })
        )
    );
    for reply in [one, other] {
        assert!(matches!(reply.status, 409 | 503), "{}", reply.text());
    }
    fixture.get(&fixture.owner, CREW).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_of_a_team_get_no_server_error_and_leave_one_owner() {
    let fixture = TeamFixture::start().await;
    let (_, token) = fixture
        .invited(&fixture.owner, "sam@example.com", None)
        .await;
    let accept = format!("/api/invitations/{token}");
    let calls = [
        (
            "POST",
            "/api/teams/crew/members",
            json!({ "username": "sam", "role": "admin" }),
        ),
        (
            "PUT",
            "/api/teams/crew/members/adam",
            json!({ "role": "owner" }),
        ),
        (
            "PUT",
            "/api/teams/crew/members/mia",
            json!({ "role": "owner" }),
        ),
        (
            "PUT",
            "/api/teams/crew/members/olga",
            json!({ "role": "admin" }),
        ),
        ("DELETE", "/api/teams/crew/members/sam", json!({})),
        ("POST", "/api/teams/crew/leave", json!({})),
        (
            "POST",
            "/api/teams/crew/invite",
            json!({ "email": "sam@example.com" }),
        ),
        ("POST", &accept, json!({})),
        (
            "POST",
            "/api/teams",
            json!({ "name": "Crew", "slug": "crew" }),
        ),
        ("PUT", "/api/teams/crew", json!({ "slug": "Crew" })),
    ];
    let everybody = [
        &fixture.owner,
        &fixture.admin,
        &fixture.member,
        &fixture.stranger,
    ];
    let mut answers = Vec::new();
    for (verb, path, body) in &calls {
        for who in everybody {
            let method = Method::from_bytes(verb.as_bytes()).unwrap();
            let call = fixture.identity.api.call(method, path).bearer(&who.access);
            let call = call.json(body.clone());
            answers.push(tokio::spawn(async move { call.send().await }));
        }
    }
    for answer in answers {
        let reply = answer.await.unwrap();
        assert!(reply.status < 500, "{}: {}", reply.call, reply.text());
    }
    let owners = "SELECT count(*) AS n FROM teams JOIN team_members m ON m.team_id = teams.id AND m.user_id = owner_id";
    assert_eq!(fixture.identity.count(owners), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_can_own_only_a_limited_number_of_teams() {
    let fixture = TeamFixture::start_with(|config| config.teams.max_owned = 3).await;
    let creations: Vec<_> = (0..6)
        .map(|n| {
            let (api, token) = (fixture.identity.api.clone(), fixture.owner.access.clone());
            let body = json!({ "name": "One more", "slug": format!("more-{n}") });
            let call = api.post("/api/teams").bearer(&token).json(body);
            tokio::spawn(async move { call.send().await })
        })
        .collect();
    let mut made = 0;
    for creation in creations {
        let reply = creation.await.unwrap();
        match reply.status {
            201 => made += 1,
            _ => drop(refused(reply, 400, "validation_failed")),
        }
    }
    assert_eq!(made, 2);
    // No team can be transferred to it either.
    fixture.create(&fixture.stranger, "sams").await.expect(201);
    let add = json!({ "username": "olga" });
    fixture
        .post(&fixture.stranger, "/api/teams/sams/members", add)
        .await
        .expect(201);
    let path = "/api/teams/sams/members/olga";
    let reply = fixture
        .put(&fixture.stranger, path, json!({ "role": "owner" }))
        .await;
    refused(reply, 400, "validation_failed");
    let detail = fixture
        .get(&fixture.stranger, "/api/teams/sams")
        .await
        .json();
    assert_eq!(detail["my_role"], "owner");
    // Deleting a team makes room.
    fixture.delete(&fixture.owner, CREW).await.expect(204);
    let reply = fixture
        .put(&fixture.stranger, path, json!({ "role": "owner" }))
        .await;
    reply.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_can_join_only_a_limited_number_of_teams_besides_its_own() {
    let fixture = TeamFixture::start_with(|config| config.teams.max_joined = 2).await;
    fixture.create(&fixture.owner, "second").await.expect(201);
    fixture.create(&fixture.admin, "third").await.expect(201);
    let add = async |by: &SignedIn, slug: &str| {
        let path = format!("/api/teams/{slug}/members");
        fixture.post(by, &path, json!({ "username": "mia" })).await
    };
    add(&fixture.owner, "second").await.expect(201);
    refused(add(&fixture.admin, "third").await, 400, "validation_failed");
    // Teams that it owns do not count, and come first in every list.
    fixture.create(&fixture.member, "mine").await.expect(201);
    let list = fixture.get(&fixture.member, "/api/teams").await.json();
    assert_eq!(slugs(&list), ["mine", "crew", "second"]);
    let path = "/api/auth/validate?include=teams";
    let validated = fixture.get(&fixture.member, path).await.json();
    assert_eq!(slugs(&validated), ["mine", "crew", "second"]);
    // Transferring its own team would make it a joined one.
    let own = json!({ "username": "sam" });
    fixture
        .post(&fixture.member, "/api/teams/mine/members", own)
        .await
        .expect(201);
    let path = "/api/teams/mine/members/sam";
    let reply = fixture
        .put(&fixture.member, path, json!({ "role": "owner" }))
        .await;
    refused(reply, 400, "validation_failed");
    fixture
        .delete(&fixture.member, "/api/teams/second/members/mia")
        .await
        .expect(204);
    add(&fixture.admin, "third").await.expect(201);
}
