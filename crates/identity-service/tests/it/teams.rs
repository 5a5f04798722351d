use serde_json::{Value, json};

use crate::support::refused;
use crate::team_fixture::TeamFixture;

#[tokio::test(flavor = "multi_thread")]
async fn the_bodies_of_the_team_endpoints_match_their_snapshots() {
    let fixture = TeamFixture::start().await;
    insta::assert_json_snapshot!(
        "team_created",
        fixture
            .create(&fixture.stranger, "Other")
            .await
            .expect(201)
            .json()
    );
    insta::assert_json_snapshot!(
        "team_list",
        fixture
            .get(&fixture.owner, "/api/teams")
            .await
            .expect(200)
            .json()
    );
    insta::assert_json_snapshot!(
        "team_detail",
        fixture
            .get(&fixture.member, "/api/teams/CREW")
            .await
            .expect(200)
            .json()
    );
    insta::assert_json_snapshot!(
        "member_list",
        fixture
            .get(&fixture.member, "/api/teams/crew/members")
            .await
            .expect(200)
            .json()
    );
    insta::assert_json_snapshot!(
        "member_updated",
        fixture
            .set_role(&fixture.owner, "Mia", "ADMIN")
            .await
            .expect(200)
            .json()
    );
    insta::assert_json_snapshot!(
        "member_added",
        fixture
            .add(&fixture.owner, "sam", Some("Member"))
            .await
            .expect(201)
            .json()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_team_list_contains_only_the_callers_teams_and_has_an_alias() {
    let fixture = TeamFixture::start().await;
    fixture.create(&fixture.stranger, "other").await.expect(201);
    for who in [&fixture.owner, &fixture.admin, &fixture.member] {
        let list = fixture.get(who, "/api/teams").await.expect(200).json();
        assert_eq!(list["teams"].as_array().unwrap().len(), 1);
        assert_eq!(list["teams"][0]["member_count"], 3);
        assert_eq!(
            fixture.get(who, "/api/user/teams").await.expect(200).json(),
            list
        );
    }
    let list = fixture
        .get(&fixture.stranger, "/api/teams")
        .await
        .expect(200)
        .json();
    assert_eq!(list["teams"][0]["slug"], "other");
    for path in ["/api/teams", "/api/user/teams"] {
        refused(
            fixture.identity.api.get(path).send().await,
            401,
            "authentication_required",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_team_needs_a_name_and_a_free_slug() {
    let fixture = TeamFixture::start().await;
    refused(
        fixture.create(&fixture.member, "CREW").await,
        409,
        "slug_taken",
    );
    let post = async |body: Value| {
        fixture
            .identity
            .api
            .post("/api/teams")
            .bearer(&fixture.member.access)
            .json(body)
            .send()
            .await
    };
    for body in [
        json!({ "slug": "fine" }),
        json!({ "name": "Fine" }),
        json!({ "name": "", "slug": "fine" }),
        json!({ "name": "   ", "slug": "fine" }),
        json!({ "name": "x".repeat(101), "slug": "fine" }),
        json!({ "name": "a\u{7}b", "slug": "fine" }),
        json!({ "name": "Fine", "slug": "" }),
        json!({ "name": "Fine", "slug": "not fine" }),
        json!({ "name": "Fine", "slug": "x".repeat(65) }),
        json!({ "name": "Fine", "slug": "Admin" }),
        json!({ "name": "Fine", "slug": "new" }),
        json!({ "name": "Fine", "slug": "fine", "description": "x".repeat(2001) }),
        json!({ "name": "Fine", "slug": "fine", "description": 1 }),
    ] {
        refused(post(body).await, 400, "validation_failed");
    }
    let body = json!({ "name": "Fine", "slug": "fine" });
    refused(
        fixture
            .identity
            .api
            .post("/api/teams")
            .json(body.clone())
            .send()
            .await,
        401,
        "authentication_required",
    );
    let team = post(body).await.expect(201).json()["team"].clone();
    assert_eq!(
        (&team["description"], &team["owner_id"]),
        (&Value::Null, &json!(fixture.member.id))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_of_others_is_answered_like_one_that_does_not_exist() {
    let fixture = TeamFixture::start().await;
    let stranger = &fixture.stranger;
    for slug in ["crew", "nothing", "no%20slug", "a%2Fb"] {
        let path = format!("/api/teams/{slug}");
        refused(fixture.get(stranger, &path).await, 404, "team_not_found");
        refused(
            fixture.get(stranger, &format!("{path}/members")).await,
            404,
            "team_not_found",
        );
        // The body is not even read.
        let add = fixture
            .identity
            .api
            .post(&format!("{path}/members"))
            .bearer(&stranger.access)
            .body("text/plain", "{")
            .send()
            .await;
        refused(add, 404, "team_not_found");
        let put = fixture
            .identity
            .api
            .put(&format!("{path}/members/mia"))
            .bearer(&stranger.access)
            .json(json!({ "role": "admin" }))
            .send()
            .await;
        refused(put, 404, "team_not_found");
        refused(
            fixture
                .identity
                .api
                .delete(&format!("{path}/members/mia"))
                .bearer(&stranger.access)
                .send()
                .await,
            404,
            "team_not_found",
        );
    }
    refused(
        fixture.identity.api.get("/api/teams/crew").send().await,
        401,
        "authentication_required",
    );
    refused(
        fixture
            .identity
            .api
            .get("/api/teams/crew/members")
            .send()
            .await,
        401,
        "authentication_required",
    );
    refused(
        fixture
            .identity
            .api
            .delete("/api/teams/crew/members/mia")
            .send()
            .await,
        401,
        "authentication_required",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_added_by_admins_and_the_owner() {
    let fixture = TeamFixture::start().await;
    refused(
        fixture.add(&fixture.member, "sam", None).await,
        403,
        "forbidden",
    );
    refused(
        fixture.add(&fixture.member, "nobody", None).await,
        403,
        "forbidden",
    );
    refused(
        fixture.add(&fixture.admin, "nobody", None).await,
        404,
        "user_not_found",
    );
    refused(
        fixture.add(&fixture.admin, "Mia", None).await,
        409,
        "already_member",
    );
    refused(
        fixture.add(&fixture.admin, "olga", Some("member")).await,
        409,
        "already_member",
    );
    refused(
        fixture.add(&fixture.admin, "sam", Some("boss")).await,
        400,
        "validation_failed",
    );
    refused(
        fixture.add(&fixture.owner, "sam", Some("owner")).await,
        400,
        "validation_failed",
    );
    fixture
        .identity
        .sql("UPDATE users SET is_active = FALSE WHERE username = 'Sam'");
    refused(
        fixture.add(&fixture.admin, "sam", None).await,
        404,
        "user_not_found",
    );
    fixture
        .identity
        .sql("UPDATE users SET is_active = TRUE WHERE username = 'Sam'");
    fixture
        .add(&fixture.admin, "sam", Some("Admin"))
        .await
        .expect(201);
    assert_eq!(
        fixture.roles().await.last().unwrap(),
        &("Sam".to_owned(), "admin".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_are_changed_by_admins_and_never_above_their_own() {
    let fixture = TeamFixture::start().await;
    refused(
        fixture.set_role(&fixture.member, "mia", "admin").await,
        403,
        "forbidden",
    );
    refused(
        fixture.set_role(&fixture.admin, "olga", "member").await,
        403,
        "forbidden",
    );
    refused(
        fixture.set_role(&fixture.admin, "mia", "owner").await,
        403,
        "forbidden",
    );
    refused(
        fixture.set_role(&fixture.admin, "adam", "owner").await,
        403,
        "forbidden",
    );
    refused(
        fixture.set_role(&fixture.admin, "sam", "member").await,
        404,
        "member_not_found",
    );
    refused(
        fixture.set_role(&fixture.admin, "no%20one", "member").await,
        404,
        "member_not_found",
    );
    refused(
        fixture.set_role(&fixture.admin, "mia", "").await,
        400,
        "validation_failed",
    );
    refused(
        fixture.set_role(&fixture.owner, "olga", "admin").await,
        409,
        "last_owner",
    );
    fixture
        .set_role(&fixture.owner, "olga", "owner")
        .await
        .expect(200);
    let put = fixture
        .identity
        .api
        .put("/api/teams/crew/members/mia")
        .bearer(&fixture.admin.access)
        .json(json!({}))
        .send()
        .await;
    refused(put, 400, "validation_failed");
    fixture
        .set_role(&fixture.admin, "mia", "admin")
        .await
        .expect(200);
    fixture
        .set_role(&fixture.admin, "adam", "member")
        .await
        .expect(200);
    refused(
        fixture.set_role(&fixture.admin, "mia", "member").await,
        403,
        "forbidden",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn giving_a_member_the_owner_role_transfers_the_team() {
    let fixture = TeamFixture::start().await;
    let reply = fixture
        .set_role(&fixture.owner, "mia", "Owner")
        .await
        .expect(200)
        .json();
    assert_eq!(reply["member"]["role"], "owner");
    let expected = [("Olga", "admin"), ("Adam", "admin"), ("Mia", "owner")];
    assert_eq!(
        fixture.roles().await,
        expected.map(|(name, role)| (name.to_owned(), role.to_owned()))
    );
    let team = fixture
        .get(&fixture.member, "/api/teams/crew")
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&team["team"]["owner_id"], &team["my_role"]),
        (&json!(fixture.member.id), &json!("owner"))
    );
    refused(
        fixture.set_role(&fixture.owner, "mia", "member").await,
        403,
        "forbidden",
    );
    fixture.remove(&fixture.owner, "olga").await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_cannot_be_transferred_to_an_inactive_account() {
    let fixture = TeamFixture::start().await;
    fixture
        .identity
        .sql("UPDATE users SET is_active = FALSE WHERE username_lower = 'mia'");
    refused(
        fixture.set_role(&fixture.owner, "mia", "owner").await,
        404,
        "member_not_found",
    );
    let team = fixture.get(&fixture.owner, "/api/teams/crew").await.json();
    assert_eq!(team["my_role"], "owner");
    fixture.remove(&fixture.owner, "mia").await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_removed_by_admins_and_leave_by_themselves() {
    let fixture = TeamFixture::start().await;
    fixture.add(&fixture.owner, "sam", None).await.expect(201);
    refused(
        fixture.remove(&fixture.member, "sam").await,
        403,
        "forbidden",
    );
    refused(
        fixture.remove(&fixture.member, "nobody").await,
        403,
        "forbidden",
    );
    refused(
        fixture.remove(&fixture.admin, "nobody").await,
        404,
        "member_not_found",
    );
    refused(
        fixture.remove(&fixture.admin, "olga").await,
        403,
        "forbidden",
    );
    refused(
        fixture.remove(&fixture.owner, "olga").await,
        409,
        "last_owner",
    );
    let reply = fixture.remove(&fixture.admin, "SAM").await.expect(204);
    assert!(reply.body.is_empty());
    refused(
        fixture.get(&fixture.stranger, "/api/teams/crew").await,
        404,
        "team_not_found",
    );
    fixture.remove(&fixture.member, "mia").await.expect(204);
    fixture.remove(&fixture.admin, "adam").await.expect(204);
    refused(
        fixture.remove(&fixture.owner, "olga").await,
        409,
        "last_owner",
    );
    let list = fixture
        .get(&fixture.owner, "/api/teams")
        .await
        .expect(200)
        .json();
    assert_eq!(list["teams"][0]["member_count"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_member_list_is_paged() {
    let fixture = TeamFixture::start().await;
    let page = async |query: &str| {
        fixture
            .get(&fixture.member, &format!("/api/teams/crew/members{query}"))
            .await
    };
    let body = page("?limit=2&offset=1").await.expect(200).json();
    assert_eq!(body["total"], 3);
    let names: Vec<_> = body["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["username"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Adam", "Mia"]);
    assert_eq!(
        page("?offset=9").await.expect(200).json()["members"],
        json!([])
    );
    for query in [
        "?limit=0",
        "?limit=201",
        "?limit=x",
        "?offset=-1",
        "?limit=1e1",
    ] {
        refused(page(query).await, 400, "validation_failed");
    }
    refused(
        fixture
            .get(&fixture.stranger, "/api/teams/crew/members?limit=x")
            .await,
        404,
        "team_not_found",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_who_left_can_return_only_by_an_invitation() {
    let fixture = TeamFixture::start().await;
    fixture.remove(&fixture.member, "mia").await.expect(204);
    let leave = "/api/teams/crew/leave";
    fixture
        .post(&fixture.admin, leave, json!({}))
        .await
        .expect(204);
    for (name, role) in [("mia", None), ("Mia", Some("admin")), ("adam", None)] {
        let reply = fixture.add(&fixture.owner, name, role).await;
        let reply = refused(reply, 409, "member_left");
        assert!(reply.text().contains("invite"), "{}", reply.text());
        assert_eq!(fixture.role_of(name).await, None);
    }
    // Another team can add them, and an invitation brings them back as ordinary members.
    fixture.create(&fixture.owner, "other").await.expect(201);
    let body = json!({ "username": "mia" });
    let path = "/api/teams/other/members";
    fixture.post(&fixture.owner, path, body).await.expect(201);
    let (_, token) = fixture
        .invited(&fixture.owner, "mia@example.com", None)
        .await;
    fixture.answer(&fixture.member, &token).await.expect(200);
    assert_eq!(fixture.role_of("Mia").await.as_deref(), Some("member"));
    // A member who was removed has not left.
    fixture.remove(&fixture.owner, "mia").await.expect(204);
    fixture.add(&fixture.owner, "mia", None).await.expect(201);
    refused(
        fixture.add(&fixture.owner, "mia", None).await,
        409,
        "already_member",
    );
    // Leaving a second time counts like the first.
    fixture.remove(&fixture.member, "mia").await.expect(204);
    refused(
        fixture.add(&fixture.owner, "mia", None).await,
        409,
        "member_left",
    );
    let mut olga = crate::browser::Browser::signed_in(&fixture.identity, "Olga").await;
    let page = olga.get("/teams/crew/people").await;
    let form = page.form("/teams/crew/people/add");
    let page = olga.submit(form.set("username", "mia")).await.expect(409);
    page.says("left the team").form("/teams/crew/people");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_who_leaves_while_being_added_stays_out() {
    let fixture = TeamFixture::start().await;
    for _ in 0..6 {
        let leave = fixture.remove(&fixture.member, "mia");
        let adds = futures_util::future::join_all(
            (0..4).map(|_| fixture.add(&fixture.owner, "mia", None)),
        );
        let (left, adds) = futures_util::future::join(leave, adds).await;
        left.expect(204);
        assert!(adds.iter().all(|add| add.status == 409));
        assert_eq!(fixture.role_of("Mia").await, None);
        let (_, token) = fixture
            .invited(&fixture.owner, "mia@example.com", None)
            .await;
        fixture.answer(&fixture.member, &token).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_direct_add_members_join_only_by_invitation() {
    let identity = crate::support::Identity::start_with(|config| config.teams.direct_add = false);
    let identity = identity.await;
    let olga = identity.register("Olga").await;
    let sam = identity.register("Sam").await;
    let body = json!({ "name": "The Crew", "slug": "crew" });
    identity.by(&olga, "/api/teams", body).await.expect(201);
    for name in ["sam", "nobody"] {
        let body = json!({ "username": name });
        let reply = identity.by(&olga, "/api/teams/crew/members", body).await;
        let reply = refused(reply, 403, "invitation_required");
        assert!(reply.text().contains("invite"), "{}", reply.text());
    }
    let body = json!({ "username": "olga" });
    let reply = identity.by(&sam, "/api/teams/crew/members", body).await;
    refused(reply, 404, "team_not_found");
    let mut browser = crate::browser::Browser::signed_in(&identity, "Olga").await;
    let page = browser.get("/teams/crew/people").await.expect(200);
    assert!(page.forms("/teams/crew/people/add").is_empty());
    page.form("/teams/crew/people");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_transfers_leave_one_owner_and_concurrent_adds_one_member() {
    let fixture = TeamFixture::start().await;
    let handovers = ["adam", "mia"].map(|name| {
        let (api, token) = (fixture.identity.api.clone(), fixture.owner.access.clone());
        tokio::spawn(async move {
            let path = format!("/api/teams/crew/members/{name}");
            api.put(&path)
                .bearer(&token)
                .json(json!({ "role": "owner" }))
                .send()
                .await
                .status
        })
    });
    let mut handed = 0;
    for handover in handovers {
        handed += usize::from(handover.await.unwrap() == 200);
    }
    assert_eq!(handed, 1);
    assert_eq!(
        fixture
            .roles()
            .await
            .iter()
            .filter(|(_, role)| role == "owner")
            .count(),
        1
    );

    let adds: Vec<_> = (0..8)
        .map(|_| {
            let (api, token) = (fixture.identity.api.clone(), fixture.owner.access.clone());
            tokio::spawn(async move {
                api.post("/api/teams/crew/members")
                    .bearer(&token)
                    .json(json!({ "username": "sam" }))
                    .send()
                    .await
                    .status
            })
        })
        .collect();
    let mut answers = Vec::new();
    for add in adds {
        answers.push(add.await.unwrap());
    }
    answers.sort_unstable();
    assert_eq!(answers, [201, 409, 409, 409, 409, 409, 409, 409]);
}
