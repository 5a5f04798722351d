use chrono::TimeDelta;
use serde_json::json;

use super::browser::Browser;
use super::system;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_planned_run_submitted_and_edited() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "lighthouse").await;
    let preferences =
        json!({"default_duration": 45, "timezone": "Europe/Berlin", "theme_preference": "dark"});
    let call = system.work.put("/api/user/preferences").bearer(&ada.token);
    call.json(preferences).send().await.expect(200);
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await.expect(200).says("0 of 8 sessions");
    assert!(page.html.contains("data-theme=\"dark\""));
    let form = page.form("/start");
    assert_eq!(
        (form.value("duration"), form.value("project_id")),
        ("45", "none")
    );
    let form = form
        .set("category", "deep <work>")
        .set("project_id", &team.project_id())
        .set("note", "Describe the lamp room\r\n& the stairs");
    let page = browser.submit(&page, form).await.expect(200);
    let page = page
        .says("Current session")
        .says("deep <work>")
        .says("45 min, 10:00 to 10:45");
    let page = page.says("Describe the lamp room & the stairs");
    assert_eq!(page.title(), "45:00 · deep <work> · Holdfast");

    // After a reload, or in another tab, the same timer goes on.
    system.minutes_pass(44);
    let page = browser.get("/").await.expect(200);
    assert!(page.html.contains("<strong class=\"left\">01:00</strong>"));
    // The next plan starts with the project and the category of the last one.
    let next = page.form("/start");
    assert_eq!(next.value("category"), "deep <work>");
    assert_eq!(next.value("project_id"), team.project_id());

    system.minutes_pass(1);
    let page = browser.get("/").await.expect(200).says("Time is up");
    let page = browser.get(&page.link("Finish session")).await.expect(200);
    let action = page.address.path().to_owned();
    let form = page.form(&action);
    assert_eq!(
        (form.value("category"), form.value("duration")),
        ("deep <work>", "45")
    );
    assert!(page.html.contains("value=\"45\" readonly"));
    let form = form.set("note", "Two pages").set("quality_rating", "4");
    let page = browser.submit(&page, form.set("tags", "calm, long")).await;
    let page = page.expect(200).says("Well done").says("45 of 45 minutes");
    let page = page.says("First session").says("Streak 1 day");

    // Only badges that the user has are shown, whatever the address says.
    let path = page.address.path().to_owned();
    let page = browser
        .get(&format!("{path}?badges=streak_100,<b>"))
        .await
        .expect(200);
    assert!(!page.text().contains("New badge"));
    let page = browser.get("/").await.expect(200).says("1 of 8 sessions");
    let page = browser.get(&page.link("deep <work>")).await.expect(200);
    let page = page.says("Completed").says("Two pages");
    let form = page.form(page.address.path());
    assert_eq!(
        (form.value("tags"), form.value("quality_rating")),
        ("calm, long", "4")
    );
    let form = form.set("note", "Three pages").set("quality_rating", "");
    let page = browser.submit(&page, form).await.expect(200);
    page.says("Session saved.").says("Three pages");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_changed_in_the_form_is_refused_and_nothing_is_lost() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let session = system.started(&ada, "none").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    system.minutes_pass(25);
    let path = format!("/sessions/{session}/finish");
    let page = browser.get(&path).await.expect(200);
    let form = page.form(&path).set("note", "It parses");
    let forged = form.clone().set("duration", "480").set("category", "study");
    let page = browser.submit(&page, forged).await.expect(422);
    let page = page.says("Your plan was locked when the timer started");
    let page = page.says("Locked fields differ from the plan: category, duration");
    let form = page.form(&path);
    assert_eq!(
        (form.value("duration"), form.value("note")),
        ("25", "It parses")
    );
    browser
        .submit(&page, form)
        .await
        .expect(200)
        .says("25 of 25 minutes");
    // The page that is still open leads to the submitted session.
    let page = browser.get(&path).await.expect(200);
    assert_eq!(page.address.path(), format!("/sessions/{session}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_its_finish_page_is_opened() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let session = system.started(&ada, "none").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    system.minutes_pass(20);
    let path = format!("/sessions/{session}/finish");
    let page = browser
        .get(&path)
        .await
        .expect(200)
        .says("20 of 25 minutes");
    system.minutes_pass(10);
    let form = page.form(&path);
    let page = browser.submit(&page, form).await.expect(200);
    page.says("Session saved").says("20 of 25 minutes");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_notes_of_two_tabs_are_both_kept() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let session = system.started(&ada, "none").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    system.minutes_pass(25);
    let path = format!("/sessions/{session}/finish");
    let page = browser.get(&path).await.expect(200);
    let form = page.form(&path).set("note", "The short account");
    let late = page.form(&path).set("note", "The long account");
    browser.submit(&page, form).await.expect(200);
    let wrong = late.clone().set("quality_rating", "9");
    for (form, status) in [(wrong, 400), (late, 409)] {
        let page = browser.submit(&page, form).await.expect(status);
        let record = format!("/sessions/{session}");
        assert_eq!(page.form(&record).value("note"), "The long account");
        if status == 409 {
            let page = page.says("This session was already finished in another tab");
            let form = page.form(&record);
            let page = browser.submit(&page, form).await.expect(200);
            page.says("Session saved.").says("The long account");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_notes_of_two_tabs_on_an_abandoned_session_are_both_kept() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let session = system.started(&ada, "none").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    system.minutes_pass(14 * 60);
    let path = format!("/sessions/{session}/finish");
    let given_up = test_kit::wait_until(
        "the sweeper",
        std::time::Duration::from_secs(20),
        async || {
            let page = browser.get(&path).await;
            page.text()
                .contains("This session was not finished")
                .then_some(page)
        },
    );
    let page = given_up.await;
    let form = page.form(&path).set("note", "The short account");
    let late = page.form(&path).set("note", "The long account");
    browser
        .submit(&page, form)
        .await
        .expect(200)
        .says("Note saved");
    let page = browser.submit(&page, late).await.expect(409);
    let record = page.form(&format!("/sessions/{session}"));
    assert_eq!(record.value("note"), "The long account");
    browser
        .submit(&page, record)
        .await
        .expect(200)
        .says("Session saved.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_next_start_ended_ends_at_that_start() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let session = system.started(&ada, "none").await;
    system.minutes_pass(20);
    system.started(&ada, "none").await;
    system.minutes_pass(10);
    let mut browser = Browser::signed_in(&system, "ada").await;
    let path = format!("/sessions/{session}/finish");
    let page = browser.get(&path).await.expect(200);
    let page = page.says("09:00 to 09:20: 20 of 25 minutes");
    let form = page.form(&path);
    let page = browser.submit(&page, form).await.expect(200);
    page.says("20 of 25 minutes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validation_error_is_shown_beside_its_field_and_the_input_stays() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await;
    let form = page
        .form("/start")
        .set("category", "coding")
        .set("note", "kept");
    for (duration, words) in [
        ("0", "Must be 1 to 480 whole minutes"),
        ("x", "Enter a whole number of minutes"),
    ] {
        let page = browser
            .submit(&page, form.clone().set("duration", duration))
            .await;
        let page = page.expect(400).says(words);
        let again = page.form("/start");
        assert_eq!(
            (again.value("note"), again.value("duration")),
            ("kept", duration)
        );
    }
    let page = browser
        .submit(&page, form.set("category", " "))
        .await
        .expect(400);
    page.says("Must have 1 to 64 characters");
}

#[tokio::test(flavor = "multi_thread")]
async fn pressing_start_twice_starts_once_and_another_start_ends_the_first() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await;
    let form = page.form("/start").set("category", "coding");
    browser.submit(&page, form.clone()).await.expect(200);
    system.clock.advance(TimeDelta::minutes(3));
    browser.submit(&page, form).await.expect(200);
    let count = async || {
        let call = system.work.get("/api/sessions").bearer(&ada.token);
        let list = call.send().await.expect(200).json();
        list["sessions"].as_array().unwrap().len()
    };
    assert_eq!(count().await, 1);
    let page = browser.get("/").await;
    let form = page.form("/start").set("category", "study");
    let page = browser.submit(&page, form).await.expect(200);
    page.says("Unfinished sessions")
        .says("25 min planned, started 09:00");
    assert_eq!(count().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_break_has_the_length_of_its_kind_and_survives_a_reload() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser
        .get("/break?kind=long")
        .await
        .expect(200)
        .says("Long break");
    assert_eq!(page.title(), "Long break · Holdfast");
    let address = page.address.to_string();
    assert!(page.html.contains(">15:00<"));
    system.minutes_pass(14);
    assert!(browser.get(&address).await.html.contains(">01:00<"));
    system.minutes_pass(2);
    browser
        .get(&address)
        .await
        .expect(200)
        .says("Your break is over");
    let page = browser
        .get("/break?kind=short&until=9999999999")
        .await
        .expect(200);
    assert!(page.html.contains(">05:00<"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_another_user_and_an_unknown_one_are_not_found() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    system.register_user("eve").await;
    let session = system.started(&ada, "none").await;
    let mut eve = Browser::signed_in(&system, "eve").await;
    for path in [
        format!("/sessions/{session}"),
        format!("/sessions/{session}/finish"),
        format!("/sessions/{session}/finished"),
        "/sessions/nonsense".to_owned(),
        "/sessions/..%2Fuser%2Fdata/finish".to_owned(),
        "/nowhere".to_owned(),
    ] {
        eve.get(&path).await.expect(404).says("Not found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn static_files_are_cached_for_ever_under_versioned_names() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    system.started(&ada, "none").await;
    let page = browser.get("/").await;
    let mut bytes = page.html.len();
    let files = crate::html_parser::elements(&page.html, &["link", "script"]);
    let paths = files
        .iter()
        .filter_map(|file| file.attribute("src").or(file.attribute("href")));
    let paths: Vec<&str> = paths.filter(|path| path.starts_with('/')).collect();
    assert_eq!(paths.len(), 4, "{paths:?}");
    for path in paths {
        let reply = browser.fetch(path).await.expect(200);
        let cached = reply.header("cache-control");
        assert_eq!(cached, "public, max-age=31536000, immutable");
        assert!(!reply.text().contains("http"), "{path}");
        bytes += reply.body.len();
        let older = path.replace('-', "-x");
        browser.fetch(&older).await.expect(404);
    }
    // The whole first view, uncompressed.
    assert!(bytes <= 100 * 1024, "{bytes}");
}
