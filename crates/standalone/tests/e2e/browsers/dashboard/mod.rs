//! What users do with the dashboard.

mod sessions;
mod settings;
mod teams;

use std::time::Duration;

use serde_json::{Value, json};
use test_kit::wait_until;

use crate::browser::Browser;
use crate::site::Site;

/// Opens the dashboard and signs the user in.
async fn dashboard(site: &Site, username: &str) -> Browser {
    signed_in(site, Browser::start(site).await, username).await
}

async fn signed_in(site: &Site, browser: Browser, username: &str) -> Browser {
    go(site, &browser, "/").await;
    browser.sees("Plan, focus, finish, review").await;
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

/// Waits until the page contains these words, for so long at most.
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
    browser.fill("Duration", minutes).await;
    browser
        .fill("Planning note", "Describe the lamp room")
        .await;
    browser.press("Start timer").await;
    says(browser, "Current session", Duration::from_secs(20)).await;
}

/// Waits until the page is connected to the event stream.
async fn connected(browser: &Browser) {
    wait_until("the live events", Duration::from_secs(10), async || {
        let script = "return document.documentElement.hasAttribute('data-connected')";
        (browser.script(script, &[]).await == Value::Bool(true)).then_some(())
    })
    .await;
}
