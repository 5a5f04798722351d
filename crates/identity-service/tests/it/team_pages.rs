use serde_json::json;

use crate::browser::{Browser, Page};
use crate::pages::every_page::is_a_good_page;
use crate::support::{PASSWORD, SignedIn};
use crate::team_fixture::TeamFixture;

/// One browser for each account of a fixture.
struct Browsers {
    owner: Browser,
    admin: Browser,
    member: Browser,
    stranger: Browser,
}

impl Browsers {
    async fn sign_in(fixture: &TeamFixture) -> Self {
        let identity = &fixture.identity;
        Self {
            owner: Browser::signed_in(identity, "Olga").await,
            admin: Browser::signed_in(identity, "Adam").await,
            member: Browser::signed_in(identity, "Mia").await,
            stranger: Browser::signed_in(identity, "Sam").await,
        }
    }
}

fn shows(page: &Page, words: &str) -> bool {
    page.text().contains(words)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_is_created_and_changed_by_forms() {
    let fixture = TeamFixture::start().await;
    let mut browsers = Browsers::sign_in(&fixture).await;
    let sam = &mut browsers.stranger;
    sam.get("/teams").await.says("You are not in a team yet");
    let form = sam.get("/teams/new").await.form("/teams/new");
    let form = form.set("name", "R & D").set("slug", "lab");
    for (slug, status) in [("Crew", 409), ("no slug", 400), ("new", 400)] {
        let page = sam
            .submit(form.clone().set("slug", slug))
            .await
            .expect(status);
        assert!(page.html.contains("id=\"slug-error\""), "{slug}");
        assert_eq!(page.form("/teams/new").value("name"), Some("R & D"));
    }
    let page = sam.submit(form.clone().set("name", "")).await.expect(400);
    assert!(page.html.contains("id=\"name-error\""));
    let page = sam.submit(form).await.expect(200).says("Team created.");
    assert_eq!(page.path, "/teams/lab?done=team");
    sam.get("/teams").await.says("R & D Owner");

    let form = sam
        .get("/teams/lab/settings")
        .await
        .form("/teams/lab/settings");
    let taken = form.clone().set("slug", "crew");
    let page = sam.submit(taken).await.expect(409);
    assert!(page.html.contains("id=\"slug-error\""));
    let form = form.set("slug", "labor").set("description", "we\r\nthink");
    let page = sam.submit(form).await.expect(200).says("Team saved.");
    assert_eq!(page.path, "/teams/labor?done=team-saved");
    sam.get("/teams/lab").await.expect(404);
    let body = fixture
        .get(&fixture.stranger, "/api/teams/labor")
        .await
        .json();
    assert_eq!(body["team"]["description"], "we\nthink");
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_decide_what_is_shown_and_what_is_allowed() {
    let fixture = TeamFixture::start().await;
    let mut browsers = Browsers::sign_in(&fixture).await;
    let pages = [
        // Statuses for the owner, the admin, the member and the stranger.
        ("/teams/crew", [200, 200, 200, 404]),
        ("/teams/crew/leave", [200, 200, 200, 404]),
        ("/teams/crew/settings", [200, 200, 403, 404]),
        ("/teams/crew/people", [200, 200, 403, 404]),
        ("/teams/crew/members/mia", [200, 200, 403, 404]),
        ("/teams/crew/members/mia/remove", [200, 200, 403, 404]),
        ("/teams/crew/members/mia/hand-over", [200, 403, 403, 404]),
        ("/teams/crew/delete", [200, 403, 403, 404]),
        ("/teams/crew/members/sam", [404, 404, 403, 404]),
        ("/teams/nowhere", [404; 4]),
    ];
    for (path, statuses) in pages {
        let readers = [
            &mut browsers.owner,
            &mut browsers.admin,
            &mut browsers.member,
            &mut browsers.stranger,
        ];
        for (browser, status) in readers.into_iter().zip(statuses) {
            let page = browser.fetch(path).await;
            assert_eq!(page.reply.status, status, "{path}: {}", page.text());
            is_a_good_page(&page);
        }
    }
    // The same holds for the forms, sent with a CSRF token from a page of the sender's own.
    let posts = [
        ("/teams/crew/settings", "name=Other"),
        ("/teams/crew/people", "email=a%40example.com&role=member"),
        ("/teams/crew/people/add", "username=sam&role=member"),
        ("/teams/crew/people/withdraw", "id=x"),
        ("/teams/crew/members/mia", "role=admin"),
        ("/teams/crew/members/mia/remove", ""),
        ("/teams/crew/members/mia/hand-over", ""),
        ("/teams/crew/delete", "slug=crew"),
    ];
    let before = fixture.audit_end();
    for (path, fields) in posts {
        for (browser, status) in [(&mut browsers.member, 403), (&mut browsers.stranger, 404)] {
            let reply = post(&fixture, browser, path, fields).await;
            assert_eq!(reply, status, "{path}");
        }
    }
    for path in ["/teams/crew/members/mia/hand-over", "/teams/crew/delete"] {
        let reply = post(&fixture, &mut browsers.admin, path, "slug=crew").await;
        assert_eq!(reply, 403, "{path}");
    }
    let settings = "name=The+Crew&slug=other";
    let reply = post(
        &fixture,
        &mut browsers.admin,
        "/teams/crew/settings",
        settings,
    )
    .await;
    assert_eq!(reply, 403);
    assert_eq!(fixture.audit_since(before), [""; 0]);

    let page = browsers.member.get("/teams/crew").await;
    assert!(!shows(&page, "Add members") && !shows(&page, "Settings") && shows(&page, "Leave"));
    let page = browsers.admin.get("/teams/crew").await;
    assert!(shows(&page, "Add members") && shows(&page, "Settings"));
    let links = page.links();
    assert!(links.contains(&"/teams/crew/members/Mia".to_owned()));
    assert!(!links.contains(&"/teams/crew/members/Olga".to_owned()));
    let page = browsers.admin.get("/teams/crew/settings").await;
    assert!(page.form("/teams/crew/settings").value("slug").is_none());
    let page = browsers.owner.get("/teams/crew").await;
    assert!(!shows(&page, "Leave team"));
    browsers
        .owner
        .get("/teams/crew/leave")
        .await
        .says("transfer ownership");
}

/// Sends a form that no page shows to the sender, with a CSRF token from another page.
async fn post(fixture: &TeamFixture, browser: &mut Browser, path: &str, fields: &str) -> u16 {
    let token = browser.get("/teams/new").await.form("/teams/new");
    let token = token.value("csrf").unwrap().to_owned();
    let cookies: Vec<_> = browser
        .cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let call = fixture.identity.api.post(path);
    let call = call.header("cookie", cookies.join("; "));
    let call = call.header("accept", "text/html");
    let body = format!("csrf={token}&{fields}");
    let call = call.body("application/x-www-form-urlencoded", body);
    call.send().await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_added_promoted_and_removed_by_forms() {
    let fixture = TeamFixture::start().await;
    let mut browsers = Browsers::sign_in(&fixture).await;
    let adam = &mut browsers.admin;
    let form = adam
        .get("/teams/crew/people")
        .await
        .form("/teams/crew/people/add");
    for (name, status) in [("nobody", 404), ("mia", 409)] {
        let page = adam
            .submit(form.clone().set("username", name))
            .await
            .expect(status);
        assert!(page.html.contains("id=\"username-error\""), "{name}");
        let typed = page.form("/teams/crew/people/add");
        assert_eq!(typed.value("username"), Some(name));
    }
    let page = adam.submit(form.set("username", "SAM")).await.expect(200);
    let page = page.says("Member added.").says("Sam");
    assert_eq!(page.path, "/teams/crew?done=added");

    let path = "/teams/crew/members/Sam";
    let form = adam.get(path).await.form(path);
    let forged = form.clone().forged("role", "owner");
    let page = adam.submit(forged).await.expect(400);
    assert!(page.html.contains("id=\"role-error\""));
    let page = adam.submit(form.set("role", "admin")).await.expect(200);
    page.says("Role changed.");
    assert_eq!(fixture.role_of("Sam").await.as_deref(), Some("admin"));

    let form = adam.get(&format!("{path}/remove")).await;
    let form = form.form(&format!("{path}/remove"));
    let page = adam.submit(form.clone()).await.expect(200);
    page.says("Member removed.");
    assert_eq!(fixture.role_of("Sam").await, None);
    adam.submit(form).await.expect(404);
    // The owner cannot be removed.
    let path = "/teams/crew/members/olga/remove";
    assert_eq!(post(&fixture, adam, path, "").await, 403);
    // Removing oneself is leaving.
    let path = "/teams/crew/members/Adam/remove";
    let form = adam.get(path).await.form(path);
    let page = adam.submit(form).await.expect(200);
    page.says("You left the team.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_can_be_transferred_left_and_deleted_by_forms() {
    let fixture = TeamFixture::start().await;
    let mut browsers = Browsers::sign_in(&fixture).await;
    let olga = &mut browsers.owner;
    let path = "/teams/crew/members/Mia/hand-over";
    let form = olga.get(path).await.says("becomes the owner").form(path);
    let page = olga.submit(form).await.expect(200);
    page.says("Ownership transferred.");
    assert_eq!(fixture.role_of("Mia").await.as_deref(), Some("owner"));
    assert_eq!(fixture.role_of("Olga").await.as_deref(), Some("admin"));
    let form = olga
        .get("/teams/crew/leave")
        .await
        .form("/teams/crew/leave");
    let page = olga.submit(form).await.expect(200);
    page.says("You left the team.");

    let mia = &mut browsers.member;
    let form = mia
        .get("/teams/crew/delete")
        .await
        .form("/teams/crew/delete");
    let page = mia
        .submit(form.clone().set("slug", "The Crew"))
        .await
        .expect(400);
    assert!(page.html.contains("id=\"slug-error\""));
    mia.get("/teams/crew").await.expect(200);
    let page = mia.submit(form.set("slug", "CREW")).await.expect(200);
    page.says("Team deleted.");
    mia.get("/teams/crew").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn invitations_are_sent_withdrawn_and_accepted_by_forms() {
    let fixture = TeamFixture::start().await;
    let mut browsers = Browsers::sign_in(&fixture).await;
    let adam = &mut browsers.admin;
    let form = adam
        .get("/teams/crew/people")
        .await
        .form("/teams/crew/people");
    let page = adam
        .submit(form.clone().set("email", "nobody"))
        .await
        .expect(400);
    assert!(page.html.contains("id=\"email-error\""));
    assert_eq!(
        page.form("/teams/crew/people").value("email"),
        Some("nobody")
    );
    for email in ["sam@example.com", "eve@example.com"] {
        let page = adam
            .submit(form.clone().set("email", email))
            .await
            .expect(200);
        page.says("Invitation sent.").says(email);
    }
    assert_eq!(fixture.tokens().len(), 2);
    let page = adam.get("/teams/crew/people").await;
    let withdraw = page.forms("/teams/crew/people/withdraw");
    assert_eq!(withdraw.len(), 2);

    // Sam has claimed the address, and then verifies it.
    fixture.give_address(&fixture.stranger, "sam@example.com", false);
    let sam = &mut browsers.stranger;
    let page = sam.get("/teams").await;
    assert!(!page.text().contains("The Crew"));
    fixture.give_address(&fixture.stranger, "sam@example.com", true);
    let page = sam.get("/teams").await;
    let accept = page.form("/teams/invitations/accept");
    let id = accept.value("id").unwrap().to_owned();
    // The invitation is Sam's, and others cannot find it.
    let (path, fields) = ("/teams/invitations/decline", format!("id={id}"));
    let reply = post(&fixture, &mut browsers.member, path, &fields).await;
    assert_eq!(reply, 404);
    let sam = &mut browsers.stranger;
    let page = sam
        .submit(accept)
        .await
        .expect(200)
        .says("You joined the team.");
    assert_eq!(page.path, "/teams/crew?done=joined");
    assert_eq!(fixture.role_of("Sam").await.as_deref(), Some("member"));

    let adam = &mut browsers.admin;
    let page = adam.get("/teams/crew/people").await;
    let form = page.form("/teams/crew/people/withdraw");
    let page = adam.submit(form.clone()).await.expect(200);
    page.says("Invitation withdrawn.");
    adam.submit(form).await.expect(410);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_declined_by_its_form() {
    let fixture = TeamFixture::start().await;
    fixture
        .invite(&fixture.owner, "sam@example.com", None)
        .await
        .expect(200);
    fixture.give_address(&fixture.stranger, "sam@example.com", true);
    let mut sam = Browser::signed_in(&fixture.identity, "Sam").await;
    let form = sam.get("/teams").await.form("/teams/invitations/decline");
    let page = sam.submit(form.clone()).await.expect(200);
    page.says("Invitation declined.");
    sam.submit(form).await.expect(410);
    assert_eq!(fixture.role_of("Sam").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_from_users_are_escaped_on_every_page() {
    let fixture = TeamFixture::start().await;
    let name = "<script>alert(1)</script>\"'&";
    let body = json!({ "name": name, "slug": "odd", "description": name });
    fixture
        .post(&fixture.owner, "/api/teams", body)
        .await
        .expect(201);
    let mut olga = Browser::signed_in(&fixture.identity, "Olga").await;
    for path in [
        "/teams",
        "/teams/odd",
        "/teams/odd/settings",
        "/teams/odd/delete",
        "/account/delete",
    ] {
        let page = olga.get(path).await.expect(200);
        assert!(!page.html.contains("<script"), "{path}");
        assert!(page.text().contains("alert(1)"), "{path}");
    }
    let form = olga
        .get("/teams/odd/settings")
        .await
        .form("/teams/odd/settings");
    assert_eq!(form.value("name"), Some(name));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_refused_after_its_sender_has_lost_the_role() {
    let fixture = TeamFixture::start().await;
    let mut browsers = Browsers::sign_in(&fixture).await;
    let form = browsers.admin.get("/teams/crew/people").await;
    let form = form
        .form("/teams/crew/people")
        .set("email", "eve@example.com");
    fixture
        .set_role(&fixture.owner, "adam", "member")
        .await
        .expect(200);
    browsers.admin.submit(form).await.expect(403);
    assert_eq!(fixture.tokens(), [""; 0]);
    let gone: &SignedIn = &fixture.admin;
    let body = json!({ "current_password": PASSWORD, "new_password": "battery staple" });
    fixture
        .post(gone, "/api/auth/password/change", body)
        .await
        .expect(204);
    browsers.admin.fetch("/teams/crew").await.expect(303);
}
