use std::time::Duration;

use serde_json::json;
use service_kit::Clock;
use test_kit::wait_until;

use super::{connected, dashboard, go, says, signed_in, start, title};
use crate::browser::Browser;
use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_form_that_outlives_its_session_leads_to_the_sign_in_and_back() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = dashboard(&site, "mia").await;
    browser.fill("Category", "writing").await;
    browser
        .fill("Planning note", "Describe the lamp room")
        .await;
    // Signs out as another tab would.
    let sign_out = "const csrf = document.querySelector('[name=csrf]').value;\
        return fetch('/sign-out', { method: 'POST', body: new URLSearchParams({ csrf }) }).then(({ ok }) => ok)";
    assert_eq!(browser.script(sign_out, &[]).await, true);
    browser.press("Start timer").await;
    browser.sees("Your unsent form").await;
    browser.check_page("dashboard-resume").await;
    let kept = "return document.querySelector('[name=note]').value";
    assert_eq!(browser.script(kept, &[]).await, "Describe the lamp room");
    browser.press("Send").await;
    says(&browser, "Current session", Duration::from_secs(20)).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_user_plans_focuses_submits_and_edits_a_session() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = Browser::start(&site).await;
    go(&site, &browser, "/").await;
    browser.sees("Plan, focus, finish, review").await;
    browser.check_page("dashboard-landing").await;
    let browser = signed_in(&site, browser, "mia").await;
    browser.check_page("today").await;
    start(&browser, "writing", "1").await;
    browser.check_page("today-running").await;
    is_light(&site, &browser).await;

    // The remaining time is in the page and in its title, decreases, and survives a reload.
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
    browser.check_page("today-over").await;

    go(&site, &browser, "/").await;
    browser.follow("Finish session").await;
    browser.sees("Finish session").await;
    browser.check_page("finish").await;
    // A locked field is changed in the page.
    browser
        .script("document.getElementById('duration').value = '60'", &[])
        .await;
    browser.fill("Note", "Two pages").await;
    browser.press("Save").await;
    says(
        &browser,
        "Locked fields differ from the plan: duration",
        Duration::from_secs(20),
    )
    .await;
    browser.check_page("finish-refused").await;
    browser.press("Save").await;
    browser.sees("Well done").await;
    assert!(browser.text().await.contains("First session"));
    browser.check_page("finished").await;

    let script = "return document.querySelector('a.button[href^=\"/break\"]').textContent";
    let short = browser.script(script, &[]).await;
    browser.follow(short.as_str().unwrap()).await;
    browser.sees("Short break").await;
    browser.check_page("break").await;
    let soon = Clock::system().now().timestamp() + 2;
    let path = format!("/break?kind=short&until={soon}");
    go(&site, &browser, &path).await;
    says(&browser, "Your break is over", Duration::from_secs(10)).await;
    // Opened again, because the colours of a change fade slowly.
    go(&site, &browser, &path).await;
    browser.sees("Your break is over").await;
    browser.check_page("break-over").await;
    go(&site, &browser, "/nowhere").await;
    browser.sees("Not found").await;
    browser.check_page("dashboard-not-found").await;

    go(&site, &browser, "/").await;
    browser.follow("writing").await;
    browser.sees("Session").await;
    browser.fill("Note", "Three pages").await;
    browser.fill("Tags", "calm").await;
    browser.press("Save").await;
    says(&browser, "Session saved.", Duration::from_secs(20)).await;
    browser.check_page("session").await;
    go(&site, &browser, "/").await;
    browser.press("Sign out").await;
    browser.sees("Plan, focus, finish, review").await;
    browser.close().await;
}

/// Checks what a first view of Today loads while a timer runs.
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
    // The page and its files; the event stream is not among them while it is open. The worker's own file may come after
    // the stream has opened.
    let loaded = wait_until("the page's files", Duration::from_secs(10), async || {
        let loaded = browser.script(script, &[]).await;
        let loaded: Vec<(String, u64)> = serde_json::from_value(loaded).unwrap();
        (loaded.len() >= 6).then_some(loaded)
    })
    .await;
    let bytes: u64 = loaded.iter().map(|(_, size)| size).sum();
    eprintln!(
        "a first view of Today: {} requests, {bytes} bytes",
        loaded.len()
    );
    assert!(loaded.len() < 10 && bytes > 0, "{loaded:?}");
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
    browser.sees("Finish session").await;
    browser.fill("Note", "Nothing yet").await;
    browser.press("Save").await;
    browser.sees("Session saved").await;
    browser.close().await;
}
