use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::browser::Browser;
use super::system;
use crate::harness::System;

/// Reads a stream until it contains these words; panics if they do not arrive.
async fn until(stream: &mut TcpStream, words: &str) -> String {
    let mut said = String::new();
    let reading = async {
        let mut chunk = [0; 4096];
        while !said.contains(words) {
            let length = stream.read(&mut chunk).await.unwrap();
            assert!(length > 0, "it ended: {said}");
            said.push_str(&String::from_utf8_lossy(&chunk[..length]));
        }
    };
    let outcome = timeout(Duration::from_secs(10), reading).await;
    assert!(outcome.is_ok(), "no {words:?} in {said}");
    said
}

/// Opens a stream the way a page of the dashboard does.
async fn listen(system: &System, browser: &Browser, path: &str) -> TcpStream {
    let host = system.work.base().strip_prefix("http://").unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\nSec-Fetch-Site: same-origin\r\nCookie: holdfast_ws={}\r\n\r\n",
        browser.cookies["holdfast_ws"]
    );
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_page_receives_missed_events() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await;
    let (_, after) = page.html.split_once("data-after=\"").unwrap();
    let after: String = after.chars().take_while(char::is_ascii_digit).collect();
    let session = system.started(&ada, "none").await;
    let mut stream = listen(&system, &browser, &format!("/live?after={after}")).await;
    let told = until(&mut stream, &session).await;
    assert!(told.contains("event: timer"), "{told}");
    // An invalid position resumes nothing.
    let mut stream = listen(&system, &browser, "/live?after=undefined").await;
    until(&mut stream, "event: hello").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_reach_a_page_that_authenticates_by_its_cookie() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let browser = Browser::signed_in(&system, "ada").await;
    let mut stream = listen(&system, &browser, "/live").await;
    let head = until(&mut stream, "event: hello").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("content-type: text/event-stream"));
    let session = system.started(&ada, "none").await;
    let told = until(&mut stream, &session).await;
    assert!(told.contains("event: timer"), "{told}");
    // The sign-out ends the stream.
    let mut browser = browser;
    let page = browser.get("/").await;
    let form = page.form("/sign-out");
    browser.submit(&page, form).await.expect(200);
    until(&mut stream, "event: end").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_for_signed_in_users_and_the_dashboards_own_pages() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let ask = |site| {
        let call = system.work.get("/live").header("sec-fetch-site", site);
        call.header("accept", "text/event-stream")
    };
    browser.send(ask("cross-site")).await.expect(403);
    browser.fetch("/live").await.expect(400);
    // 204 stops a browser from reconnecting.
    Browser::new(&system)
        .send(ask("same-origin"))
        .await
        .expect(204);
}
