use serde_json::json;

use super::browser::{Browser, Page};
use super::system;
use crate::harness::{System, User, execution, plan};
use crate::html_parser::elements;

/// Registers a user who has completed two sessions of 25 minutes, one of them on a team project.
async fn worked(system: &System) -> User {
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "lighthouse").await;
    for project in [team.project_id(), "none".to_owned()] {
        let start = system.now();
        let session = system.started(&ada, &project).await;
        system.minutes_pass(25);
        let body = execution(&session, &project, start, system.now());
        system.submit(&ada, body).await.expect(200);
    }
    ada
}

/// Returns the texts of the cells, row by row, of the table after these words.
fn rows(page: &Page, caption: &str) -> Vec<Vec<String>> {
    let (_, table) = page.html.split_once(caption).unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    let (_, body) = table.split_once("<tbody>").unwrap();
    let rows = body.split("<tr").skip(1);
    rows.map(|row| {
        let cells = elements(&format!("<tr{row}"), &["td"]);
        cells
            .iter()
            .map(|cell| cell.text.trim().to_owned())
            .collect()
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_chart_has_its_numbers_in_a_table() {
    let system = system().await;
    worked(&system).await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/look-back").await.expect(200);
    let page = page
        .says("50 min in 2 sessions")
        .says("Streak 1 day Longest");
    let page = page.says("First session");
    let cells = elements(&page.html, &["rect"]);
    let classes: Vec<_> = cells
        .iter()
        .filter_map(|cell| cell.attribute("class"))
        .collect();
    let days = classes
        .iter()
        .filter(|class| class.starts_with('l'))
        .count();
    assert_eq!(days, 366);
    // 50 of 200 minutes are a quarter of the goal.
    assert_eq!(classes.iter().filter(|class| **class == "l1").count(), 1);
    assert_eq!(
        rows(&page, "Days with sessions</caption>"),
        [["Monday, 23 Nov 2026", "50", "2"]]
    );
    let days = rows(&page, "Minutes per day, last 30 days</caption>");
    assert_eq!(
        (days.len(), &days[0]),
        (
            30,
            &vec!["Monday, 23 Nov 2026".into(), "50".into(), "2".into()]
        )
    );
    let weeks = rows(&page, "Minutes per week, last 26 weeks</caption>");
    assert_eq!((weeks.len(), weeks[0][1].as_str()), (26, "50"));
    let hours = rows(&page, "Minutes by hour of day</caption>");
    assert_eq!(hours.len(), 24);
    assert_eq!(hours[23 - 9], ["9:00–9:59", "50", "2"]);
    assert_eq!(rows(&page, "Time by category</caption>")[0][0], "coding");
    let page = page.says("Beacon (Team lighthouse)").says("No project");
    assert!(
        page.html
            .contains("<title>Monday, 23 Nov 2026: 50 min, 2 sessions</title>")
    );
    for days in ["90", "365", "7", "x"] {
        let path = format!("/look-back?days={days}");
        let status = if days == "x" { 400 } else { 200 };
        browser.get(&path).await.expect(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_sessions_sees_empty_charts() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/look-back").await.expect(200);
    page.says("0 min in 0 sessions")
        .says("No sessions in the past year.");
    browser
        .get("/look-back/sessions")
        .await
        .expect(200)
        .says("No sessions yet.");
}

#[tokio::test(flavor = "multi_thread")]
async fn days_are_those_of_the_readers_time_zone() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let call = system.work.put("/api/user/preferences").bearer(&ada.token);
    call.json(json!({"timezone": "Asia/Tokyo"}))
        .send()
        .await
        .expect(200);
    // Ten in the evening in London is the next morning in Tokyo.
    system.minutes_pass(13 * 60);
    let start = system.now();
    let session = system.started(&ada, "none").await;
    system.minutes_pass(25);
    system
        .submit(&ada, execution(&session, "none", start, system.now()))
        .await
        .expect(200);
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/look-back").await.expect(200);
    assert_eq!(
        rows(&page, "Days with sessions</caption>"),
        [["Tuesday, 24 Nov 2026", "25", "1"]]
    );
    browser
        .get("/look-back/sessions")
        .await
        .says("24 Nov 2026, 07:00");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_filtered_and_shown_page_by_page() {
    let system = system().await;
    let ada = worked(&system).await;
    for _ in 0..30 {
        system.minutes_pass(1);
        system.start_session(&ada, plan("none")).await.expect(201);
    }
    let mut browser = Browser::signed_in(&system, "ada").await;
    let count = |page: &Page| page.html.matches("data-label=\"Started\"").count();
    let page = browser.get("/look-back/sessions").await.expect(200);
    assert_eq!(count(&page), 25);
    let page = browser.get(&page.link("Next")).await.expect(200);
    assert_eq!(count(&page), 7);
    assert_eq!(page.link("Previous"), "/look-back/sessions");
    let page = browser
        .get("/look-back/sessions?status=completed")
        .await
        .expect(200);
    assert_eq!(count(&page), 2);
    let page = browser
        .get("/look-back/sessions?status=awaiting_submit")
        .await
        .expect(200);
    assert!(page.link("Next").contains("status=awaiting_submit&cursor="));
    let page = browser
        .get("/look-back/sessions?category=study")
        .await
        .expect(200);
    page.says("No matching sessions.");
    let page = browser
        .get("/look-back/sessions?from=yesterday")
        .await
        .expect(400);
    assert!(page.html.contains("value=\"yesterday\""));
}
