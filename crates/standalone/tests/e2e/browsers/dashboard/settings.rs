use std::time::Duration;

use super::{choose, dashboard, go, says};
use crate::browser::Browser;
use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_user_changes_settings_projects_and_webhooks() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = dashboard(&site, "mia").await;
    browser.follow("Settings").await;
    browser.sees("Settings").await;
    browser.check_page("settings").await;
    choose(&browser, "Time zone", "Asia/Tokyo").await;
    browser.press("Change time zone").await;
    says(&browser, "Time zone changed.", Duration::from_secs(20)).await;
    // The first change from the default is free.
    choose(&browser, "Time zone", "Europe/Paris").await;
    browser.press("Change time zone").await;
    says(&browser, "Europe/Paris", Duration::from_secs(20)).await;
    choose(&browser, "Time zone", "Europe/Berlin").await;
    browser.press("Change time zone").await;
    says(
        &browser,
        "can be changed once a day",
        Duration::from_secs(20),
    )
    .await;
    choose(&browser, "Theme", "dark").await;
    browser.fill("Session length (minutes)", "50").await;
    browser.press("Save").await;
    says(&browser, "Preferences saved.", Duration::from_secs(20)).await;
    let scheme = "return getComputedStyle(document.documentElement).colorScheme";
    assert_eq!(browser.script(scheme, &[]).await, "dark");
    browser.follow("Projects").await;
    browser.sees("Projects").await;
    browser.fill("Name", "Memoirs").await;
    browser.press("Create project").await;
    says(&browser, "Project saved.", Duration::from_secs(20)).await;
    browser.check_page("projects").await;
    browser.follow("Memoirs").await;
    browser.sees("Memoirs").await;
    browser.check_page("project").await;
    browser.follow("Projects").await;
    browser.sees("Projects").await;
    browser.follow("Webhooks").await;
    browser.sees("Webhooks").await;
    browser.check_page("webhooks").await;
    browser.fill("URL", "https://hooks.example.com/x").await;
    browser.press("Create webhook").await;
    browser.sees("Webhook secret").await;
    browser.check_page("webhook-secret").await;
    browser.follow("I have saved it").await;
    browser.sees("Webhook").await;
    browser.check_page("webhook").await;
    browser.press("Delete").await;
    browser.sees("Webhooks").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn an_unconfigured_dashboard_shows_setup_instructions() {
    // Nobody can sign in there: the client is not registered.
    let site = Site::elsewhere().await;
    let browser = Browser::start(&site).await;
    go(&site, &browser, "/").await;
    browser.sees("The dashboard is not set up yet").await;
    browser.check_page("dashboard-setup").await;
    browser.close().await;
}
