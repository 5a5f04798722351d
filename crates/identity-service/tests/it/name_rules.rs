//! Which names accounts, teams and clients may have, and how accounts are found by theirs.

use serde_json::json;

use crate::admin_api::superadmin;
use crate::browser::Browser;
use crate::provider_fixture::Provider;
use crate::support::{Identity, PASSWORD, refused, signed_in};
use crate::team_fixture::TeamFixture;

/// Names that are invisible or blank, or that change the direction of text.
pub(crate) const UNREADABLE: [&str; 14] = [
    "Te\u{200B}am",
    "Te\u{AD}am",
    "\u{3164}",
    "\u{202E}maeT",
    "Te\u{2066}am",
    "Te\u{200D}am",
    "Te\u{FE0F}am",
    "\u{2800}\u{2800}",
    "\u{115F}\u{1160}",
    "\u{FFA0}",
    "Te\u{2028}am",
    "\u{FEFF}Team",
    "Team\u{E0041}",
    "\u{E000}",
];
const READABLE: [&str; 4] = [
    "👩\u{200D}👩\u{200D}👧 Crew",
    "❤\u{FE0F} Team",
    "می\u{200C}خواهم",
    "Zoë & Søren",
];

#[tokio::test(flavor = "multi_thread")]
async fn invisible_names_and_names_that_reverse_text_are_refused_for_teams_and_clients() {
    let provider = Provider::start().await;
    let (identity, root) = (&provider.identity, &provider.admin);
    let own = json!({ "name": "Own", "slug": "own" });
    identity.by(root, "/api/teams", own).await.expect(201);
    for name in UNREADABLE {
        let team = json!({ "name": name, "slug": "team" });
        let reply = identity.by(root, "/api/teams", team).await;
        let reply = refused(reply, 400, "validation_failed");
        assert!(reply.text().contains("Name must"), "{}", reply.text());
        let call = identity.api.put("/api/teams/own").bearer(&root.access);
        let reply = call.json(json!({ "name": name })).send().await;
        refused(reply, 400, "validation_failed");
        let reply = provider.try_register(json!({ "name": name })).await;
        refused(reply, 400, "validation_failed");
    }
    for (n, name) in READABLE.into_iter().enumerate() {
        let team = json!({ "name": name, "slug": format!("team-{n}") });
        let made = identity.by(root, "/api/teams", team).await.expect(201);
        assert_eq!(made.json()["team"]["name"], name);
        provider
            .try_register(json!({ "name": name }))
            .await
            .expect(201);
    }
    // The form shows the reason.
    let mut browser = Browser::signed_in(identity, "root").await;
    let form = browser.get("/teams/new").await.form("/teams/new");
    let form = form.set("name", UNREADABLE[0]).set("slug", "team");
    let page = browser.submit(form).await.expect(400);
    page.says("without control, invisible");
}

