use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use test_kit::wait_until;

use super::{choose, connected, dashboard, go, says, start};
use crate::browser::Browser;
use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_start_is_visible_to_a_team_member_within_a_second() {
    let site = Site::plain().await;
    let (mia, sam) = (site.register("mia").await, site.register("sam").await);
    let team = json!({"name": "Night shift", "slug": "night-shift"});
    let call = site.api.post("/api/teams").bearer(&mia).json(team);
    let team = call.send().await.expect(201).json()["team"]["id"].clone();
    let call = site.api.post("/api/teams/night-shift/members").bearer(&mia);
    call.json(json!({"username": "sam"}))
        .send()
        .await
        .expect(201);
    let project = json!({"team_id": team, "name": "Lighthouse"});
    let call = site
        .sessions
        .post("/api/team-projects")
        .bearer(&mia)
        .json(project);
    let project = call.send().await.expect(201).json()["id"].clone();

    let browser = dashboard(&site, "sam").await;
    browser.follow("Teams").await;
    browser.sees("Night shift").await;
    connected(&browser).await;
    assert!(
        browser
            .text()
            .await
            .contains("No active sessions right now.")
    );
    let other = dashboard(&site, "mia").await;
    choose(&other, "Project", &format!("team_{project}")).await;
    let watch = "const words = arguments[0]; new MutationObserver(() => { \
        if (document.body.textContent.includes(words)) window.seen ??= Date.now() \
        }).observe(document.body, { childList: true, subtree: true, characterData: true })";
    let words = "writing, Lighthouse";
    browser.script(watch, &[json!(words)]).await;
    start(&other, "writing", "1").await;
    says(&browser, words, Duration::from_secs(5)).await;
    let seen = browser
        .script("return window.seen", &[])
        .await
        .as_i64()
        .unwrap();
    let call = site.sessions.get("/api/sessions").bearer(&mia);
    let began = call.send().await.expect(200).json()["sessions"][0]["started_at"].clone();
    let began: DateTime<Utc> = serde_json::from_value(began).unwrap();
    let after = seen - began.timestamp_millis();
    eprintln!("seen {after} ms after the start");
    assert!((0..=1_000).contains(&after), "{after} ms");
    browser.check_page("team-working").await;

    // The user's own timer, started on another device.
    go(&site, &browser, "/").await;
    browser.sees("Today").await;
    connected(&browser).await;
    let plan = json!({"category": "study", "duration": 25});
    let call = site
        .sessions
        .post("/api/session/start")
        .bearer(&sam)
        .json(plan);
    call.send().await.expect(201);
    says(&browser, "Current session", Duration::from_secs(1)).await;
    browser.close().await;

    // A session that nobody submits does not run forever.
    let browser = other;
    go(&site, &browser, "/team/night-shift").await;
    browser.sees("Night shift").await;
    says(
        &browser,
        "No active sessions right now.",
        Duration::from_secs(90),
    )
    .await;
    go(&site, &browser, "/team/night-shift/new-project").await;
    browser.sees("New project").await;
    browser.check_page("team-project-new").await;
    browser.fill("Name", "Foghorn").await;
    browser.press("Create project").await;
    browser.sees("Foghorn").await;
    browser.follow("Settings for Foghorn").await;
    browser.sees("Project settings").await;
    let second = json!({"name": "Day shift", "slug": "day-shift"});
    let call = site.api.post("/api/teams").bearer(&mia).json(second);
    call.send().await.expect(201);
    go(&site, &browser, "/team").await;
    browser.sees("Teams").await;
    browser.check_page("team-choose").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn the_demo_data_fill_the_history_and_the_leaderboards() {
    let site = Site::with_demo().await;
    let browser = Browser::start(&site).await;
    go(&site, &browser, "/sign-in").await;
    browser.sees("Sign in").await;
    let (username, password) = site.demo();
    browser.fill("Username", &username).await;
    browser.fill("Password", &password).await;
    browser.press("Sign in").await;
    browser.sees("Today").await;
    browser.check_page("today-demo").await;
    browser.follow("History").await;
    browser.sees("History").await;
    let cells = "return [...document.querySelectorAll('.calendar rect')].map(cell => cell.className.baseVal)";
    let cells = browser.script(cells, &[]).await;
    let cells = cells.as_array().unwrap();
    assert_eq!(cells.len(), 366);
    let worked = cells.iter().filter(|class| **class != "l0").count();
    assert!((30..=90).contains(&worked), "{worked} days with work");
    browser.check_page("look-back").await;
    browser.follow("Sessions").await;
    browser.sees("Sessions").await;
    browser.check_page("history-sessions").await;
    browser.follow("Next").await;
    browser.sees("Sessions").await;
    browser.follow("Teams").await;
    browser.sees("Lighthouse").await;
    browser.check_page("team-demo").await;
    browser.follow("All time").await;
    browser.sees("Lighthouse").await;
    stands_on_board(&browser, &username).await;
    browser.follow("Beacon").await;
    browser.sees("Beacon").await;
    browser.check_page("team-project-demo").await;
    browser.follow("Settings for Beacon").await;
    browser.sees("Project settings").await;
    browser.check_page("team-project-settings").await;
    go(&site, &browser, "/leaderboard?period=all").await;
    browser.sees("Leaderboard").await;
    let text = browser.text().await;
    assert!(text.contains("You are not on this leaderboard."), "{text}");
    browser.follow("Settings").await;
    browser.sees("Settings").await;
    let tick = "document.getElementById('leaderboard_opt_in').click()";
    browser.script(tick, &[]).await;
    browser.press("Save").await;
    let saved = "Preferences saved.";
    says(&browser, saved, Duration::from_secs(20)).await;
    // Leaderboards are at most ten seconds old.
    wait_until(
        "a place on the board",
        Duration::from_secs(20),
        async || {
            go(&site, &browser, "/leaderboard?period=all").await;
            let text = browser.text().await;
            text.contains(&format!("{username} (you)")).then_some(())
        },
    )
    .await;
    stands_on_board(&browser, &username).await;
    browser.check_page("leaderboard").await;
    browser.close().await;
}

/// Checks that the visible leaderboard has an entry with points for this user.
async fn stands_on_board(browser: &Browser, username: &str) {
    let cells =
        "return [...document.querySelectorAll('#board tr.me td')].map(cell => cell.textContent)";
    let cells = browser.script(cells, &[]).await;
    let cells: Vec<&str> = cells
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let [place, who, points, _] = cells[..] else {
        panic!("no place of one's own: {}", browser.text().await);
    };
    assert!(place.parse::<u32>().unwrap() >= 1);
    assert_eq!(who, format!("{username} (you)"));
    assert!(
        points.replace(',', "").parse::<f64>().unwrap() > 0.0,
        "{points}"
    );
}
