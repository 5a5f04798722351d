//! Invitations to a team by mail, and the answers to them.

use chrono::Duration;
use event_types::MailTemplate;
use serde_json::{Value, json};

use crate::cast::Cast;
use crate::oauth_support::Provider;
use crate::support::{SignedIn, beginning, refused, signed_in, texts};

const OWN: &str = "/api/user/invitations";
const OF_TEAM: &str = "/api/teams/crew/invitations";
/// Has the form of a token, but was never issued.
const UNKNOWN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

impl Cast {
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
    let cast = Cast::assemble().await;
    let show = |name: &str, body: Value| {
        insta::assert_json_snapshot!(name, body, {
            ".invitation.id" => "[uuid]",
            ".invitations[].id" => "[uuid]",
        });
    };
    let invited = cast
        .invite(&cast.admin, "Sam@Example.com", Some("ADMIN"))
        .await;
    show("invited", invited.expect(200).json());
    show("invitations_of_a_team", cast.invitations("").await);
    cast.give_address(&cast.stranger, "sam@example.com", true);
    let own = cast.get(&cast.stranger, OWN).await.expect(200).json();
    show("own_invitations", own);
    let accepted = cast.answer(&cast.stranger, &cast.tokens()[0]).await;
    show("invitation_accepted", accepted.expect(200).json());
    assert_eq!(cast.role_of("Sam").await.as_deref(), Some("admin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_requires_a_valid_address_and_an_assignable_role() {
    let cast = Cast::assemble().await;
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
        let reply = cast.post(&cast.owner, "/api/teams/crew/invite", body).await;
        refused(reply, 400, "validation_failed");
    }
    assert_eq!(cast.invitations("").await["total"], 0);
    assert!(cast.tokens().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_to_an_invitation_does_not_reveal_whose_the_address_is() {
    let cast = Cast::assemble().await;
    cast.give_address(&cast.stranger, "sam@example.com", true);
    cast.give_address(&cast.member, "mia@example.com", true);
    let answer = async |email: &str| {
        let reply = cast.invite(&cast.owner, email, None).await.expect(200);
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
    assert_eq!(cast.tokens().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_invitation_mail_names_team_inviter_and_expiry_as_plain_data() {
    let cast = Cast::assemble().await;
    let hostile = "<b onload=x>&\"' https://evil.example {{team}}";
    let body = json!({ "name": hostile });
    cast.put(&cast.owner, "/api/teams/crew", body)
        .await
        .expect(200);
    let (invitation, token) = cast
        .invited(&cast.admin, "New.Person@Example.com", None)
        .await;
    let mail = cast.identity.mails().pop().unwrap();
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
    let base = cast.identity.running.base_url();
    assert_eq!(link, format!("{base}/invitations/{token}"));
    assert_eq!(token.len(), 43);
    assert_eq!(expires_at, beginning() + Duration::days(7));
    assert_eq!(invitation["expires_at"], json!("2026-11-28T12:00:00Z"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_token_appears_in_no_table_response_or_error() {
    let cast = Cast::assemble().await;
    cast.give_address(&cast.stranger, "sam@example.com", true);
    let reply = cast
        .invite(&cast.owner, "sam@example.com", None)
        .await
        .text();
    let token = cast.tokens().remove(0);
    let mut seen = vec![reply];
    for (who, path) in [(&cast.owner, OF_TEAM), (&cast.stranger, OWN)] {
        seen.push(cast.get(who, path).await.expect(200).text());
    }
    seen.push(cast.answer(&cast.member, &token).await.expect(200).text());
    seen.push(cast.answer(&cast.stranger, &token).await.expect(200).text());
    cast.remove(&cast.stranger, "sam").await.expect(204);
    seen.push(cast.answer(&cast.stranger, &token).await.expect(410).text());
    let pool = cast.identity.db.pool(1);
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
    let cast = Cast::assemble().await;
    cast.invited(&cast.owner, "sam@example.com", None).await;
    cast.give_address(&cast.stranger, "sam@example.com", false);
    let own = cast.get(&cast.stranger, OWN).await.expect(200).json();
    assert_eq!(own, json!({ "invitations": [], "total": 0 }));
    cast.give_address(&cast.stranger, "sam@example.com", true);
    let own = cast.get(&cast.stranger, OWN).await.expect(200).json();
    assert_eq!(own["invitations"][0]["email"], "sam@example.com");
    let Cast {
        identity, owner, ..
    } = cast;
    let admin = crate::admin_api::superadmin(&identity, "root").await;
    let provider = Provider { identity, admin };
    let client = provider.confidential().await;
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
    let cast = Cast::assemble().await;
    let (first, old) = cast.invited(&cast.admin, "sam@example.com", None).await;
    cast.identity.hand.advance(Duration::days(3));
    let (second, new) = cast
        .invited(&cast.owner, "SAM@example.COM", Some("admin"))
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
    assert_eq!(cast.invitations("").await["total"], 1);
    refused(
        cast.answer(&cast.stranger, &old).await,
        404,
        "invitation_not_found",
    );
    cast.identity.hand.advance(Duration::days(6));
    cast.answer(&cast.stranger, &new).await.expect(200);
    assert_eq!(cast.role_of("Sam").await.as_deref(), Some("admin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_the_mail_is_enough_to_join_and_works_for_one_account() {
    let cast = Cast::assemble().await;
    let (invitation, token) = cast.invited(&cast.owner, "other@example.com", None).await;
    let audited = cast.audit_end();
    let body = cast.answer(&cast.stranger, &token).await.expect(200).json();
    assert_eq!(
        (&body["team"]["slug"], &body["team"]["member_count"]),
        (&json!("crew"), &json!(4))
    );
    let path = "/api/auth/validate?include=teams";
    let seen = cast.get(&cast.stranger, path).await.expect(200).json();
    assert_eq!(seen["teams"][0]["role"], "member");
    let sam = cast.stranger.id;
    assert!(cast.is_told(&cast.stranger, Some("member")));
    assert_eq!(
        cast.audit_since(audited),
        [format!("invitation.accepted {sam} {sam}")]
    );
    // The token is used again: by the same account, by a member, by another account, and after leaving.
    cast.answer(&cast.stranger, &token).await.expect(200);
    cast.answer(&cast.member, &token).await.expect(200);
    let late = cast.identity.register("Late").await;
    refused(cast.answer(&late, &token).await, 410, "invitation_gone");
    cast.remove(&cast.stranger, "sam").await.expect(204);
    refused(
        cast.answer(&cast.stranger, &token).await,
        410,
        "invitation_gone",
    );
    assert_eq!(cast.newest_status().await, "accepted");
    let path = format!("{OF_TEAM}/{}", id(&invitation));
    refused(
        cast.delete(&cast.owner, &path).await,
        410,
        "invitation_gone",
    );
    let call = cast.identity.api.post(&format!("/api/invitations/{token}"));
    refused(call.send().await, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_accepted_by_its_id_only_with_the_verified_address() {
    let cast = Cast::assemble().await;
    let (invitation, _) = cast.invited(&cast.owner, "Sam@Example.com", None).await;
    let id = id(&invitation);
    let unknown = "0198f0a2-5c1e-7cc0-8a3b-1f2e3d4c5b6a";
    let not_found = async |who: &SignedIn, id: &str| {
        refused(cast.answer(who, id).await, 404, "invitation_not_found");
        refused(cast.decline(who, id).await, 404, "invitation_not_found");
    };
    not_found(&cast.stranger, id).await;
    cast.give_address(&cast.stranger, "sam@example.com", false);
    not_found(&cast.stranger, id).await;
    cast.give_address(&cast.stranger, "sam@example.org", true);
    not_found(&cast.stranger, id).await;
    cast.give_address(&cast.stranger, "SAM@example.com", true);
    for text in [unknown, UNKNOWN, "1", "me", &id.replace('-', ""), "%C3%BC"] {
        not_found(&cast.stranger, text).await;
    }
    // A member of the team learns as little.
    not_found(&cast.member, id).await;
    cast.answer(&cast.stranger, &id.to_uppercase())
        .await
        .expect(200);
    cast.answer(&cast.stranger, id).await.expect(200);
    assert!(cast.joined(&cast.stranger).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_expires_after_seven_days() {
    let cast = Cast::assemble().await;
    cast.give_address(&cast.stranger, "sam@example.com", true);
    let (first, token) = cast.invited(&cast.owner, "sam@example.com", None).await;
    let week = Duration::days(7);
    cast.identity.hand.advance(week - Duration::microseconds(1));
    assert_eq!(cast.newest_status().await, "pending");
    cast.identity.hand.advance(Duration::microseconds(1));
    assert_eq!(cast.newest_status().await, "expired");
    for name in [token.as_str(), id(&first)] {
        refused(
            cast.answer(&cast.stranger, name).await,
            410,
            "invitation_gone",
        );
        refused(
            cast.decline(&cast.stranger, name).await,
            410,
            "invitation_gone",
        );
    }
    let path = format!("{OF_TEAM}/{}", id(&first));
    refused(
        cast.delete(&cast.owner, &path).await,
        410,
        "invitation_gone",
    );
    let own = cast.get(&cast.stranger, OWN).await.expect(200).json();
    assert_eq!(own, json!({ "invitations": [], "total": 0 }));
    // Inviting again renews it.
    let (second, token) = cast.invited(&cast.owner, "sam@example.com", None).await;
    assert_eq!(id(&first), id(&second));
    assert_eq!(second["status"], "pending");
    cast.answer(&cast.stranger, &token).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_manager_can_revoke_an_invitation() {
    let cast = Cast::assemble().await;
    let (invitation, token) = cast.invited(&cast.owner, "sam@example.com", None).await;
    cast.create(&cast.stranger, "other").await.expect(201);
    let path = format!("{OF_TEAM}/{}", id(&invitation));
    // It cannot be found under another team.
    let elsewhere = path.replace("/crew/", "/other/");
    refused(
        cast.delete(&cast.stranger, &elsewhere).await,
        404,
        "invitation_not_found",
    );
    for odd in ["1", UNKNOWN, "0198f0a2-5c1e-7cc0-8a3b-1f2e3d4c5b6a"] {
        let reply = cast.delete(&cast.admin, &format!("{OF_TEAM}/{odd}")).await;
        refused(reply, 404, "invitation_not_found");
    }
    let audited = cast.audit_end();
    let reply = cast.delete(&cast.admin, &path).await.expect(204);
    assert!(reply.body.is_empty());
    let adam = cast.admin.id;
    assert_eq!(
        cast.audit_since(audited),
        [format!("invitation.revoked - {adam}")]
    );
    refused(
        cast.delete(&cast.admin, &path).await,
        410,
        "invitation_gone",
    );
    refused(
        cast.answer(&cast.stranger, &token).await,
        410,
        "invitation_gone",
    );
    assert_eq!(cast.newest_status().await, "revoked");
    // Inviting again creates another invitation.
    let (again, token) = cast.invited(&cast.owner, "sam@example.com", None).await;
    assert_ne!(id(&again), id(&invitation));
    assert_eq!(cast.invitations("").await["total"], 2);
    cast.answer(&cast.stranger, &token).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_declined_by_its_id_or_by_the_token_of_the_mail() {
    let cast = Cast::assemble().await;
    cast.give_address(&cast.stranger, "sam@example.com", true);
    let (invitation, token) = cast.invited(&cast.owner, "sam@example.com", None).await;
    let audited = cast.audit_end();
    let reply = cast
        .decline(&cast.stranger, id(&invitation))
        .await
        .expect(204);
    assert!(reply.body.is_empty());
    let sam = cast.stranger.id;
    assert_eq!(
        cast.audit_since(audited),
        [format!("invitation.declined {sam} {sam}")]
    );
    for name in [token.as_str(), id(&invitation)] {
        refused(
            cast.answer(&cast.stranger, name).await,
            410,
            "invitation_gone",
        );
        refused(
            cast.decline(&cast.stranger, name).await,
            410,
            "invitation_gone",
        );
    }
    assert_eq!(cast.newest_status().await, "declined");
    let (_, token) = cast
        .invited(&cast.owner, "somebody@example.com", None)
        .await;
    cast.decline(&cast.stranger, &token).await.expect(204);
    assert!(!cast.joined(&cast.stranger).await);
    let call = cast
        .identity
        .api
        .delete(&format!("/api/invitations/{token}"));
    refused(call.send().await, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_consumes_only_invitations_to_their_verified_address() {
    let cast = Cast::assemble().await;
    let (_, for_sam) = cast
        .invited(&cast.owner, "sam@example.com", Some("admin"))
        .await;
    // An admin and a member try the link, which does not consume it.
    cast.answer(&cast.admin, &for_sam).await.expect(200);
    cast.answer(&cast.member, &for_sam).await.expect(200);
    assert_eq!(cast.newest_status().await, "pending");
    cast.answer(&cast.stranger, &for_sam).await.expect(200);

    cast.give_address(&cast.member, "mia@example.com", true);
    let (_, for_mia) = cast
        .invited(&cast.owner, "mia@example.com", Some("admin"))
        .await;
    let body = cast.answer(&cast.member, &for_mia).await.expect(200).json();
    assert_eq!(body["team"]["member_count"], 4);
    assert_eq!(cast.newest_status().await, "accepted");
    // A link does not promote an account that is already a member.
    assert_eq!(cast.role_of("Mia").await.as_deref(), Some("member"));
    let late = cast.identity.register("Late").await;
    refused(cast.answer(&late, &for_mia).await, 410, "invitation_gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_grants_admin_only_while_its_inviter_is_an_active_admin() {
    let cast = Cast::assemble().await;
    let role_of_new = async |name: &str, inviter: &SignedIn, meanwhile: &str| {
        let email = format!("{name}@example.com");
        let (_, token) = cast.invited(inviter, &email, Some("admin")).await;
        if meanwhile == "demoted" {
            cast.set_role(&cast.owner, "adam", "member")
                .await
                .expect(200);
        } else {
            cast.identity.sql(meanwhile);
        }
        let new = cast.identity.register(name).await;
        cast.answer(&new, &token).await.expect(200);
        cast.role_of(name).await.unwrap()
    };
    assert_eq!(role_of_new("first", &cast.admin, "SELECT 1").await, "admin");
    assert_eq!(
        role_of_new("second", &cast.admin, "demoted").await,
        "member"
    );
    cast.set_role(&cast.owner, "adam", "admin")
        .await
        .expect(200);
    let deactivated = "UPDATE users SET is_active = FALSE WHERE username = 'Adam'";
    assert_eq!(
        role_of_new("third", &cast.admin, deactivated).await,
        "member"
    );
    cast.set_role(&cast.owner, "mia", "admin").await.expect(200);
    let gone = "DELETE FROM users WHERE username = 'Mia'";
    let (_, _) = cast.invited(&cast.member, "fifth@example.com", None).await;
    assert_eq!(role_of_new("fourth", &cast.member, gone).await, "member");
    let list = cast.get(&cast.owner, OF_TEAM).await.expect(200).json();
    let mut all = list["invitations"].as_array().unwrap().iter();
    let fifth = all.find(|i| i["email"] == "fifth@example.com").unwrap();
    assert_eq!(fifth["invited_by"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_or_being_removed_revokes_the_members_invitations() {
    let cast = Cast::assemble().await;
    cast.give_address(&cast.admin, "adam@example.com", true);
    let (_, friend) = cast.invited(&cast.admin, "friend@example.com", None).await;
    let (_, himself) = cast.invited(&cast.owner, "Adam@example.com", None).await;
    let (_, other) = cast.invited(&cast.owner, "other@example.com", None).await;
    let audited = cast.audit_end();
    cast.remove(&cast.owner, "adam").await.expect(204);
    let audit = cast.audit_since(audited);
    let revoked = format!("invitation.revoked - {}", cast.owner.id);
    assert_eq!(
        audit.iter().filter(|entry| **entry == revoked).count(),
        2,
        "{audit:?}"
    );
    for token in [&friend, &himself] {
        refused(
            cast.answer(&cast.admin, token).await,
            410,
            "invitation_gone",
        );
    }
    cast.answer(&cast.stranger, &other).await.expect(200);

    cast.set_role(&cast.owner, "mia", "admin").await.expect(200);
    let (_, token) = cast.invited(&cast.member, "friend@example.com", None).await;
    cast.remove(&cast.member, "mia").await.expect(204);
    refused(
        cast.answer(&cast.admin, &token).await,
        410,
        "invitation_gone",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_invitations_are_listed_for_the_callers_verified_address() {
    let cast = Cast::assemble().await;
    let own = async |who: &SignedIn, query: &str| {
        let path = format!("{OWN}{query}");
        cast.get(who, &path).await.expect(200).json()
    };
    let nothing = json!({ "invitations": [], "total": 0 });
    assert_eq!(own(&cast.stranger, "").await, nothing);
    let body =
        json!({ "username": "fay", "password": "correct horse", "email": "Fay@Example.com" });
    let call = cast.identity.api.post("/api/auth/register").json(body);
    let fay = signed_in(&call.send().await.expect(201).json());
    cast.invited(&cast.owner, "fay@example.com", None).await;
    cast.identity.hand.advance(Duration::seconds(1));
    cast.create(&cast.owner, "band").await.expect(201);
    let body = json!({ "email": "FAY@example.com" });
    cast.post(&cast.owner, "/api/teams/band/invite", body)
        .await
        .expect(200);
    cast.invited(&cast.owner, "fay@example.org", None).await;

    // An unverified address shows nothing.
    assert_eq!(own(&fay, "").await, nothing);
    cast.give_address(&fay, "Fay@Example.com", true);
    let list = own(&fay, "").await;
    let teams = list["invitations"].as_array().unwrap().iter();
    let teams: Vec<_> = teams.map(|i| i["team"]["slug"].as_str().unwrap()).collect();
    assert_eq!((teams, &list["total"]), (vec!["band", "crew"], &json!(2)));
    let page = own(&fay, "?limit=1&offset=1").await;
    assert_eq!(page["invitations"][0], list["invitations"][1]);
    assert_eq!(page["total"], 2);
    assert_eq!(own(&cast.stranger, "").await, nothing);
    for query in ["?limit=0", "?limit=201", "?offset=-1", "?limit=x"] {
        let reply = cast.get(&fay, &format!("{OWN}{query}")).await;
        refused(reply, 400, "validation_failed");
    }
    // It accepts no invitation by id either; the tokens of the mails do.
    cast.give_address(&fay, "Fay@Example.com", false);
    let first = id(&list["invitations"][0]);
    refused(cast.answer(&fay, first).await, 404, "invitation_not_found");
    for token in cast.tokens() {
        cast.answer(&fay, &token).await.expect(200);
    }
    assert_eq!(own(&fay, "").await, nothing);
    let reply = cast
        .identity
        .api
        .get(&format!("{OWN}?limit=x"))
        .send()
        .await;
    refused(reply, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_teams_invitations_are_listed_by_status_and_in_pages() {
    let cast = Cast::assemble().await;
    let mut ids = Vec::new();
    for name in ["lapsed", "declined", "revoked", "accepted", "pending"] {
        let (invitation, token) = cast
            .invited(&cast.owner, &format!("{name}@example.com"), None)
            .await;
        ids.push(id(&invitation).to_owned());
        match name {
            "lapsed" => cast.identity.hand.advance(Duration::days(7)),
            "declined" => drop(cast.decline(&cast.stranger, &token).await.expect(204)),
            "revoked" => {
                let path = format!("{OF_TEAM}/{}", id(&invitation));
                cast.delete(&cast.owner, &path).await.expect(204);
            }
            "accepted" => drop(cast.answer(&cast.stranger, &token).await.expect(200)),
            _ => {}
        }
        cast.identity.hand.advance(Duration::seconds(1));
    }
    ids.reverse();
    let listed = async |query: &str| {
        let list = cast.invitations(query).await;
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
        let list = cast.invitations(&format!("?status={status}")).await;
        assert_eq!(list["invitations"][0]["status"], *status);
    }
    for query in ["?status=open", "?limit=0", "?limit=201", "?offset=-1"] {
        let reply = cast.get(&cast.admin, &format!("{OF_TEAM}{query}")).await;
        refused(reply, 400, "validation_failed");
        let reply = cast.get(&cast.member, &format!("{OF_TEAM}{query}")).await;
        refused(reply, 403, "forbidden");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_accounts_that_follow_one_invitation_link_one_joins() {
    let cast = Cast::assemble().await;
    let (_, token) = cast.invited(&cast.owner, "one@example.com", None).await;
    let path = format!("/api/invitations/{token}");
    let mut answers = Vec::new();
    for n in 0..8 {
        let somebody = cast.identity.register(&format!("somebody-{n}")).await;
        let call = cast.identity.api.post(&path).bearer(&somebody.access);
        answers.push(tokio::spawn(async move { call.send().await.status }));
    }
    let mut statuses = Vec::new();
    for answer in answers {
        statuses.push(answer.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 410, 410, 410, 410, 410, 410, 410]);
    assert_eq!(cast.roles().await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn following_an_invitation_link_on_many_devices_joins_once() {
    let cast = Cast::assemble().await;
    let (_, token) = cast.invited(&cast.owner, "sam@example.com", None).await;
    let path = format!("/api/invitations/{token}");
    let answers: Vec<_> = (0..8)
        .map(|_| {
            let call = cast.identity.api.post(&path).bearer(&cast.stranger.access);
            tokio::spawn(async move { call.send().await.status })
        })
        .collect();
    for answer in answers {
        assert_eq!(answer.await.unwrap(), 200);
    }
    assert_eq!(cast.roles().await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_invitations_of_one_address_create_one_with_one_valid_mail() {
    let cast = Cast::assemble().await;
    let asking: Vec<_> = (0..8)
        .map(|n| {
            let by = if n % 2 == 0 { &cast.owner } else { &cast.admin };
            let email = ["sam@example.com", "SAM@EXAMPLE.COM"][n / 4];
            let call = cast.identity.api.post("/api/teams/crew/invite");
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
    assert_eq!(cast.invitations("?status=pending").await["total"], 1);
    let tokens = cast.tokens();
    assert_eq!(tokens.len(), 8);
    let mut statuses = Vec::new();
    for token in tokens {
        statuses.push(cast.decline(&cast.stranger, &token).await.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 404, 404, 404, 404, 404, 404, 404]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_either_accepted_or_revoked_but_never_both() {
    let cast = Cast::assemble().await;
    for _ in 0..6 {
        let (invitation, token) = cast.invited(&cast.owner, "sam@example.com", None).await;
        let path = format!("{OF_TEAM}/{}", id(&invitation));
        let (joined, revoked) = tokio::join!(
            cast.answer(&cast.stranger, &token),
            cast.delete(&cast.admin, &path)
        );
        match (joined.status, revoked.status) {
            (200, 410) => drop(cast.remove(&cast.owner, "sam").await.expect(204)),
            (410, 204) => assert!(!cast.joined(&cast.stranger).await),
            both => panic!("{both:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_at_its_team_limit_can_accept_the_invitation_later() {
    let cast = Cast::assemble_with(|config| config.teams.max_joined = 1).await;
    cast.create(&cast.stranger, "others").await.expect(201);
    let fay = cast.identity.register("Fay").await;
    let body = json!({ "username": "fay" });
    cast.post(&cast.stranger, "/api/teams/others/members", body)
        .await
        .expect(201);
    let (_, token) = cast.invited(&cast.owner, "fay@example.com", None).await;
    refused(cast.answer(&fay, &token).await, 400, "validation_failed");
    assert_eq!(cast.newest_status().await, "pending");
    cast.delete(&fay, "/api/teams/others/members/fay")
        .await
        .expect(204);
    cast.answer(&fay, &token).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_can_send_twenty_invitations_before_it_is_rate_limited() {
    let cast = Cast::assemble_with(|config| config.rate_limits.enabled = Some(true)).await;
    for n in 0..20 {
        // Invalid invitations do not count.
        cast.invite(&cast.admin, "nobody", None).await.expect(400);
        let email = format!("somebody-{n}@example.com");
        cast.invite(&cast.admin, &email, None).await.expect(200);
    }
    let reply = cast.invite(&cast.admin, "one-more@example.com", None).await;
    let reply = refused(reply, 429, "rate_limited");
    let seconds: u64 = reply.header("retry-after").parse().unwrap();
    assert!((1..=180).contains(&seconds), "{seconds}");
    assert_eq!(cast.tokens().len(), 20);
    refused(
        cast.invite(&cast.member, "a@example.com", None).await,
        403,
        "forbidden",
    );
    cast.invite(&cast.owner, "one-more@example.com", None)
        .await
        .expect(200);
}
