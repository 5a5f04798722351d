use chrono::TimeDelta;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::browser::Browser;
use super::{system, with};
use crate::harness::System;

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_through_the_identity_service_and_out_again() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::new(&system);
    let page = browser
        .get("/")
        .await
        .expect(200)
        .says("Plan, focus, finish, review");
    assert_eq!(page.link("Sign in"), "/sign-in");
    let page = browser
        .sign_in("ada")
        .await
        .expect(200)
        .says("Start a session");
    assert!(page.text().contains("ada"));
    let cookie = browser.cookies["holdfast_ws"].clone();
    assert!(cookie.starts_with("v2.") && !page.html.contains(&cookie));

    let before = browser.clone();
    let form = page.form("/sign-out");
    let page = browser.submit(&page, form).await.expect(200);
    page.says("You are signed out of the dashboard.");
    assert!(!browser.cookies.contains_key("holdfast_ws"));
    // A copy of the old cookie is of no use.
    system.minutes_pass(1);
    let reply = before.clone().fetch("/").await.expect(303);
    assert_eq!(reply.header("location"), "/sign-in?return_to=%2F");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_cookie_is_hidden_from_scripts_and_other_sites() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::new(&system);
    let page = browser.get("/sign-in?return_to=/break").await;
    let form = page.form("/login").set("username", "ada");
    let form = form.set("password", crate::harness::PASSWORD);
    let reply = browser.post(&page, &form).await.expect(303);
    let path = reply.header("location");
    let reply = browser.send(system.identity.get(path)).await;
    let callback = reply.expect(302).header("location").to_owned();
    let callback = callback.strip_prefix(system.work.base()).unwrap();
    // A HEAD request uses up no code.
    let head = system.work.call(Method::HEAD, callback);
    let reply = browser.send(head).await.expect(302);
    assert!(!reply.headers.contains_key("set-cookie"));
    let reply = browser.fetch(callback).await.expect(302);
    assert_eq!(reply.header("location"), "/break");
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(reply.header("referrer-policy"), "no-referrer");
    let set = reply.header("set-cookie").to_owned();
    assert!(set.starts_with("holdfast_ws=v2."), "{set}");
    for part in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=7776000"] {
        assert!(set.contains(part), "{set}");
    }
    // A code works once.
    let again = browser.get(callback).await.expect(400);
    again.says("This sign-in attempt was already completed or has expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_begun_in_another_browser_signs_nobody_in() {
    let system = system().await;
    system.register_user("ada").await;
    let mut eve = Browser::signed_in(&system, "ada").await;
    let reply = eve.fetch("/sign-in").await.expect(302);
    let address = reply.header("location").to_owned();
    let path = address.strip_prefix(system.identity.base()).unwrap();
    let reply = eve.send(system.identity.get(path)).await.expect(302);
    let callback = reply.header("location").to_owned();

    let mut victim = Browser::new(&system);
    let page = victim.get(&callback).await.expect(400);
    page.says("was started in another browser");
    assert!(!victim.cookies.contains_key("holdfast_ws"));
    for bad in ["/sign-in/callback", "/sign-in/callback?code=x&state=v2.a.b"] {
        victim.get(bad).await.expect(400);
    }
    // A response with another issuer is refused, even in the right browser.
    let elsewhere = callback.replace("iss=", "iss=x");
    eve.get(&elsewhere).await.expect(400).says("is not from");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_access_token_is_renewed_once_for_concurrent_requests() {
    let system = with(json!({"tokens": {"access_ttl_seconds": 60}})).await;
    system.register_user("ada").await;
    let browser = Browser::signed_in(&system, "ada").await;
    system.clock.advance(TimeDelta::minutes(2));
    let requests = (0..8).map(|_| {
        let mut tab = browser.clone();
        async move {
            let reply = tab.fetch("/").await.expect(200);
            (reply.header("set-cookie").to_owned(), tab)
        }
    });
    let answers = join_all(requests).await;
    assert!(
        answers
            .iter()
            .all(|(set, _)| set.starts_with("holdfast_ws=v2."))
    );
    // The browser did not get those responses, and comes back later with the old cookie.
    system.clock.advance(TimeDelta::minutes(2));
    let mut late = browser.clone();
    late.fetch("/").await.expect(200);
    // And so does each tab that got one.
    for (_, mut tab) in answers {
        tab.fetch("/").await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_session_is_stored_whatever_the_status_of_the_response() {
    let system = with(json!({"tokens": {"access_ttl_seconds": 60}})).await;
    system.register_user("ada").await;
    let browser = Browser::signed_in(&system, "ada").await;
    let gone = "/sessions/01a20313-b930-7dcf-8318-09c42e343938";
    for (path, status) in [(gone, 404), ("/settings/export?format=nonsense", 400)] {
        system.clock.advance(TimeDelta::minutes(2));
        let mut tab = browser.clone();
        let call = system.work.get(path).header("accept", "text/html");
        let reply = tab.send(call).await.expect(status);
        let set = reply.header("set-cookie");
        assert!(set.starts_with("holdfast_ws=v2."), "{path}: {set:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_stay_valid_when_the_access_token_is_renewed() {
    let system = with(json!({"tokens": {"access_ttl_seconds": 60}})).await;
    system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await;
    system.clock.advance(TimeDelta::minutes(2));
    let form = page.form("/start").set("category", "coding");
    browser
        .submit(&page, form)
        .await
        .expect(200)
        .says("Timer started.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_without_the_csrf_token_of_its_session_is_refused() {
    let system = system().await;
    for name in ["ada", "eve"] {
        system.register_user(name).await;
    }
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await;
    let form = page.form("/start").set("category", "coding");
    let mut eve = Browser::signed_in(&system, "eve").await;
    let foreign = eve.get("/").await.form("/start");
    for bad in [
        form.clone().without("csrf"),
        form.clone().set("csrf", "x"),
        form.clone().set("csrf", foreign.value("csrf")),
    ] {
        browser.submit(&page, bad).await.expect(403);
    }
    let body = "category=coding&duration=25&project_id=none&note=&csrf=";
    let body = format!("{body}{}", form.value("csrf"));
    let call = system
        .work
        .post("/start")
        .header("sec-fetch-site", "cross-site");
    let call = call.body("application/x-www-form-urlencoded", body);
    browser.send(call).await.expect(403);
    let page = browser.get("/").await;
    assert!(!page.text().contains("Current session"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_accepts_no_cookie_and_pages_accept_no_token() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    browser.fetch("/api/sessions").await.expect(401);
    browser.fetch("/api/user/data").await.expect(403);
    let page = system
        .work
        .get("/")
        .bearer(&ada.token)
        .header("accept", "text/html");
    let page = page.send().await.expect(200).text();
    assert!(page.contains("href=\"/sign-in\"") && !page.contains("ada"));
    // A forged cookie counts as none.
    let sealed = browser.cookies["holdfast_ws"].clone();
    let flipped = if sealed.ends_with('A') { "B" } else { "A" };
    let forged = format!("{}{flipped}", &sealed[..sealed.len() - 1]);
    browser.cookies.insert("holdfast_ws".to_owned(), forged);
    let reply = browser
        .fetch("/sessions/019a0000-0000-7000-8000-000000000000")
        .await;
    assert_eq!(
        reply.expect(303).header("location").split('?').next(),
        Some("/sign-in")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_submitted_after_the_session_ended_returns_after_the_next_sign_in() {
    let system = with(json!({"tokens": {"access_ttl_seconds": 60}})).await;
    for (name, ended) in [("ada", "here"), ("bob", "elsewhere"), ("eve", "by time")] {
        system.register_user(name).await;
        let mut browser = Browser::signed_in(&system, name).await;
        let page = browser.get("/").await;
        let form = page.form("/start").set("note", "Describe the <lamp> room");
        let form = form.set("category", "coding");
        system.clock.advance(TimeDelta::minutes(1));
        match ended {
            "here" => drop(browser.submit(&page, page.form("/sign-out")).await),
            "elsewhere" => {
                let others = system.identity.post("/api/auth/login");
                let body = json!({"username": name, "password": crate::harness::PASSWORD});
                let pair = others.json(body).send().await.expect(200).json();
                let others = system.identity.delete("/api/auth/sessions");
                let others = others.bearer(pair["access_token"].as_str().unwrap());
                others.send().await.expect(204);
            }
            _ => system.clock.advance(TimeDelta::days(400)),
        }
        let reply = browser.post(&page, &form).await.expect(303);
        assert_eq!(
            reply.header("location"),
            "/sign-in?return_to=%2Fresume",
            "{ended}"
        );
        let mut page = browser.get("/sign-in?return_to=/resume").await.expect(200);
        if page.address.path() == "/login" {
            let form = page.form("/login").set("username", name);
            let form = form.set("password", crate::harness::PASSWORD);
            page = browser.submit(&page, form).await;
        }
        let page = page.expect(200).says("Describe the <lamp> room");
        assert_eq!(page.address.path(), "/resume", "{ended}");
        let kept = page.form("/start");
        assert_eq!(kept.value("category"), "coding");
        assert_eq!(kept.value("once"), form.value("once"));
        browser.submit(&page, kept).await.expect(200).says("coding");
        assert_eq!(browser.get("/resume").await.address.path(), "/");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_form_is_shown_to_nobody_else_and_other_sites_cannot_create_one() {
    let system = system().await;
    for name in ["ada", "eve"] {
        system.register_user(name).await;
    }
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await;
    let form = page.form("/start").set("note", "Describe the lamp room");
    browser.submit(&page, page.form("/sign-out")).await;
    browser.post(&page, &form).await.expect(303);
    let kept = browser.cookies["holdfast_ws_kept"].clone();
    let mut eve = Browser::signed_in(&system, "eve").await;
    eve.cookies
        .insert("holdfast_ws_kept".to_owned(), kept.clone());
    let shown = eve.get("/resume").await.expect(200);
    assert!(!shown.html.contains("lamp room"));
    // Nor is it shown in the same browser, if another user signs in there.
    let eves = eve
        .cookies
        .iter()
        .filter(|(name, _)| *name != "holdfast_ws_browser");
    browser
        .cookies
        .extend(eves.map(|(k, v)| (k.clone(), v.clone())));
    browser.cookies.insert("holdfast_ws_kept".to_owned(), kept);
    let shown = browser.get("/resume").await.expect(200);
    assert!(!shown.html.contains("lamp room"));
    browser.post(&page, &form).await.expect(403);

    let mut nobody = Browser::new(&system);
    for bad in [form.clone(), form.clone().without("csrf")] {
        nobody.post(&page, &bad).await.expect(403);
        assert!(!nobody.cookies.contains_key("holdfast_ws_kept"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_too_long_for_a_cookie_is_returned_to_be_copied() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await;
    let note = "ü".repeat(2_000);
    let form = page.form("/start").set("note", &note);
    browser.cookies.remove("holdfast_ws");
    let page = browser.submit(&page, form).await.expect(401);
    page.says("You are signed out").says(&note);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_a_new_sign_in_replaces_ends() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let count = async || {
        let call = system.identity.get("/api/auth/sessions").bearer(&ada.token);
        let list = call.send().await.expect(200).json();
        list["sessions"].as_array().unwrap().len()
    };
    let mut browser = Browser::signed_in(&system, "ada").await;
    let signed_in = count().await;
    browser.get("/sign-in").await.expect(200).says("ada");
    assert_eq!(count().await, signed_in);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_while_the_identity_service_is_down_explains_what_remains() {
    let system = system().await;
    system.register_user("ada").await;
    let mut browser = Browser::signed_in(&system, "ada").await;
    let page = browser.get("/").await;
    // The access token of this session would have to be renewed first.
    system.minutes_pass(24 * 60);
    system.stop_identity().await;
    let form = page.form("/sign-out");
    let page = browser.submit(&page, form).await.expect(200);
    page.says("You are signed out in this browser")
        .says("the sign-in is still active");
    assert!(!browser.cookies.contains_key("holdfast_ws"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_of_a_form_action_redirects_to_the_parent_page() {
    let system = system().await;
    let browser = &mut Browser::new(&system);
    for (path, up) in [
        ("/start", "/"),
        ("/sign-out", "/"),
        ("/settings/preferences", "/settings"),
        ("/settings/webhooks/5/test", "/settings/webhooks/5"),
        ("/team/a/projects/3/chat/", "/team/a/projects/3"),
    ] {
        let path = path.trim_end_matches('/');
        let reply = browser.fetch(path).await.expect(303);
        assert_eq!(reply.header("location"), up, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_client_the_dashboard_explains_how_to_set_it_up() {
    let system = System::start().await;
    let mut browser = Browser::new(&system);
    let page = browser.get("/").await.expect(200);
    let page = page.says("The dashboard is not set up yet");
    let callback = format!("--redirect-uri {}/sign-in/callback", system.work.base());
    assert!(page.text().contains(&callback), "{}", page.text());
    browser.get("/sign-in").await.expect(404);
    // Programs still get JSON.
    let reply = system.work.get("/nowhere").send().await.expect(404);
    assert_eq!(reply.json(), json!({"error": "Not found"}));
}
