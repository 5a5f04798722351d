use serde_json::json;
use test_kit::{FakeWebServer, wait_until};

use super::browser::Browser;
use super::system;
use crate::harness::System;

async fn preferences(system: &System, token: &str) -> serde_json::Value {
    let call = system.work.get("/api/user/data").bearer(token);
    call.send().await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn preferences_are_saved_and_apply_at_once() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/settings").await.expect(200);
    let form = page.form("/settings/preferences");
    assert_eq!(
        (form.value("daily_goal"), form.value("theme_preference")),
        ("8", "system")
    );
    let mut form = form.set("daily_goal", "4").set("default_duration", "50");
    form = form
        .set("theme_preference", "light")
        .set("notification_sound", "none");
    form.fields
        .push(("leaderboard_opt_in".to_owned(), "yes".to_owned()));
    let page = browser.submit(&page, form.clone()).await.expect(200);
    let page = page.says("Preferences saved.");
    assert!(page.html.contains("data-theme=\"light\""));
    let data = preferences(&system, &ada.token).await;
    assert_eq!(data["preferences"]["leaderboard_opt_in"], true);
    let today = browser.get("/").await.says("0 of 4 sessions");
    assert_eq!(today.form("/start").value("duration"), "50");
    // An unchecked box means no.
    let form = page
        .form("/settings/preferences")
        .without("leaderboard_opt_in");
    let page = browser.submit(&page, form).await.expect(200);
    assert_eq!(
        preferences(&system, &ada.token).await["preferences"]["leaderboard_opt_in"],
        false
    );
    for (field, value, words) in [
        ("daily_goal", "25", "Must be a whole number from 1 to 24"),
        (
            "short_break_duration",
            "x",
            "Must be a whole number from 1 to 60",
        ),
    ] {
        let form = page.form("/settings/preferences").set(field, value);
        let page = browser.submit(&page, form).await.expect(400).says(words);
        assert_eq!(page.form("/settings/preferences").value(field), value);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_zone_changes_once_a_day_and_the_page_says_when_it_can_again() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/settings").await;
    let form = page.form("/settings/timezone");
    assert_eq!(form.value("timezone"), "UTC");
    let page = browser
        .submit(&page, form.set("timezone", "Asia/Tokyo"))
        .await
        .expect(200);
    let page = page.says("Time zone changed.");
    browser.get("/").await.says("Monday, 23 Nov");
    // The first change from the default is free.
    let form = page
        .form("/settings/timezone")
        .set("timezone", "Europe/Paris");
    let page = browser.submit(&page, form).await.expect(200);
    let form = page
        .form("/settings/timezone")
        .set("timezone", "Europe/Berlin");
    let page = browser.submit(&page, form).await.expect(409);
    let page = page.says("The time zone can be changed once a day, so try again in 24 hours");
    let form = page
        .form("/settings/timezone")
        .set("timezone", "Mars/Olympus");
    browser
        .submit(&page, form)
        .await
        .expect(400)
        .says("Must be an IANA time zone name");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_exports_the_file_of_the_service() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    system.started(&ada, "none").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    for (format, kind, words) in [
        ("csv", "text/csv", "coding"),
        ("json", "application/json", "Write the parser"),
        ("ics", "text/calendar", "BEGIN:VCALENDAR"),
    ] {
        let reply = browser
            .fetch(&format!("/settings/export?format={format}"))
            .await
            .expect(200);
        assert!(reply.header("content-type").starts_with(kind), "{format}");
        let name = reply.header("content-disposition");
        assert!(name.ends_with(&format!(".{format}\"")), "{name}");
        assert!(reply.text().contains(words), "{}", reply.text());
    }
    browser
        .fetch("/settings/export?format=exe")
        .await
        .expect(400);
    Browser::new(&system)
        .fetch("/settings/export?format=csv")
        .await
        .expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_personal_project_is_created_offered_changed_and_archived() {
    let system = system().await;
    system.register_user("ada").await;
    let eve = system.register_user("eve").await;
    let hers = system.personal_project(&eve, "Hers").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/settings/projects").await.expect(200);
    let page = page.says("No projects yet.");
    let form = page.form("/settings/projects").set("description", "a\r\nb");
    let page = browser
        .submit(&page, form.clone().set("name", " "))
        .await
        .expect(400);
    let page = page.says("Must not be empty");
    let form = page.form("/settings/projects").set("name", "Memoirs <1>");
    let page = browser.submit(&page, form).await.expect(200);
    let page = page.says("Project saved.");
    let path = page.link("Memoirs <1>");

    let today = browser.get("/").await;
    assert!(today.text().contains("Memoirs <1>"));
    let page = browser.get(&path).await.expect(200);
    let form = page.form(&path);
    assert_eq!(form.value("description"), "a\nb");
    let page = browser
        .submit(&page, form.set("name", "Memoirs"))
        .await
        .expect(200);
    browser.get(&page.link("Memoirs")).await.expect(200);
    let page = browser.get(&path).await;
    let form = page.form(&format!("{path}/archive"));
    let page = browser.submit(&page, form).await.expect(200);
    page.says("Project archived.").says("Memoirs Archived");
    assert!(!browser.get("/").await.text().contains("Memoirs"));

    let not_hers = format!("/settings/projects/{hers}");
    browser.get(&not_hers).await.expect(404);
    let page = browser.get(&path).await;
    let form = page.form(&path);
    let forged = super::browser::Form {
        action: not_hers,
        ..form
    };
    browser.submit(&page, forged).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_created_called_and_deleted() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    system.team_with_project(&ada, "lighthouse").await;
    let web = FakeWebServer::start([]).await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/settings/webhooks").await.expect(200);
    let form = page.form("/settings/webhooks");
    let page = browser
        .submit(&page, form.clone().set("url", "nonsense"))
        .await
        .expect(400);
    // An invalid team does not make it a personal webhook.
    let forged = form.set("url", &web.url("/hook")).set("team_id", "5x");
    let page = browser.submit(&page, forged).await.expect(400);
    let form = page
        .form("/settings/webhooks")
        .set("url", &web.url("/hook?key=secret"))
        .set("team_id", "");
    let page = browser
        .submit(&page, form.set("description", "The lamp"))
        .await
        .expect(200);
    let page = page.says("It is not shown again.").says("whsec_");
    let path = page.link("I have saved it");
    let page = browser
        .get(&path)
        .await
        .expect(200)
        .says("No deliveries yet.");
    assert!(!page.html.contains("key=secret") && !page.html.contains("whsec_"));
    let form = page.form(&format!("{path}/test"));
    browser
        .submit(&page, form)
        .await
        .expect(200)
        .says("Sending the event.");
    let told = wait_until(
        "the call's outcome",
        std::time::Duration::from_secs(20),
        async || {
            let page = browser.get(&path).await;
            page.text().contains("Response 404").then_some(page)
        },
    );
    let page = told.await;
    assert!(web.calls().iter().any(|call| call == "POST /hook"));
    let form = page
        .form(&path)
        .without("abandoned")
        .without("submitted")
        .without("started");
    let page = browser.submit(&page, form).await.expect(400);
    let page = page
        .says("Select at least one event")
        .form(&format!("{path}/delete"));
    let shown = browser.get(&path).await;
    browser
        .submit(&shown, page)
        .await
        .expect(200)
        .says("Webhook deleted.");
    browser.get(&path).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integration_of_an_ended_sso_session_is_paused_and_adopted_by_a_button() {
    let sso = json!({"allowed_origins": "http://localhost:31337"});
    let system = super::with(json!({ "sso": sso })).await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "lighthouse").await;
    let path = "/api/auth/sso/authorize?redirect_uri=http%3A%2F%2Flocalhost%3A31337%2F";
    let call = system.identity.get(path).bearer(&ada.token);
    let handed = call.send().await.expect(302);
    let to: url::Url = handed.header("location").parse().unwrap();
    let token = to.query_pairs().find(|(name, _)| name == "token");
    let token = token.unwrap().1.into_owned();
    let call = system.work.post("/api/webhooks").bearer(&token);
    let made = call.json(json!({"url": system.chat.hook("own")}));
    let webhook = made.send().await.expect(201).json()["webhook"]["id"].clone();
    let chat = format!("/api/team-projects/{}/chat", team.project);
    let body = json!({"provider": "slack", "webhook_url": system.chat.hook("team")});
    let call = system.work.put(&chat).bearer(&token).json(body);
    call.send().await.expect(200);
    let call = system.identity.post("/api/auth/logout").bearer(&token);
    call.json(json!({})).send().await.expect(200);

    let mut browser = Browser::signed_in(&system, "ada").await;
    let project = format!("/team/lighthouse/projects/{}", team.project);
    for (path, adopt, test) in [
        (
            format!("/settings/webhooks/{webhook}"),
            format!("/settings/webhooks/{webhook}/adopt"),
            format!("/settings/webhooks/{webhook}/test"),
        ),
        (
            format!("{project}/settings"),
            format!("{project}/chat/adopt"),
            format!("{project}/chat/test"),
        ),
    ] {
        let patience = std::time::Duration::from_secs(20);
        let page = wait_until("the hook to be paused", patience, async || {
            let page = browser.get(&path).await.expect(200);
            page.text().contains("If you resume it").then_some(page)
        })
        .await;
        let page = page
            .says("Paused")
            .says("by ada. If you resume it, it will belong to you.")
            .says("no longer has access");
        let kept = browser.submit(&page, page.form(&adopt)).await.expect(200);
        let page = kept.says("Resumed. It now belongs to you.");
        assert!(!page.text().contains("Paused"));
        let form = page.form(&test);
        browser.submit(&page, form).await.expect(200);
        system.chat.next_message().await;
    }
}
