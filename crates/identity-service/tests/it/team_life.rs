//! The life of a team: changes, leaving, transfer and deletion, and who may do which.

use reqwest::Method;
use serde_json::{Value, json};

use crate::cast::Cast;
use crate::support::{SignedIn, refused};

const CREW: &str = "/api/teams/crew";

fn slugs(list: &Value) -> Vec<&str> {
    let teams = list["teams"].as_array().unwrap();
    teams.iter().map(|t| t["slug"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn admins_change_name_and_description_and_only_the_owner_the_slug() {
    let cast = Cast::assemble().await;
    let change = async |by: &SignedIn, body: Value| cast.put(by, CREW, body).await;
    let team = change(&cast.admin, json!({ "name": "  Band " }))
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
        &cast.admin,
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
        &cast.admin,
        json!({ "slug": "crew", "description": "they" }),
    )
    .await
    .expect(200);
    for slug in ["band", "CREW", "admin", "no slug"] {
        let body = json!({ "slug": slug, "name": "" });
        refused(change(&cast.admin, body).await, 403, "forbidden");
    }
    let body = json!({ "name": "", "slug": "no slug" });
    refused(change(&cast.member, body).await, 403, "forbidden");
    let body = json!({ "name": "x" });
    refused(change(&cast.stranger, body).await, 404, "team_not_found");

    change(&cast.owner, json!({ "slug": "CREW" }))
        .await
        .expect(200);
    let team = change(&cast.owner, json!({ "slug": "Band", "name": "The Band" }))
        .await
        .expect(200)
        .json()["team"]
        .clone();
    assert_eq!(
        (&team["slug"], &team["name"]),
        (&json!("Band"), &json!("The Band"))
    );
    refused(cast.get(&cast.member, CREW).await, 404, "team_not_found");
    let detail = cast.get(&cast.member, "/api/teams/band").await.expect(200);
    assert_eq!(detail.json()["team"], team);
    // The old slug is free.
    cast.create(&cast.stranger, "crew").await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_change_of_a_team_is_refused_and_changes_nothing() {
    let cast = Cast::assemble().await;
    cast.create(&cast.stranger, "Other").await.expect(201);
    let before = cast.get(&cast.owner, CREW).await.expect(200).json();
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
        let reply = cast.put(&cast.owner, CREW, body).await;
        refused(reply, 400, "validation_failed");
    }
    let body = json!({ "name": "Good", "slug": "oTHER" });
    refused(cast.put(&cast.owner, CREW, body).await, 409, "slug_taken");
    let after = cast.get(&cast.owner, CREW).await.expect(200).json();
    assert_eq!(before, after);
}

#[tokio::test(flavor = "multi_thread")]
async fn renaming_a_team_publishes_an_event_and_a_new_description_does_not() {
    let cast = Cast::assemble().await;
    let events = || cast.identity.events("identity.team_changed.v1");
    let seen = async || {
        let path = "/api/auth/validate?include=teams";
        cast.get(&cast.member, path).await.expect(200).json()["teams"][0].clone()
    };
    assert_eq!(seen().await["name"], "The Crew");
    assert_eq!(events().len(), 1);
    let (audited, nothing) = (cast.audit_end(), json!({}));
    for body in [
        nothing,
        json!({ "name": "The Crew", "slug": "crew", "description": "we" }),
    ] {
        cast.put(&cast.owner, CREW, body).await.expect(200);
    }
    assert!(cast.audit_since(audited).is_empty());
    let body = json!({ "description": "they" });
    cast.put(&cast.owner, CREW, body).await.expect(200);
    assert_eq!(events().len(), 1);
    let body = json!({ "name": "Band", "slug": "band" });
    cast.put(&cast.owner, CREW, body).await.expect(200);
    let expected = json!({ "team": { "id": 1, "slug": "band", "name": "Band" }, "deleted": false });
    assert!(events().contains(&expected));
    let expected = json!({ "id": 1, "slug": "band", "name": "Band", "role": "member" });
    assert_eq!(seen().await, expected);
    let changed = format!("team.changed - {}", cast.owner.id);
    assert_eq!(cast.audit_since(audited), [changed.clone(), changed]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_team_is_gone_for_everybody_and_its_id_is_not_reused() {
    let cast = Cast::assemble().await;
    let (_, token) = cast.invited(&cast.owner, "new@example.com", None).await;
    refused(cast.delete(&cast.admin, CREW).await, 403, "forbidden");
    refused(cast.delete(&cast.member, CREW).await, 403, "forbidden");
    refused(
        cast.delete(&cast.stranger, CREW).await,
        404,
        "team_not_found",
    );
    let told = cast.identity.events("identity.membership_changed.v1").len();
    let audited = cast.audit_end();
    let reply = cast
        .delete(&cast.owner, "/api/teams/CREW")
        .await
        .expect(204);
    assert!(reply.body.is_empty());
    refused(cast.delete(&cast.owner, CREW).await, 404, "team_not_found");
    refused(cast.get(&cast.owner, CREW).await, 404, "team_not_found");
    refused(
        cast.answer(&cast.stranger, &token).await,
        404,
        "invitation_not_found",
    );
    for who in [&cast.owner, &cast.admin, &cast.member] {
        let list = cast.get(who, "/api/teams").await.expect(200).json();
        assert_eq!(list["teams"], json!([]));
        let path = "/api/auth/validate?include=teams";
        let seen = cast.get(who, path).await.expect(200).json();
        assert_eq!(seen["teams"], json!([]));
    }
    // One event reports the end of all memberships.
    let team = json!({ "id": 1, "slug": "crew", "name": "The Crew" });
    let events = cast.identity.events("identity.team_changed.v1");
    assert!(events.contains(&json!({ "team": team, "deleted": true })));
    let memberships = cast.identity.events("identity.membership_changed.v1");
    assert_eq!(memberships.len(), told);
    let id = cast.owner.id;
    assert_eq!(
        cast.audit_since(audited),
        [format!("team.deleted {id} {id}")]
    );
    let again = cast.create(&cast.stranger, "crew").await.expect(201).json();
    assert_eq!(again["team"]["id"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_can_leave_a_team_but_its_owner() {
    let cast = Cast::assemble().await;
    let leave = async |by: &SignedIn| {
        let call = cast.identity.api.post("/api/teams/Crew/leave");
        call.bearer(&by.access).send().await
    };
    refused(leave(&cast.owner).await, 409, "last_owner");
    refused(leave(&cast.stranger).await, 404, "team_not_found");
    let audited = cast.audit_end();
    for who in [&cast.member, &cast.admin] {
        let reply = leave(who).await.expect(204);
        assert!(reply.body.is_empty());
        refused(leave(who).await, 404, "team_not_found");
        refused(cast.get(who, CREW).await, 404, "team_not_found");
        assert!(cast.is_told(who, None));
    }
    let (mia, adam) = (cast.member.id, cast.admin.id);
    assert_eq!(
        cast.audit_since(audited),
        [
            format!("team.member_removed {mia} {mia}"),
            format!("team.member_removed {adam} {adam}")
        ]
    );
    refused(leave(&cast.owner).await, 409, "last_owner");
    let call = cast.identity.api.post("/api/teams/crew/leave");
    refused(call.send().await, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_membership_change_is_published_and_audited() {
    let cast = Cast::assemble().await;
    let audited = cast.audit_end();
    cast.add(&cast.admin, "sam", Some("admin"))
        .await
        .expect(201);
    cast.set_role(&cast.admin, "sam", "member")
        .await
        .expect(200);
    cast.set_role(&cast.admin, "sam", "member")
        .await
        .expect(200);
    cast.set_role(&cast.owner, "olga", "owner")
        .await
        .expect(200);
    cast.set_role(&cast.owner, "adam", "owner")
        .await
        .expect(200);
    cast.remove(&cast.admin, "sam").await.expect(204);
    let (olga, adam, sam) = (cast.owner.id, cast.admin.id, cast.stranger.id);
    assert_eq!(
        cast.audit_since(audited),
        [
            format!("team.member_added {sam} {adam}"),
            format!("team.role_changed {sam} {adam}"),
            format!("team.handed_over {adam} {olga}"),
            format!("team.member_removed {sam} {adam}"),
        ]
    );
    let events = cast.identity.events("identity.membership_changed.v1");
    let mut events: Vec<_> = events
        .iter()
        .map(|event| (event["user_id"].as_i64().unwrap(), event["role"].as_str()))
        .collect();
    let mut expected = vec![
        (olga, Some("owner")),
        (adam, Some("admin")),
        (cast.member.id, Some("member")),
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
    let cast = Cast::assemble().await;
    for name in ["new-owner", "new-admin", "new-member", "new-stranger"] {
        cast.identity.register(name).await;
    }
    let callers = [
        ("owner", &cast.owner),
        ("admin", &cast.admin),
        ("member", &cast.member),
        ("stranger", &cast.stranger),
    ];
    for (verb, path, body, statuses) in GUARDS {
        let method = Method::from_bytes(verb.as_bytes()).unwrap();
        let call = |name: &str| {
            let path = format!("/api/teams/{}", path.replace("NAME", name));
            let call = cast.identity.api.call(method.clone(), &path);
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
            for who in [&cast.admin, &cast.member] {
                let (_, token) = cast.invited(&cast.owner, "back@example.com", None).await;
                cast.answer(who, &token).await.expect(200);
            }
            cast.set_role(&cast.owner, "adam", "admin")
                .await
                .expect(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_and_a_concurrent_removal_of_the_new_owner_cannot_both_succeed() {
    let cast = Cast::assemble().await;
    for _ in 0..6 {
        let (hand_over, removal) = tokio::join!(
            cast.set_role(&cast.owner, "mia", "owner"),
            cast.remove(&cast.admin, "mia")
        );
        match (hand_over.status, removal.status) {
            (200, 403) => {
                let back = cast.set_role(&cast.member, "olga", "owner").await;
                back.expect(200);
            }
            (404, 204) => {
                cast.add(&cast.owner, "mia", None).await.expect(201);
            }
            both => panic!("{both:?}"),
        }
        assert_eq!(cast.role_of("Olga").await.as_deref(), Some("owner"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrently_deleted_team_gains_no_member() {
    let cast = Cast::assemble().await;
    for _ in 0..4 {
        let (deleted, added) = tokio::join!(
            cast.delete(&cast.owner, CREW),
            cast.add(&cast.admin, "sam", None)
        );
        deleted.expect(204);
        assert!(matches!(added.status, 201 | 404), "{}", added.text());
        let list = cast.get(&cast.stranger, "/api/teams").await.json();
        assert_eq!(list["teams"], json!([]));
        cast.create(&cast.owner, "crew").await.expect(201);
        cast.add(&cast.owner, "adam", Some("admin"))
            .await
            .expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_teams_that_request_each_others_slugs_are_both_refused() {
    let cast = Cast::assemble().await;
    cast.create(&cast.stranger, "band").await.expect(201);
    let (one, other) = tokio::join!(
        cast.put(&cast.owner, CREW, json!({ "slug": "band" })),
        cast.put(&cast.stranger, "/api/teams/band", json!({ "slug": "crew" }))
    );
    for reply in [one, other] {
        assert!(matches!(reply.status, 409 | 503), "{}", reply.text());
    }
    cast.get(&cast.owner, CREW).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_of_a_team_get_no_server_error_and_leave_one_owner() {
    let cast = Cast::assemble().await;
    let (_, token) = cast.invited(&cast.owner, "sam@example.com", None).await;
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
    let everybody = [&cast.owner, &cast.admin, &cast.member, &cast.stranger];
    let mut answers = Vec::new();
    for (verb, path, body) in &calls {
        for who in everybody {
            let method = Method::from_bytes(verb.as_bytes()).unwrap();
            let call = cast.identity.api.call(method, path).bearer(&who.access);
            let call = call.json(body.clone());
            answers.push(tokio::spawn(async move { call.send().await }));
        }
    }
    for answer in answers {
        let reply = answer.await.unwrap();
        assert!(reply.status < 500, "{}: {}", reply.call, reply.text());
    }
    let owners = "SELECT count(*) AS n FROM teams JOIN team_members m ON m.team_id = teams.id AND m.user_id = owner_id";
    assert_eq!(cast.identity.count(owners), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_can_own_only_a_limited_number_of_teams() {
    let cast = Cast::assemble_with(|config| config.teams.max_owned = 3).await;
    let creations: Vec<_> = (0..6)
        .map(|n| {
            let (api, token) = (cast.identity.api.clone(), cast.owner.access.clone());
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
    cast.create(&cast.stranger, "sams").await.expect(201);
    let add = json!({ "username": "olga" });
    cast.post(&cast.stranger, "/api/teams/sams/members", add)
        .await
        .expect(201);
    let path = "/api/teams/sams/members/olga";
    let reply = cast
        .put(&cast.stranger, path, json!({ "role": "owner" }))
        .await;
    refused(reply, 400, "validation_failed");
    let detail = cast.get(&cast.stranger, "/api/teams/sams").await.json();
    assert_eq!(detail["my_role"], "owner");
    // Deleting a team makes room.
    cast.delete(&cast.owner, CREW).await.expect(204);
    let reply = cast
        .put(&cast.stranger, path, json!({ "role": "owner" }))
        .await;
    reply.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_can_join_only_a_limited_number_of_teams_besides_its_own() {
    let cast = Cast::assemble_with(|config| config.teams.max_joined = 2).await;
    cast.create(&cast.owner, "second").await.expect(201);
    cast.create(&cast.admin, "third").await.expect(201);
    let add = async |by: &SignedIn, slug: &str| {
        let path = format!("/api/teams/{slug}/members");
        cast.post(by, &path, json!({ "username": "mia" })).await
    };
    add(&cast.owner, "second").await.expect(201);
    refused(add(&cast.admin, "third").await, 400, "validation_failed");
    // Teams that it owns do not count, and come first in every list.
    cast.create(&cast.member, "mine").await.expect(201);
    let list = cast.get(&cast.member, "/api/teams").await.json();
    assert_eq!(slugs(&list), ["mine", "crew", "second"]);
    let path = "/api/auth/validate?include=teams";
    let validated = cast.get(&cast.member, path).await.json();
    assert_eq!(slugs(&validated), ["mine", "crew", "second"]);
    // Transferring its own team would make it a joined one.
    let own = json!({ "username": "sam" });
    cast.post(&cast.member, "/api/teams/mine/members", own)
        .await
        .expect(201);
    let path = "/api/teams/mine/members/sam";
    let reply = cast
        .put(&cast.member, path, json!({ "role": "owner" }))
        .await;
    refused(reply, 400, "validation_failed");
    cast.delete(&cast.member, "/api/teams/second/members/mia")
        .await
        .expect(204);
    add(&cast.admin, "third").await.expect(201);
}
