//! Invitations to a team by mail, and the answers to them.

use chrono::Duration;
use event_types::MailTemplate;
use serde_json::{Value, json};

use crate::provider_fixture::Provider;
use crate::support::{SignedIn, beginning, refused, signed_in, texts};
use crate::team_fixture::TeamFixture;

const OWN: &str = "/api/user/invitations";
const OF_TEAM: &str = "/api/teams/crew/invitations";
/// Has the form of a token, but was never issued.
const UNKNOWN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

impl TeamFixture {
    async fn joined(&self, who: &SignedIn) -> bool {
        self.get(who, "/api/teams/crew").await.status == 200
    }

    async fn invitations(&self, query: &str) -> Value {
        let path = format!("{OF_TEAM}{query}");
        self.get(&self.admin, &path).await.expect(200).json()
    }

    /// Returns the status of the newest invitation.
    async fn newest_status(&self) -> String {
        let list = self.invitations("?limit=1").await;
        list["invitations"][0]["status"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

fn id(invitation: &Value) -> &str {
    invitation["id"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bodies_of_the_invitation_endpoints_match_their_snapshots() {
    let fixture = TeamFixture::start().await;
    let show = |name: &str, body: Value| {
        insta::assert_json_snapshot!(name, body, {
            ".invitation.id" => "[uuid]",
            ".invitations[].id" => "[uuid]",
        });
    };
    let invited = fixture
        .invite(&fixture.admin, "Sam@Example.com", Some("ADMIN"))
        .await;
    show("invited", invited.expect(200).json());
    show("invitations_of_a_team", fixture.invitations("").await);
    fixture.give_address(&fixture.stranger, "sam@example.com", true);
    let own = fixture.get(&fixture.stranger, OWN).await.expect(200).json();
    show("own_invitations", own);
    let accepted = fixture
        .answer(&fixture.stranger, &fixture.tokens()[0])
        .await;
    show("invitation_accepted", accepted.expect(200).json());
    assert_eq!(fixture.role_of("Sam").await.as_deref(), Some("admin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_requires_a_valid_address_and_an_assignable_role() {
    let fixture = TeamFixture::start().await;
    for body in [
        json!({}),
        json!({ "email": "" }),
        json!({ "email": "nobody" }),
        json!({ "email": "a b@example.com" }),
        json!({ "email": "a@b.invalid" }),
        json!({ "email": "a@example.com\r\nBcc: b@example.com" }),
        json!({ "email": 1 }),
        json!({ "email": "a@example.com", "role": "owner" }),
        json!({ "email": "a@example.com", "role": "boss" }),
        json!({ "email": "a@example.com", "role": 1 }),
    ] {
        let reply = fixture
            .post(&fixture.owner, "/api/teams/crew/invite", body)
            .await;
        refused(reply, 400, "validation_failed");
    }
    assert_eq!(fixture.invitations("").await["total"], 0);
    assert!(fixture.tokens().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_to_an_invitation_does_not_reveal_whose_the_address_is() {
    let fixture = TeamFixture::start().await;
    fixture.give_address(&fixture.stranger, "sam@example.com", true);
    fixture.give_address(&fixture.member, "mia@example.com", true);
    let answer = async |email: &str| {
        let reply = fixture
            .invite(&fixture.owner, email, None)
            .await
            .expect(200);
        let text = reply.text().replace(email, "ADDRESS");
        let id = reply.json()["invitation"]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        text.replace(&id, "ID")
    };
    let nobody = answer("nobody@example.com").await;
    assert_eq!(answer("sam@example.com").await, nobody);
    assert_eq!(answer("mia@example.com").await, nobody);
    assert_eq!(fixture.tokens().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_invitation_mail_names_team_inviter_and_expiry_as_plain_data() {
    let fixture = TeamFixture::start().await;
    let hostile = "<b onload=x>&\"' https://evil.example {{team}}";
    let body = json!({ "name": hostile });
    fixture
        .put(&fixture.owner, "/api/teams/crew", body)
        .await
        .expect(200);
    let (invitation, token) = fixture
        .invited(&fixture.admin, "New.Person@Example.com", None)
        .await;
    let mail = fixture.identity.mails().pop().unwrap();
    assert_eq!(mail.to, "New.Person@Example.com");
    let MailTemplate::Invitation {
        team,
        invited_by,
        link,
        expires_at,
    } = mail.text
    else {
        panic!("another mail");
    };
    assert_eq!((team.as_str(), invited_by.as_str()), (hostile, "Adam"));
    let base = fixture.identity.running.base_url();
    assert_eq!(link, format!("{base}/invitations/{token}"));
    assert_eq!(token.len(), 43);
    assert_eq!(expires_at, beginning() + Duration::days(7));
    assert_eq!(invitation["expires_at"], json!("2026-11-28T12:00:00Z"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_token_appears_in_no_table_response_or_error() {
    let fixture = TeamFixture::start().await;
    fixture.give_address(&fixture.stranger, "sam@example.com", true);
    let reply = fixture
        .invite(&fixture.owner, "sam@example.com", None)
        .await
        .text();
    let token = fixture.tokens().remove(0);
    let mut seen = vec![reply];
    for (who, path) in [(&fixture.owner, OF_TEAM), (&fixture.stranger, OWN)] {
        seen.push(fixture.get(who, path).await.expect(200).text());
    }
    seen.push(
        fixture
            .answer(&fixture.member, &token)
            .await
            .expect(200)
            .text(),
    );
    seen.push(
        fixture
            .answer(&fixture.stranger, &token)
            .await
            .expect(200)
            .text(),
    );
    fixture.remove(&fixture.stranger, "sam").await.expect(204);
    seen.push(
        fixture
            .answer(&fixture.stranger, &token)
            .await
            .expect(410)
            .text(),
    );
    let pool = fixture.identity.db.pool(1);
    for query in [
        "SELECT id || token_hash || email || status AS t FROM invitations",
        "SELECT body AS t FROM outbox",
        "SELECT action || coalesce(details, '') AS t FROM audit_log",
    ] {
        seen.extend(texts(&pool, query));
    }
    for text in &seen {
        assert!(!text.contains(&token), "{text}");
    }
    // The audit log, which is kept for good, does not contain the recipient's address either.
    let audit = texts(&pool, "SELECT coalesce(details, '') AS t FROM audit_log");
    assert!(audit.iter().all(|details| !details.contains("example.com")));
}

#[tokio::test(flavor = "multi_thread")]
async fn invitations_are_listed_for_a_verified_address_shown_to_clients_only_with_scope_email() {
    let fixture = TeamFixture::start().await;
    fixture
        .invited(&fixture.owner, "sam@example.com", None)
        .await;
    fixture.give_address(&fixture.stranger, "sam@example.com", false);
    let own = fixture.get(&fixture.stranger, OWN).await.expect(200).json();
    assert_eq!(own, json!({ "invitations": [], "total": 0 }));
    fixture.give_address(&fixture.stranger, "sam@example.com", true);
    let own = fixture.get(&fixture.stranger, OWN).await.expect(200).json();
    assert_eq!(own["invitations"][0]["email"], "sam@example.com");
    let TeamFixture {
        identity, owner, ..
    } = fixture;
    let admin = crate::admin_api::superadmin(&identity, "root").await;
    let provider = Provider { identity, admin };
    let client = json!({ "name": "App", "scope": "teams email" });
    let client = provider.register(client).await;
    for (scope, email) in [
        ("teams", Value::Null),
        ("teams email", json!("sam@example.com")),
    ] {
        for (name, path) in [("Sam", OWN), ("Olga", OF_TEAM)] {
            let given = provider.given(name, &client, scope).await;
            let call = provider.identity.api.get(path).bearer(&given.access);
            let list = call.send().await.expect(200).json();
            assert_eq!(list["total"], 1);
            assert_eq!(list["invitations"][0]["email"], email, "{scope} {path}");
        }
    }
    let call = provider.identity.api.get(OF_TEAM).bearer(&owner.access);
    let list = call.send().await.expect(200).json();
    assert_eq!(list["invitations"][0]["email"], "sam@example.com");
}

#[tokio::test(flavor = "multi_thread")]
async fn inviting_again_renews_the_invitation_and_invalidates_the_older_mail() {
    let fixture = TeamFixture::start().await;
    let (first, old) = fixture
        .invited(&fixture.admin, "sam@example.com", None)
        .await;
    fixture.identity.hand.advance(Duration::days(3));
    let (second, new) = fixture
        .invited(&fixture.owner, "SAM@example.COM", Some("admin"))
        .await;
    assert_eq!(id(&first), id(&second));
    assert_eq!(first["created_at"], second["created_at"]);
    assert_eq!(second["expires_at"], json!("2026-12-01T12:00:00Z"));
    assert_eq!(
        (
            &second["email"],
            &second["role"],
            &second["invited_by"]["username"]
        ),
        (&json!("SAM@example.COM"), &json!("admin"), &json!("Olga"))
    );
    assert_eq!(fixture.invitations("").await["total"], 1);
    refused(
        fixture.answer(&fixture.stranger, &old).await,
        404,
        "invitation_not_found",
    );
    fixture.identity.hand.advance(Duration::days(6));
    fixture.answer(&fixture.stranger, &new).await.expect(200);
    assert_eq!(fixture.role_of("Sam").await.as_deref(), Some("admin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_the_mail_is_enough_to_join_and_works_for_one_account() {
    let fixture = TeamFixture::start().await;
    let (invitation, token) = fixture
        .invited(&fixture.owner, "other@example.com", None)
        .await;
    let audited = fixture.audit_end();
    let body = fixture
        .answer(&fixture.stranger, &token)
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&body["team"]["slug"], &body["team"]["member_count"]),
        (&json!("crew"), &json!(4))
    );
    let path = "/api/auth/validate?include=teams";
    let seen = fixture
        .get(&fixture.stranger, path)
        .await
        .expect(200)
        .json();
    assert_eq!(seen["teams"][0]["role"], "member");
    let sam = fixture.stranger.id;
    assert!(fixture.is_told(&fixture.stranger, Some("member")));
    assert_eq!(
        fixture.audit_since(audited),
        [format!("invitation.accepted {sam} {sam}")]
    );
    // The token is used again: by the same account, by a member, by another account, and after leaving.
    fixture.answer(&fixture.stranger, &token).await.expect(200);
    fixture.answer(&fixture.member, &token).await.expect(200);
    let late = fixture.identity.register("Late").await;
    refused(fixture.answer(&late, &token).await, 410, "invitation_gone");
    fixture.remove(&fixture.stranger, "sam").await.expect(204);
    refused(
        fixture.answer(&fixture.stranger, &token).await,
        410,
        "invitation_gone",
    );
    assert_eq!(fixture.newest_status().await, "accepted");
    let path = format!("{OF_TEAM}/{}", id(&invitation));
    refused(
        fixture.delete(&fixture.owner, &path).await,
        410,
        "invitation_gone",
    );
    let call = fixture
        .identity
        .api
        .post(&format!("/api/invitations/{token}"));
    refused(call.send().await, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_accepted_by_its_id_only_with_the_verified_address() {
    let fixture = TeamFixture::start().await;
    let (invitation, _) = fixture
        .invited(&fixture.owner, "Sam@Example.com", None)
        .await;
    let id = id(&invitation);
    let unknown = "0198f0a2-5c1e-7cc0-8a3b-1f2e3d4c5b6a";
    let not_found = async |who: &SignedIn, id: &str| {
        refused(fixture.answer(who, id).await, 404, "invitation_not_found");
        refused(fixture.decline(who, id).await, 404, "invitation_not_found");
    };
    not_found(&fixture.stranger, id).await;
    fixture.give_address(&fixture.stranger, "sam@example.com", false);
    not_found(&fixture.stranger, id).await;
    fixture.give_address(&fixture.stranger, "sam@example.org", true);
    not_found(&fixture.stranger, id).await;
    fixture.give_address(&fixture.stranger, "SAM@example.com", true);
    for text in [unknown, UNKNOWN, "1", "me", &id.replace('-', ""), "%C3%BC"] {
        not_found(&fixture.stranger, text).await;
    }
    // A member of the team learns as little.
    not_found(&fixture.member, id).await;
    fixture
        .answer(&fixture.stranger, &id.to_uppercase())
        .await
        .expect(200);
    fixture.answer(&fixture.stranger, id).await.expect(200);
    assert!(fixture.joined(&fixture.stranger).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_expires_after_seven_days() {
    let fixture = TeamFixture::start().await;
    fixture.give_address(&fixture.stranger, "sam@example.com", true);
    let (first, token) = fixture
        .invited(&fixture.owner, "sam@example.com", None)
        .await;
    let week = Duration::days(7);
    fixture
        .identity
        .hand
        .advance(week - Duration::microseconds(1));
    assert_eq!(fixture.newest_status().await, "pending");
    fixture.identity.hand.advance(Duration::microseconds(1));
    assert_eq!(fixture.newest_status().await, "expired");
    for name in [token.as_str(), id(&first)] {
        refused(
            fixture.answer(&fixture.stranger, name).await,
            410,
            "invitation_gone",
        );
        refused(
            fixture.decline(&fixture.stranger, name).await,
            410,
            "invitation_gone",
        );
    }
    let path = format!("{OF_TEAM}/{}", id(&first));
    refused(
        fixture.delete(&fixture.owner, &path).await,
        410,
        "invitation_gone",
    );
    let own = fixture.get(&fixture.stranger, OWN).await.expect(200).json();
    assert_eq!(own, json!({ "invitations": [], "total": 0 }));
    // Inviting again renews it.
    let (second, token) = fixture
        .invited(&fixture.owner, "sam@example.com", None)
        .await;
    assert_eq!(id(&first), id(&second));
    assert_eq!(second["status"], "pending");
    fixture.answer(&fixture.stranger, &token).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_manager_can_revoke_an_invitation() {
    let fixture = TeamFixture::start().await;
    let (invitation, token) = fixture
        .invited(&fixture.owner, "sam@example.com", None)
        .await;
    fixture.create(&fixture.stranger, "other").await.expect(201);
    let path = format!("{OF_TEAM}/{}", id(&invitation));
    // It cannot be found under another team.
    let elsewhere = path.replace("/crew/", "/other/");
    refused(
        fixture.delete(&fixture.stranger, &elsewhere).await,
        404,
        "invitation_not_found",
    );
    for odd in ["1", UNKNOWN, "0198f0a2-5c1e-7cc0-8a3b-1f2e3d4c5b6a"] {
        let reply = fixture
            .delete(&fixture.admin, &format!("{OF_TEAM}/{odd}"))
            .await;
        refused(reply, 404, "invitation_not_found");
    }
    let audited = fixture.audit_end();
    let reply = fixture.delete(&fixture.admin, &path).await.expect(204);
    assert!(reply.body.is_empty());
    let adam = fixture.admin.id;
    assert_eq!(
        fixture.audit_since(audited),
        [format!("invitation.revoked - {adam}")]
    );
    refused(
        fixture.delete(&fixture.admin, &path).await,
        410,
        "invitation_gone",
    );
    refused(
        fixture.answer(&fixture.stranger, &token).await,
        410,
        "invitation_gone",
    );
    assert_eq!(fixture.newest_status().await, "revoked");
    // Inviting again creates another invitation.
    let (again, token) = fixture
        .invited(&fixture.owner, "sam@example.com", None)
        .await;
    assert_ne!(id(&again), id(&invitation));
    assert_eq!(fixture.invitations("").await["total"], 2);
    fixture.answer(&fixture.stranger, &token).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_declined_by_its_id_or_by_the_token_of_the_mail() {
    let fixture = TeamFixture::start().await;
    fixture.give_address(&fixture.stranger, "sam@example.com", true);
    let (invitation, token) = fixture
        .invited(&fixture.owner, "sam@example.com", None)
        .await;
    let audited = fixture.audit_end();
    let reply = fixture
        .decline(&fixture.stranger, id(&invitation))
        .await
        .expect(204);
    assert!(reply.body.is_empty());
    let sam = fixture.stranger.id;
    assert_eq!(
        fixture.audit_since(audited),
        [format!("invitation.declined {sam} {sam}")]
    );
    for name in [token.as_str(), id(&invitation)] {
        refused(
            fixture.answer(&fixture.stranger, name).await,
            410,
            "invitation_gone",
        );
        refused(
            fixture.decline(&fixture.stranger, name).await,
            410,
            "invitation_gone",
        );
    }
    assert_eq!(fixture.newest_status().await, "declined");
    let (_, token) = fixture
        .invited(&fixture.owner, "somebody@example.com", None)
        .await;
    fixture.decline(&fixture.stranger, &token).await.expect(204);
    assert!(!fixture.joined(&fixture.stranger).await);
    let call = fixture
        .identity
        .api
        .delete(&format!("/api/invitations/{token}"));
    refused(call.send().await, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_consumes_only_invitations_to_their_verified_address() {
    let fixture = TeamFixture::start().await;
    let (_, for_sam) = fixture
        .invited(&fixture.owner, "sam@example.com", Some("admin"))
        .await;
    // An admin and a member try the link, which does not consume it.
    fixture.answer(&fixture.admin, &for_sam).await.expect(200);
    fixture.answer(&fixture.member, &for_sam).await.expect(200);
    assert_eq!(fixture.newest_status().await, "pending");
    fixture
        .answer(&fixture.stranger, &for_sam)
        .await
        .expect(200);

    fixture.give_address(&fixture.member, "mia@example.com", true);
    let (_, for_mia) = fixture
        .invited(&fixture.owner, "mia@example.com", Some("admin"))
        .await;
    let body = fixture
        .answer(&fixture.member, &for_mia)
        .await
        .expect(200)
        .json();
    assert_eq!(body["team"]["member_count"], 4);
    assert_eq!(fixture.newest_status().await, "accepted");
    // A link does not promote an account that is already a member.
    assert_eq!(fixture.role_of("Mia").await.as_deref(), Some("member"));
    let late = fixture.identity.register("Late").await;
    refused(
        fixture.answer(&late, &for_mia).await,
        410,
        "invitation_gone",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_grants_admin_only_while_its_inviter_is_an_active_admin() {
    let fixture = TeamFixture::start().await;
    let role_of_new = async |name: &str, inviter: &SignedIn, meanwhile: &str| {
        let email = format!("{name}@example.com");
        let (_, token) = fixture.invited(inviter, &email, Some("admin")).await;
        if meanwhile == "demoted" {
            fixture
                .set_role(&fixture.owner, "adam", "member")
                .await
                .expect(200);
        } else {
            fixture.identity.sql(meanwhile);
        }
        let new = fixture.identity.register(name).await;
        fixture.answer(&new, &token).await.expect(200);
        fixture.role_of(name).await.unwrap()
    };
    assert_eq!(
        role_of_new("first", &fixture.admin, "SELECT 1").await,
        "admin"
    );
    assert_eq!(
        role_of_new("second", &fixture.admin, "demoted").await,
        "member"
    );
    fixture
        .set_role(&fixture.owner, "adam", "admin")
        .await
        .expect(200);
    let deactivated = "UPDATE users SET is_active = FALSE WHERE username = 'Adam'";
    assert_eq!(
        role_of_new("third", &fixture.admin, deactivated).await,
        "member"
    );
    fixture
        .set_role(&fixture.owner, "mia", "admin")
        .await
        .expect(200);
    let gone = "DELETE FROM users WHERE username = 'Mia'";
    let (_, _) = fixture
        .invited(&fixture.member, "fifth@example.com", None)
        .await;
    assert_eq!(role_of_new("fourth", &fixture.member, gone).await, "member");
    let list = fixture
        .get(&fixture.owner, OF_TEAM)
        .await
        .expect(200)
        .json();
    let mut all = list["invitations"].as_array().unwrap().iter();
    let fifth = all.find(|i| i["email"] == "fifth@example.com").unwrap();
    assert_eq!(fifth["invited_by"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_or_being_removed_revokes_the_members_invitations() {
    let fixture = TeamFixture::start().await;
    fixture.give_address(&fixture.admin, "adam@example.com", true);
    let (_, friend) = fixture
        .invited(&fixture.admin, "friend@example.com", None)
        .await;
    let (_, himself) = fixture
        .invited(&fixture.owner, "Adam@example.com", None)
        .await;
    let (_, other) = fixture
        .invited(&fixture.owner, "other@example.com", None)
        .await;
    let audited = fixture.audit_end();
    fixture.remove(&fixture.owner, "adam").await.expect(204);
    let audit = fixture.audit_since(audited);
    let revoked = format!("invitation.revoked - {}", fixture.owner.id);
    assert_eq!(
        audit.iter().filter(|entry| **entry == revoked).count(),
        2,
        "{audit:?}"
    );
    for token in [&friend, &himself] {
        refused(
            fixture.answer(&fixture.admin, token).await,
            410,
            "invitation_gone",
        );
    }
    fixture.answer(&fixture.stranger, &other).await.expect(200);

    fixture
        .set_role(&fixture.owner, "mia", "admin")
        .await
        .expect(200);
    let (_, token) = fixture
        .invited(&fixture.member, "friend@example.com", None)
        .await;
    fixture.remove(&fixture.member, "mia").await.expect(204);
    refused(
        fixture.answer(&fixture.admin, &token).await,
        410,
        "invitation_gone",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_invitations_are_listed_for_the_callers_verified_address() {
    let fixture = TeamFixture::start().await;
    let own = async |who: &SignedIn, query: &str| {
        let path = format!("{OWN}{query}");
        fixture.get(who, &path).await.expect(200).json()
    };
    let nothing = json!({ "invitations": [], "total": 0 });
    assert_eq!(own(&fixture.stranger, "").await, nothing);
    let body =
        json!({ "username": "fay", "password": "correct horse", "email": "Fay@Example.com" });
    let call = fixture.identity.api.post("/api/auth/register").json(body);
    let fay = signed_in(&call.send().await.expect(201).json());
    fixture
        .invited(&fixture.owner, "fay@example.com", None)
        .await;
    fixture.identity.hand.advance(Duration::seconds(1));
    fixture.create(&fixture.owner, "band").await.expect(201);
    let body = json!({ "email": "FAY@example.com" });
    fixture
        .post(&fixture.owner, "/api/teams/band/invite", body)
        .await
        .expect(200);
    fixture
        .invited(&fixture.owner, "fay@example.org", None)
        .await;

    // An unverified address shows nothing.
    assert_eq!(own(&fay, "").await, nothing);
    fixture.give_address(&fay, "Fay@Example.com", true);
    let list = own(&fay, "").await;
    let teams = list["invitations"].as_array().unwrap().iter();
    let teams: Vec<_> = teams.map(|i| i["team"]["slug"].as_str().unwrap()).collect();
    assert_eq!((teams, &list["total"]), (vec!["band", "crew"], &json!(2)));
    let page = own(&fay, "?limit=1&offset=1").await;
    assert_eq!(page["invitations"][0], list["invitations"][1]);
    assert_eq!(page["total"], 2);
    assert_eq!(own(&fixture.stranger, "").await, nothing);
    for query in ["?limit=0", "?limit=201", "?offset=-1", "?limit=x"] {
        let reply = fixture.get(&fay, &format!("{OWN}{query}")).await;
        refused(reply, 400, "validation_failed");
    }
    // It accepts no invitation by id either; the tokens of the mails do.
    fixture.give_address(&fay, "Fay@Example.com", false);
    let first = id(&list["invitations"][0]);
    refused(
        fixture.answer(&fay, first).await,
        404,
        "invitation_not_found",
    );
    for token in fixture.tokens() {
        fixture.answer(&fay, &token).await.expect(200);
    }
    assert_eq!(own(&fay, "").await, nothing);
    let reply = fixture
        .identity
        .api
        .get(&format!("{OWN}?limit=x"))
        .send()
        .await;
    refused(reply, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_teams_invitations_are_listed_by_status_and_in_pages() {
    let fixture = TeamFixture::start().await;
    let mut ids = Vec::new();
    for name in ["lapsed", "declined", "revoked", "accepted", "pending"] {
        let (invitation, token) = fixture
            .invited(&fixture.owner, &format!("{name}@example.com"), None)
            .await;
        ids.push(id(&invitation).to_owned());
        match name {
            "lapsed" => fixture.identity.hand.advance(Duration::days(7)),
            "declined" => drop(fixture.decline(&fixture.stranger, &token).await.expect(204)),
            "revoked" => {
                let path = format!("{OF_TEAM}/{}", id(&invitation));
                fixture.delete(&fixture.owner, &path).await.expect(204);
            }
            "accepted" => drop(fixture.answer(&fixture.stranger, &token).await.expect(200)),
            _ => {}
        }
        fixture.identity.hand.advance(Duration::seconds(1));
    }
    ids.reverse();
    let listed = async |query: &str| {
        let list = fixture.invitations(query).await;
        let rows = list["invitations"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.map(|i| id(i).to_owned()).collect();
        (rows, list["total"].as_i64().unwrap())
    };
    assert_eq!(listed("").await, (ids.clone(), 5));
    assert_eq!(listed("?limit=2&offset=1").await, (ids[1..3].to_vec(), 5));
    for (n, status) in ["pending", "accepted", "revoked", "declined", "expired"]
        .iter()
        .enumerate()
    {
        let (rows, total) = listed(&format!("?status={status}")).await;
        assert_eq!((rows, total), (vec![ids[n].clone()], 1), "{status}");
        let list = fixture.invitations(&format!("?status={status}")).await;
        assert_eq!(list["invitations"][0]["status"], *status);
    }
    for query in ["?status=open", "?limit=0", "?limit=201", "?offset=-1"] {
        let reply = fixture
            .get(&fixture.admin, &format!("{OF_TEAM}{query}"))
            .await;
        refused(reply, 400, "validation_failed");
        let reply = fixture
            .get(&fixture.member, &format!("{OF_TEAM}{query}"))
            .await;
        refused(reply, 403, "forbidden");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_accounts_that_follow_one_invitation_link_one_joins() {
    let fixture = TeamFixture::start().await;
    let (_, token) = fixture
        .invited(&fixture.owner, "one@example.com", None)
        .await;
    let path = format!("/api/invitations/{token}");
    let mut answers = Vec::new();
    for n in 0..8 {
        let somebody = fixture.identity.register(&format!("somebody-{n}")).await;
        let call = fixture.identity.api.post(&path).bearer(&somebody.access);
        answers.push(tokio::spawn(async move { call.send().await.status }));
    }
    let mut statuses = Vec::new();
    for answer in answers {
        statuses.push(answer.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 410, 410, 410, 410, 410, 410, 410]);
    assert_eq!(fixture.roles().await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn following_an_invitation_link_on_many_devices_joins_once() {
    let fixture = TeamFixture::start().await;
    let (_, token) = fixture
        .invited(&fixture.owner, "sam@example.com", None)
        .await;
    let path = format!("/api/invitations/{token}");
    let answers: Vec<_> = (0..8)
        .map(|_| {
            let call = fixture
                .identity
                .api
                .post(&path)
                .bearer(&fixture.stranger.access);
            tokio::spawn(async move { call.send().await.status })
        })
        .collect();
    for answer in answers {
        assert_eq!(answer.await.unwrap(), 200);
    }
    assert_eq!(fixture.roles().await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_invitations_of_one_address_create_one_with_one_valid_mail() {
    let fixture = TeamFixture::start().await;
    let asking: Vec<_> = (0..8)
        .map(|n| {
            let by = if n % 2 == 0 {
                &fixture.owner
            } else {
                &fixture.admin
            };
            let email = ["sam@example.com", "SAM@EXAMPLE.COM"][n / 4];
            let call = fixture.identity.api.post("/api/teams/crew/invite");
            let call = call.bearer(&by.access).json(json!({ "email": email }));
            tokio::spawn(async move { call.send().await })
        })
        .collect();
    let mut ids = Vec::new();
    for reply in asking {
        let reply = reply.await.unwrap().expect(200).json();
        ids.push(id(&reply["invitation"]).to_owned());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(fixture.invitations("?status=pending").await["total"], 1);
    let tokens = fixture.tokens();
    assert_eq!(tokens.len(), 8);
    let mut statuses = Vec::new();
    for token in tokens {
        statuses.push(fixture.decline(&fixture.stranger, &token).await.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 404, 404, 404, 404, 404, 404, 404]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_either_accepted_or_revoked_but_never_both() {
    let fixture = TeamFixture::start().await;
    for _ in 0..6 {
        let (invitation, token) = fixture
            .invited(&fixture.owner, "sam@example.com", None)
            .await;
        let path = format!("{OF_TEAM}/{}", id(&invitation));
        let (joined, revoked) = tokio::join!(
            fixture.answer(&fixture.stranger, &token),
            fixture.delete(&fixture.admin, &path)
        );
        match (joined.status, revoked.status) {
            (200, 410) => drop(fixture.remove(&fixture.owner, "sam").await.expect(204)),
            (410, 204) => assert!(!fixture.joined(&fixture.stranger).await),
            both => panic!("{both:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_at_its_team_limit_can_accept_the_invitation_later() {
    let fixture = TeamFixture::start_with(|config| config.teams.max_joined = 1).await;
    fixture
        .create(&fixture.stranger, "others")
        .await
        .expect(201);
    let fay = fixture.identity.register("Fay").await;
    let body = json!({ "username": "fay" });
    fixture
        .post(&fixture.stranger, "/api/teams/others/members", body)
        .await
        .expect(201);
    let (_, token) = fixture
        .invited(&fixture.owner, "fay@example.com", None)
        .await;
    refused(fixture.answer(&fay, &token).await, 400, "validation_failed");
    assert_eq!(fixture.newest_status().await, "pending");
    fixture
        .delete(&fay, "/api/teams/others/members/fay")
        .await
        .expect(204);
    fixture.answer(&fay, &token).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_can_send_twenty_invitations_before_it_is_rate_limited() {
    let fixture = TeamFixture::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    for n in 0..20 {
        // Invalid invitations do not count.
        fixture
            .invite(&fixture.admin, "nobody", None)
            .await
            .expect(400);
        let email = format!("somebody-{n}@example.com");
        fixture
            .invite(&fixture.admin, &email, None)
            .await
            .expect(200);
    }
    let reply = fixture
        .invite(&fixture.admin, "one-more@example.com", None)
        .await;
    let reply = refused(reply, 429, "rate_limited");
    let seconds: u64 = reply.header("retry-after").parse().unwrap();
    assert!((1..=180).contains(&seconds), "{seconds}");
    assert_eq!(fixture.tokens().len(), 20);
    refused(
        fixture.invite(&fixture.member, "a@example.com", None).await,
        403,
        "forbidden",
    );
    fixture
        .invite(&fixture.owner, "one-more@example.com", None)
        .await
        .expect(200);
}
