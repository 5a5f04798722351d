//! What people do with the dashboard.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_kit::wait_until;

use crate::browser::Browser;
use crate::site::Site;

/// The dashboard, with somebody signed in.
async fn dashboard(site: &Site, username: &str) -> Browser {
    signed_in(site, Browser::start(site).await, username).await
}

async fn signed_in(site: &Site, browser: Browser, username: &str) -> Browser {
    go(site, &browser, "/").await;
    browser.sees("Plan, focus, finish, look back").await;
    browser.follow("Sign in").await;
    browser.sign_in(username).await;
    browser.sees("Today").await;
    browser
}

/// Opens a page of the dashboard.
async fn go(site: &Site, browser: &Browser, path: &str) {
    let address = format!("{}{path}", site.sessions.base());
    browser.open(&address).await;
}

async fn title(browser: &Browser) -> String {
    let title = browser.script("return document.title", &[]).await;
    title.as_str().unwrap().to_owned()
}

/// Waits until the page says this, for so long at most.
async fn says(browser: &Browser, words: &str, limit: Duration) {
    wait_until(&format!("{words:?}"), limit, async || {
        browser.text().await.contains(words).then_some(())
    })
    .await;
}

async fn choose(browser: &Browser, label: &str, value: &str) {
    let field = browser.field(label).await;
    let id = browser.client.attribute(&field, "id").await.unwrap();
    let script = "const field = document.getElementById(arguments[0]); field.value = arguments[1]; return field.value";
    let chosen = browser.script(script, &[json!(id), json!(value)]).await;
    assert_eq!(chosen, value, "{label}");
}