#[tokio::test(flavor = "multi_thread")]
async fn whitespace_around_a_username_is_ignored() {
    let fixture = TeamFixture::start().await;
    let identity = &fixture.identity;
    let padded = |name: &str| format!(" \t\u{A0}{name}\u{3000}\r\n");
    let body = json!({ "username": padded("Ada"), "password": PASSWORD });
    let ada = identity.open("/api/auth/register", body.clone()).await;
    let ada = ada.expect(201).json();
    assert_eq!(ada["user"]["username"], "Ada");
    let ada = signed_in(&ada);
    refused(
        identity.open("/api/auth/register", body).await,
        400,
        "username_taken",
    );
    identity.login(&padded("aDA"), PASSWORD).await.expect(200);
    for bad in ["A da", "\u{A0}", "Ada\u{200B}"] {
        refused(
            identity.login(bad, PASSWORD).await,
            401,
            "invalid_credentials",
        );
    }
    // Whitespace in a password counts.
    refused(
        identity.login("ada", &padded(PASSWORD)).await,
        401,
        "invalid_credentials",
    );
    let mut browser = Browser::new(identity);
    browser.sign_in(&padded("ada"), PASSWORD).await.expect(200);

    let in_path = "%20Ada%C2%A0";
    fixture
        .add(&fixture.owner, &padded("ada"), None)
        .await
        .expect(201);
    fixture
        .set_role(&fixture.owner, in_path, "admin")
        .await
        .expect(200);
    for path in [
        format!("/api/auth/user/{in_path}/profile-photo"),
        format!("/api/public/user/{in_path}/profile-photo"),
        format!("/api/public/user/%20{}%20/profile-photo", ada.id),
    ] {
        let reply = fixture.get(&ada, &path).await.expect(200);
        assert_eq!(reply.json()["username"], "Ada", "{path}");
    }
    let body = json!({ "usernames": [padded("ADA"), "ada", "nobody"] });
    let reply = identity
        .by(&ada, "/api/auth/users/profile-photos", body)
        .await;
    assert_eq!(reply.expect(200).json()["total"], 1);
    let path = format!(
        "/api/auth/sso/callback?token={}&user_id={}&username={in_path}",
        ada.access, ada.id
    );
    fixture.get(&ada, &path).await.expect(200);
    // Members who remove themselves leave, with or without whitespace around the name.
    fixture.remove(&ada, in_path).await.expect(204);
    assert_eq!(fixture.role_of("Ada").await, None);

    let root = superadmin(identity, "root").await;
    let path = "/api/admin/users?q=%20%20ada%20";
    let found = fixture.get(&root, path).await.expect(200).json();
    assert_eq!(found["users"].as_array().map(Vec::len), Some(2), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whitespace_around_a_username_does_not_reset_the_failure_count() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    identity.register("ada").await;
    let mut answers = Vec::new();
    for n in 0..14 {
        let name = format!("{}ada", " ".repeat(n));
        answers.push(identity.login(&name, "wrong").await.status);
    }
    assert_eq!(answers[..10], [401; 10]);
    assert!(answers.ends_with(&[429]), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_internationalized_address_is_the_same_in_every_spelling() {
    let fixture = TeamFixture::start().await;
    let identity = &fixture.identity;
    let ada = identity.register_at("ada", "Ada@Bücher.example").await;
    let stored = "Ada@xn--bcher-kva.example";
    assert_eq!(identity.me(&ada).await["email"], stored);
    assert_eq!(identity.mailed("verify_email"), [stored]);
    identity
        .verify_email(&identity.last_link("verify_email"))
        .await
        .expect(204);
    for typed in [
        "ada@bücher.example",
        "ADA@BÜCHER.EXAMPLE",
        "ada@bu\u{308}cher.example",
        "ada@bücher\u{3002}example",
        "ada@XN--BCHER-KVA.example",
    ] {
        let body = json!({ "username": "eve", "password": PASSWORD, "email": typed });
        let reply = identity.open("/api/auth/register", body).await;
        refused(reply, 400, "email_taken");
        identity.forgot(json!({ "email": typed })).await.expect(202);
        assert_eq!(identity.mailed("reset_password").last().unwrap(), stored);
        let call = identity.api.put(&format!("/api/auth/user/{}", ada.id));
        let call = call.bearer(&ada.access).json(json!({ "email": typed }));
        assert_eq!(
            call.send().await.expect(200).json()["user"]["email"],
            stored
        );
        let (invitation, _) = fixture.invited(&fixture.owner, typed, None).await;
        let own = fixture.get(&ada, "/api/user/invitations").await.expect(200);
        assert_eq!(
            own.json()["invitations"][0]["id"],
            invitation["id"],
            "{typed}"
        );
        assert_eq!(own.json()["total"], 1);
    }
    assert_eq!(identity.mailed("reset_password").len(), 5);
    let root = superadmin(identity, "root").await;
    for typed in ["ada%40b%C3%BCcher", "B%C3%9CCHER"] {
        let path = format!("/api/admin/users?q={typed}");
        let found = fixture.get(&root, &path).await.expect(200).json();
        assert_eq!(found["users"][0]["username"], "ada", "{typed}");
    }
    for bad in [
        "x@placeholder\u{FF0E}invalid",
        "x@bü cher.example",
        "ü@bücher.example",
    ] {
        let body = json!({ "username": "eve", "password": PASSWORD, "email": bad });
        let reply = identity.open("/api/auth/register", body).await;
        refused(reply, 400, "validation_failed");
    }
}
