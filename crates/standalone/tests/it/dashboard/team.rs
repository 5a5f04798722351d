use std::time::Duration;

use event_types::ChatProvider;
use test_kit::wait_until;

use super::browser::Browser;
use super::system;
use crate::harness::execution;

#[tokio::test(flavor = "multi_thread")]
async fn a_team_sees_who_is_working_what_was_planned_and_what_was_finished() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let sam = system.register_user("sam").await;
    let team = system.team_with_project(&ada, "lighthouse").await;
    system.add_member(&ada, &team, &sam).await;
    let start = system.now();
    let session = system.started(&sam, &team.project_id()).await;
    system.minutes_pass(25);
    let body = execution(&session, &team.project_id(), start, system.now());
    system.submit(&sam, body).await.expect(200);
    system.started(&sam, &team.project_id()).await;

    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/team").await.expect(200);
    assert_eq!(page.address.path(), "/team/lighthouse");
    let page = page.says("sam coding, Beacon until 09:50");
    let page = page
        .says("25 min of 50 min planned")
        .says("sam 50 min 25 min 2");
    let page = page.says("1 sam");
    for period in ["day", "month", "all", "nonsense"] {
        browser
            .get(&format!("/team/lighthouse?period={period}"))
            .await
            .expect(200);
    }
    let page = browser.get(&page.link("Beacon")).await.expect(200);
    let page = page
        .says("No chat is connected.")
        .says("sam · coding Completed");
    page.says("Write the parser").says("25 of 25 min");
    // A member who does not manage the team cannot change it, and strangers see nothing.
    let mut colleague = Browser::signed_in(&system, "sam").await;
    let page = colleague.get("/team/lighthouse").await.expect(200);
    assert!(!page.text().contains("New project"));
    let path = format!("/team/lighthouse/projects/{}", team.project);
    for path in ["/team/lighthouse/new-project", &*format!("{path}/settings")] {
        colleague.get(path).await.expect(404);
    }
    system.register_user("eve").await;
    let mut stranger = Browser::signed_in(&system, "eve").await;
    stranger
        .get("/team")
        .await
        .expect(200)
        .says("You are not in a team yet.");
    for path in ["/team/lighthouse", &*path, "/team/..%2fme"] {
        let page = stranger.get(path).await;
        assert!(matches!(page.reply.status, 403 | 404), "{path}");
        assert!(!page.text().contains("Beacon"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_global_leaderboard_shows_users_who_opted_in() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/leaderboard").await.expect(200);
    page.says("You are not on this leaderboard.")
        .says("No entries yet.");
    let call = system.work.put("/api/user/preferences").bearer(&ada.token);
    call.json(serde_json::json!({"leaderboard_opt_in": true}))
        .send()
        .await
        .expect(200);
    let start = system.now();
    let session = system.started(&ada, "none").await;
    system.minutes_pass(25);
    system
        .submit(&ada, execution(&session, "none", start, system.now()))
        .await
        .expect(200);
    let shown = wait_until("the board", Duration::from_secs(20), async || {
        let page = browser.get("/leaderboard?period=day").await;
        page.text().contains("ada (you)").then_some(page)
    });
    assert!(
        !shown
            .await
            .text()
            .contains("You are not on this leaderboard.")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_creates_a_project_and_configures_its_chat() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "lighthouse").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/team/lighthouse").await;
    let page = browser.get(&page.link("New project")).await.expect(200);
    let form = page.form("/team/lighthouse/new-project");
    let page = browser
        .submit(&page, form.clone().set("name", " "))
        .await
        .expect(400);
    let form = form.set("name", "Foghorn").set("description", "It is loud");
    let page = browser.submit(&page, form).await.expect(200);
    let page = page.says("Project saved.").says("It is loud");
    let path = page.address.path().to_owned();

    let page = browser.get(&format!("{path}/settings")).await.expect(200);
    let page = page.says("No chat is connected.");
    let page = ChatProvider::ALL
        .iter()
        .fold(page, |page, chat| page.says(chat.label()));
    let form = page.form(&format!("{path}/chat"));
    let page = browser
        .submit(&page, form.clone().set("webhook_url", "ftp://x"))
        .await;
    let page = page.expect(400).says("Must start with https://");
    let hook = system.chat.hook("loud");
    let page = browser
        .submit(&page, form.set("webhook_url", &hook))
        .await
        .expect(200);
    let page = page.says("Chat saved.");
    assert!(!page.html.contains(&hook));
    let form = page.form(&format!("{path}/chat/test"));
    browser
        .submit(&page, form)
        .await
        .expect(200)
        .says("Sending a test message.");
    let settings = format!("{path}/settings");
    wait_until("the outcome", Duration::from_secs(20), async || {
        let page = browser.get(&settings).await;
        page.text().contains(": delivered.").then_some(())
    })
    .await;
    let page = browser.get(&settings).await;
    let form = page.form(&format!("{path}/chat/off"));
    browser
        .submit(&page, form)
        .await
        .expect(200)
        .says("Chat removed.");

    let page = browser.get(&settings).await;
    let form = page.form(&settings).set("name", "Horn");
    browser.submit(&page, form).await.expect(200).says("Horn");
    let page = browser.get(&settings).await;
    let form = page.form(&format!("{path}/archive"));
    let page = browser
        .submit(&page, form)
        .await
        .expect(200)
        .says("Project archived.");
    assert!(!page.text().contains("Horn") && page.text().contains("Beacon"));
    // A member may not do so.
    let sam = system.register_user("sam").await;
    system.add_member(&ada, &team, &sam).await;
    let other = format!("/team/lighthouse/projects/{}", team.project);
    let page = browser.get(&format!("{other}/settings")).await;
    let form = page.form(&format!("{other}/archive"));
    let mut colleague = Browser::signed_in(&system, "sam").await;
    let own = colleague.get("/").await.form("/sign-out");
    let forged = form.set("csrf", own.value("csrf"));
    colleague.submit(&page, forged).await.expect(403);
}
