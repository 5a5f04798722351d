//! The creator of a chat or webhook that is disabled gets a mail, if their address is verified.

use std::time::Duration;

use db_kit::DbError;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use serde_json::{Value, json};
use test_kit::{ChatReply, wait_until};

use crate::account_events::token_in;
use crate::harness::{PASSWORD, System, User};

const PATIENCE: Duration = Duration::from_secs(20);

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// Counts the contacts in the work-session service's database.
fn contacts(system: &System) -> i64 {
    let sql = "SELECT count(*) AS number FROM hook_contacts";
    let pool = system.databases[1].pool(1);
    let counted =
        pool.read_blocking::<Number, DbError>(|db| Ok(diesel::sql_query(sql).get_result(db)?));
    counted.unwrap().number
}

/// Registers an account with an e-mail address, verified or not.
async fn register(system: &System, name: &str, prove: bool) -> User {
    let email = format!("{name}@example.com");
    let account = json!({"username": name, "password": PASSWORD, "email": email});
    let register = system.identity.post("/api/auth/register").json(account);
    let pair = register.send().await.expect(201).json();
    let proof = token_in(&system.mail(&email, "").await);
    if prove {
        let verify = system.identity.post("/api/auth/email/verify");
        let verify = verify.json(json!({ "token": proof }));
        verify.send().await.expect(204);
    }
    User {
        id: pair["user"]["id"].as_i64().unwrap(),
        name: name.to_owned(),
        token: pair["access_token"].as_str().unwrap().to_owned(),
    }
}

async fn until_off(system: &System, user: &User, path: &str, what: &str) -> Value {
    wait_until("it to be off", PATIENCE, async || {
        let call = system.work.get(path).bearer(&user.token);
        let shown = call.send().await.expect(200).json()[what].clone();
        (shown["status"] == "off").then_some(shown)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_creator_of_a_disabled_chat_gets_a_mail_only_at_a_verified_address() {
    let system = System::start().await;
    let ada = register(&system, "ada", true).await;
    let eve = register(&system, "eve", false).await;
    system.chat.usually(ChatReply::Status(404));
    for (user, slug) in [(&eve, "shadows"), (&ada, "engines")] {
        let team = system.team_with_project(user, slug).await;
        system.connect_chat(user, &team, slug).await;
        system.started(user, &team.project_id()).await;
        let path = format!("/api/team-projects/{}/chat", team.project);
        let off = until_off(&system, user, &path, "chat").await;
        assert_eq!(off["reason"], "The chat answered 404");
    }
    let mail = system.mail("ada@example.com", "disabled").await;
    for part in [
        "Hello ada,",
        "Beacon (Team engines)",
        "Chat: Slack",
        "Reason: The chat answered 404",
        &format!("{}/docs/", system.work.base()),
    ] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    assert!(!mail.contains("/services/"), "the address is a secret");
    // Eve's mail would have been requested before Ada's.
    let told = |to| system.mails(to, "disabled").len();
    assert_eq!((told("eve@example.com"), told("ada@example.com")), (0, 1));
    // The page to which the mail links.
    let link = system.work.get("/docs/").send().await;
    link.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_creator_of_a_disabled_webhook_gets_a_mail_and_a_deleted_account_no_contact() {
    let system = System::start().await;
    let ada = register(&system, "ada", true).await;
    let bob = register(&system, "bob", true).await;
    let team = system.team_with_project(&ada, "engines").await;
    system.connect_chat(&ada, &team, "hook").await;
    let mut paths = Vec::new();
    for user in [&ada, &bob] {
        let body = json!({"url": system.chat.hook(&user.name), "description": "the wall"});
        let call = system.work.post("/api/webhooks").bearer(&user.token);
        let made = call.json(body).send().await.expect(201).json();
        paths.push(format!("/api/webhooks/{}", made["webhook"]["id"]));
    }
    assert_eq!(contacts(&system), 3);

    system.chat.usually(ChatReply::Status(410));
    let test = format!("{}/test", paths[1]);
    let call = system.work.post(&test).bearer(&bob.token);
    call.json(json!({})).send().await.expect(202);
    until_off(&system, &bob, &paths[1], "webhook").await;
    let mail = system.mail("bob@example.com", "disabled").await;
    for part in ["“the wall”", "Reason: The receiver answered 410", &paths[1]] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    assert_eq!(contacts(&system), 2, "Bob's is not kept");

    // Bob becomes an owner of Ada's team first: a team cannot be left without one.
    system.add_member(&ada, &team, &bob).await;
    let call = system.identity.put("/api/teams/engines/members/bob");
    let call = call.bearer(&ada.token).json(json!({"role": "owner"}));
    call.send().await.expect(200);
    let path = format!("/api/auth/user/{}", ada.id);
    let call = system.identity.delete(&path).bearer(&ada.token);
    let gone = call.json(json!({"password": PASSWORD})).send().await;
    gone.expect(204);
    wait_until("her address to be gone", PATIENCE, async || {
        (contacts(&system) == 0).then_some(())
    })
    .await;
}
