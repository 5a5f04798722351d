//! What happens to accounts and teams in the identity area, seen from the other parts: mails arrive, and the data of
//! deleted accounts and teams goes.

use std::time::Duration;

use serde_json::json;
use test_kit::wait_until;

use crate::harness::{PASSWORD, System, User, execution, plan};

/// Returns the last segment of the link in a mail.
pub fn token_in(mail: &str) -> String {
    let link = mail
        .split_whitespace()
        .find(|word| word.starts_with("http"))
        .unwrap_or_else(|| panic!("no link in {mail}"));
    link.rsplit_once('/').unwrap().1.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_invited_by_mail_registers_joins_and_works_on_the_teams_project() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "engines").await;
    let invite = system
        .identity
        .post("/api/teams/engines/invite")
        .bearer(&ada.token)
        .json(json!({"email": "bob@example.com"}));
    invite.send().await.expect(200);

    let token = token_in(&system.mail("bob@example.com", "engines").await);
    let bob = system.register_user("bob").await;
    let start = system.start_session(&bob, plan(&team.project_id()));
    start.await.expect(403);
    let accept = format!("/api/invitations/{token}");
    let accept = system.identity.post(&accept).bearer(&bob.token);
    accept.send().await.expect(200);
    // At once: each request asks the identity service for the memberships.
    system.started(&bob, &team.project_id()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_verified_and_a_forgotten_password_replaced_by_mail() {
    let system = System::start().await;
    let account = json!({"username": "ada", "password": PASSWORD, "email": "ada@example.com"});
    let register = system.identity.post("/api/auth/register").json(account);
    let pair = register.send().await.expect(201).json();
    let token = pair["access_token"].as_str().unwrap();

    let proof = token_in(&system.mail("ada@example.com", "").await);
    let verify = system.identity.post("/api/auth/email/verify");
    let verify = verify.json(json!({"token": proof}));
    verify.send().await.expect(204);
    let me = system.identity.get("/api/auth/me").bearer(token);
    assert_eq!(
        me.send().await.expect(200).json()["user"]["email_verified"],
        true
    );

    let forgot = system.identity.post("/api/auth/password/forgot");
    let forgot = forgot.json(json!({"username": "ada"}));
    forgot.send().await.expect(202);
    let link = token_in(&system.mail("ada@example.com", "password").await);
    let reset = system.identity.post("/api/auth/password/reset");
    let reset = reset.json(json!({"token": link, "new_password": "another horse battery"}));
    reset.send().await.expect(204);
    let old = system.work.get("/api/user/data").bearer(token);
    old.send().await.expect(401);
    let login = system.identity.post("/api/auth/login");
    let login = login.json(json!({"username": "ada", "password": "another horse battery"}));
    login.send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_account_deletes_its_data_and_nothing_of_others() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let bob = system.register_user("bob").await;
    let team = system.team_with_project(&ada, "engines").await;
    system.add_member(&ada, &team, &bob).await;
    for user in [&ada, &bob] {
        let session = system.started(user, &team.project_id()).await;
        let begun = system.now();
        system.minutes_pass(25);
        let body = execution(&session, &team.project_id(), begun, system.now());
        system.submit(user, body).await.expect(200);
    }
    delete(&system, &bob).await;
    system
        .work
        .get("/api/user/data")
        .bearer(&bob.token)
        .send()
        .await
        .expect(401);

    // A new account of the same name finds nothing of the old one, now or later.
    let again = system.register_user("bob").await;
    assert!(again.id > bob.id);
    let data = system.user_data(&again).await;
    assert_eq!(data["session_stats"]["total_sessions"], 0);
    let data = system.user_data(&ada).await;
    assert_eq!(data["session_stats"]["total_sessions"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_teams_projects_leave_the_lists_and_a_running_session_may_finish() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "engines").await;
    let session = system.started(&ada, &team.project_id()).await;
    let begun = system.now();
    let delete = system
        .identity
        .delete("/api/teams/engines")
        .bearer(&ada.token);
    delete.send().await.expect(204);
    let list = system.work.get("/api/team-projects").bearer(&ada.token);
    assert_eq!(
        list.send().await.expect(200).json()["team_projects"],
        json!([])
    );

    system.minutes_pass(25);
    let body = execution(&session, &team.project_id(), begun, system.now());
    let done = system.submit(&ada, body).await.expect(200).json();
    assert_eq!(done["status"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_team_has_its_new_name_everywhere() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    system.team_with_project(&ada, "engines").await;
    let rename = system.identity.put("/api/teams/engines").bearer(&ada.token);
    rename
        .json(json!({"name": "Locomotives"}))
        .send()
        .await
        .expect(200);
    let renamed = async || {
        let list = system.work.get("/api/team-projects").bearer(&ada.token);
        let list = list.send().await.expect(200).json();
        (list["team_projects"][0]["team_name"] == "Locomotives").then_some(())
    };
    wait_until("the new name", Duration::from_secs(10), renamed).await;
}

async fn delete(system: &System, user: &User) {
    let path = format!("/api/auth/user/{}", user.id);
    let delete = system.identity.delete(&path).bearer(&user.token);
    let delete = delete.json(json!({"password": PASSWORD}));
    delete.send().await.expect(204);
}