async fn start(browser: &Browser, category: &str, minutes: &str) {
    browser.fill("Category", category).await;
    browser.fill("Minutes", minutes).await;
    browser
        .fill("What will you do?", "Describe the lamp room")
        .await;
    browser.press("Start the timer").await;
    says(browser, "In focus", Duration::from_secs(20)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn somebody_plans_focuses_and_writes_down_what_came_of_it() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = Browser::start(&site).await;
    go(&site, &browser, "/").await;
    browser.sees("Plan, focus, finish, look back").await;
    browser.look("dashboard-landing").await;
    let browser = signed_in(&site, browser, "mia").await;
    browser.look("today").await;
    start(&browser, "writing", "1").await;
    browser.look("today-running").await;
    is_light(&site, &browser).await;

    // The time left is in the page and in its title, goes down, and survives a reload.
    let left = async || {
        let script = "return document.querySelector('.left').textContent";
        let text = browser.script(script, &[]).await;
        let (minutes, seconds) = text.as_str().unwrap().split_once(':').unwrap();
        minutes.parse::<u64>().unwrap() * 60 + seconds.parse::<u64>().unwrap()
    };
    let first = left().await;
    assert!((30..=60).contains(&first), "{first}");
    wait_until("two seconds less", Duration::from_secs(5), async || {
        (left().await + 2 <= first).then_some(())
    })
    .await;
    assert!(title(&browser).await.contains("writing · Holdfast"));
    go(&site, &browser, "/").await;
    assert!(left().await <= first - 2);
    wait_until("the end", Duration::from_secs(70), async || {
        title(&browser)
            .await
            .starts_with("Time is up")
            .then_some(())
    })
    .await;
    assert!(browser.text().await.contains("Time is up"));
    browser.look("today-over").await;

    go(&site, &browser, "/").await;
    browser.follow("Write down what you did").await;
    browser.sees("What came of it?").await;
    browser.look("finish").await;
    // Somebody tampers with what is locked.
    browser
        .script("document.getElementById('duration').value = '60'", &[])
        .await;
    browser.fill("What came of it?", "Two pages").await;
    browser.press("Save").await;
    says(
        &browser,
        "Locked fields differ from the plan: duration",
        Duration::from_secs(20),
    )
    .await;
    browser.look("finish-refused").await;
    browser.press("Save").await;
    browser.sees("Well done").await;
    assert!(browser.text().await.contains("First session"));
    browser.look("finished").await;

    let script = "return document.querySelector('a.button[href^=\"/break\"]').textContent";
    let short = browser.script(script, &[]).await;
    browser.follow(short.as_str().unwrap()).await;
    browser.sees("Short break").await;
    browser.look("break").await;

    go(&site, &browser, "/").await;
    browser.follow("writing").await;
    browser.sees("Session").await;
    browser.fill("What came of it?", "Three pages").await;
    browser.fill("Tags", "calm").await;
    browser.press("Save").await;
    says(&browser, "The session is saved.", Duration::from_secs(20)).await;
    browser.look("session").await;
    browser.press("Sign out").await;
    browser.sees("Plan, focus, finish, look back").await;
    browser.close().await;
}

/// Checks what a first view of Today loads, with a timer that runs.
async fn is_light(site: &Site, browser: &Browser) {
    let no_cache = async |is: bool| {
        let set = ("Network.setCacheDisabled", json!({"cacheDisabled": is}));
        browser
            .client
            .devtools("Network.enable", json!({}))
            .await
            .unwrap();
        browser.client.devtools(set.0, set.1).await.unwrap();
    };
    no_cache(true).await;
    go(site, browser, "/").await;
    connected(browser).await;
    let script = "return performance.getEntries().filter(entry => entry.transferSize !== undefined) \
        .map(entry => [entry.name, entry.transferSize])";
    let loaded = browser.script(script, &[]).await;
    let loaded: Vec<(String, u64)> = serde_json::from_value(loaded).unwrap();
    let bytes: u64 = loaded.iter().map(|(_, size)| size).sum();
    eprintln!(
        "a first view of Today: {} requests, {bytes} bytes",
        loaded.len()
    );
    // The page and its files at least; the stream of events is not among them while it lasts.
    assert!((6..10).contains(&loaded.len()) && bytes > 0, "{loaded:?}");
    assert!(bytes <= 100 * 1024, "{loaded:?}");
    no_cache(false).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn without_scripts_a_session_is_started_and_submitted() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = Browser::without_scripts(&site).await;
    let browser = signed_in(&site, browser, "mia").await;
    start(&browser, "writing", "25").await;
    assert!(title(&browser).await.starts_with("25:00") || title(&browser).await.starts_with("24:"));
    browser.follow("Finish now").await;
    browser.sees("What came of it?").await;
    browser.fill("What came of it?", "Nothing yet").await;
    browser.press("Save").await;
    browser.sees("Saved").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn what_one_does_the_other_sees_within_a_second() {
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
    browser.follow("Team").await;
    browser.sees("Night shift").await;
    connected(&browser).await;
    assert!(browser.text().await.contains("Nobody at the moment."));
    let other = dashboard(&site, "mia").await;
    choose(&other, "Project", &format!("team_{project}")).await;
    start(&other, "writing", "25").await;
    // It began a moment before.
    let begin = Instant::now();
    says(&browser, "writing, Lighthouse", Duration::from_secs(1)).await;
    eprintln!("seen after {} ms", begin.elapsed().as_millis());
    browser.look("team").await;

    // One's own timer, begun on another device.
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
    says(&browser, "In focus", Duration::from_secs(1)).await;
    browser.close().await;

    let browser = other;
    go(&site, &browser, "/team/night-shift/new-project").await;
    browser.sees("New project").await;
    browser.look("team-project-new").await;
    browser.fill("Name", "Foghorn").await;
    browser.press("Make the project").await;
    browser.sees("Foghorn").await;
    browser.follow("Settings of Foghorn").await;
    browser.sees("Settings of the project").await;
    browser.close().await;
}

/// Waits until the page hears what happens.
async fn connected(browser: &Browser) {
    wait_until("the live events", Duration::from_secs(10), async || {
        let script = "return document.documentElement.hasAttribute('data-connected')";
        (browser.script(script, &[]).await == Value::Bool(true)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn somebody_changes_how_the_dashboard_is() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = dashboard(&site, "mia").await;
    browser.follow("Settings").await;
    browser.sees("Settings").await;
    browser.look("settings").await;
    choose(&browser, "Time zone", "Asia/Tokyo").await;
    browser.press("Change the time zone").await;
    says(
        &browser,
        "The time zone is changed.",
        Duration::from_secs(20),
    )
    .await;
    // The first change from the default is free.
    choose(&browser, "Time zone", "Europe/Paris").await;
    browser.press("Change the time zone").await;
    says(&browser, "Europe/Paris", Duration::from_secs(20)).await;
    choose(&browser, "Time zone", "Europe/Berlin").await;
    browser.press("Change the time zone").await;
    says(
        &browser,
        "can be changed once a day",
        Duration::from_secs(20),
    )
    .await;
    choose(&browser, "Colours", "dark").await;
    browser.fill("Minutes of a session", "50").await;
    browser.press("Save").await;
    says(
        &browser,
        "Your preferences are saved.",
        Duration::from_secs(20),
    )
    .await;
    let scheme = "return getComputedStyle(document.documentElement).colorScheme";
    assert_eq!(browser.script(scheme, &[]).await, "dark");
    browser.follow("Projects").await;
    browser.sees("Your projects").await;
    browser.fill("Name", "Memoirs").await;
    browser.press("Make the project").await;
    says(&browser, "The project is saved.", Duration::from_secs(20)).await;
    browser.look("projects").await;
    browser.follow("Memoirs").await;
    browser.sees("Memoirs").await;
    browser.look("project").await;
    browser.follow("Your projects").await;
    browser.sees("Your projects").await;
    browser.follow("Webhooks").await;
    browser.sees("Webhooks").await;
    browser.look("webhooks").await;
    browser.fill("Address", "https://hooks.example.com/x").await;
    browser.press("Make it").await;
    browser.sees("The webhook's secret").await;
    browser.look("webhook-secret").await;
    browser.follow("I have put it there").await;
    browser.sees("Webhook").await;
    browser.look("webhook").await;
    browser.press("Delete").await;
    browser.sees("Webhooks").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn ninety_days_can_be_looked_back_at() {
    let site = Site::with_demo().await;
    let browser = Browser::start(&site).await;
    go(&site, &browser, "/sign-in").await;
    browser.sees("Sign in").await;
    let (username, password) = site.demo();
    browser.fill("Username", &username).await;
    browser.fill("Password", &password).await;
    browser.press("Sign in").await;
    browser.sees("Today").await;
    browser.look("today-demo").await;
    browser.follow("Look back").await;
    browser.sees("Look back").await;
    let cells = "return [...document.querySelectorAll('.calendar rect')].map(cell => cell.className.baseVal)";
    let cells = browser.script(cells, &[]).await;
    let cells = cells.as_array().unwrap();
    assert_eq!(cells.len(), 366);
    let worked = cells.iter().filter(|class| **class != "l0").count();
    assert!((30..=90).contains(&worked), "{worked} days with work");
    browser.look("look-back").await;
    browser.follow("Sessions").await;
    browser.sees("Sessions").await;
    browser.look("look-back-sessions").await;
    browser.follow("Next").await;
    browser.sees("Sessions").await;
    browser.follow("Team").await;
    browser.sees("Lighthouse").await;
    browser.look("team-demo").await;
    browser.follow("Ever").await;
    browser.sees("Lighthouse").await;
    stands_on_board(&browser, &username).await;
    browser.follow("Beacon").await;
    browser.sees("Beacon").await;
    browser.look("team-project-demo").await;
    browser.follow("Settings of Beacon").await;
    browser.sees("Settings of the project").await;
    browser.look("team-project-settings").await;
    go(&site, &browser, "/leaderboard?period=all").await;
    browser.sees("Leaderboard").await;
    let text = browser.text().await;
    assert!(text.contains("You are not on this board."), "{text}");
    browser.follow("Settings").await;
    browser.sees("Settings").await;
    let tick = "document.getElementById('leaderboard_opt_in').click()";
    browser.script(tick, &[]).await;
    browser.press("Save").await;
    let saved = "Your preferences are saved.";
    says(&browser, saved, Duration::from_secs(20)).await;
    // Boards are ten seconds old at most.
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
    browser.look("leaderboard").await;
    browser.close().await;
}

/// Checks that the board in sight has a place with points for whoever looks.
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
