use chrono::Duration;

use crate::browser::{Browser, Form, Page};
use crate::credential_helpers::OTHER;
use crate::support::{Identity, PASSWORD};
use crate::totp::enabled;

/// Enters the password, and returns the form of the second step.
async fn first_step(browser: &mut Browser) -> Form {
    let page = browser.sign_in("ada", PASSWORD).await.expect(200);
    assert!(page.set_cookies().is_empty());
    page.form("/login/code")
}

async fn enter(browser: &mut Browser, form: &Form, code: &str) -> Page {
    browser.post(form.clone().set("code", code)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_right_password_the_page_asks_only_for_the_code() {
    let identity = Identity::start().await;
    let (ada, app, recovery) = enabled(&identity).await;
    let mut browser = Browser::new(&identity);
    let start = browser.get("/login?return_to=/teams").await.form("/login");
    let start = start.set("username", "Ada").set("password", PASSWORD);
    let page = browser.post(start).await.expect(200);
    assert!(!page.html.contains(PASSWORD));
    let form = page.form("/login/code");
    let mut names: Vec<_> = form.fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["code", "csrf", "return_to", "step"]);
    assert_eq!(identity.audited("session.totp_required", &ada), 1);

    let page = enter(&mut browser, &form, "000000").await.expect(401);
    let page = page.says("This code is incorrect or was already used");
    assert!(!browser.cookies.contains_key("holdfast_id"));
    let form = page.form("/login/code");
    assert_eq!(form.value("code"), Some(""));
    let code = app.next(&identity);
    let page = enter(&mut browser, &form, &code).await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/teams"));
    assert!(browser.cookies.contains_key("holdfast_id"));

    // The code cannot be used again. A recovery code works in its place, once.
    let mut browser = Browser::new(&identity);
    let form = first_step(&mut browser).await;
    enter(&mut browser, &form, &code).await.expect(401);
    let code = recovery[0].to_uppercase();
    enter(&mut browser, &form, &code).await.expect(303);
    let mut browser = Browser::new(&identity);
    let form = first_step(&mut browser).await;
    enter(&mut browser, &form, &recovery[0]).await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_step_is_valid_for_five_minutes_in_its_browser_and_with_its_password() {
    let identity = Identity::start().await;
    let (ada, app, _) = enabled(&identity).await;
    let again = "This sign-in has expired.";
    let mut browser = Browser::new(&identity);
    let form = first_step(&mut browser).await;

    // Another browser cannot use this browser's first step, even with a CSRF token of its own.
    let mut other = Browser::new(&identity);
    let foreign = other.get("/login").await.form("/login");
    let step = form.value("step").unwrap();
    let stolen = form.clone().forged("csrf", foreign.value("csrf").unwrap());
    assert_eq!(stolen.value("step"), Some(step));
    let code = app.next(&identity);
    let page = enter(&mut other, &stolen, &code).await.expect(401);
    page.says(again).form("/login");
    for bad in ["", "v2.x.y", PASSWORD, &step[..step.len() - 2]] {
        let forged = form.clone().forged("step", bad);
        let page = enter(&mut browser, &forged, &code).await.expect(401);
        page.says(again).form("/login");
    }

    identity.hand.advance(Duration::minutes(5));
    let page = enter(&mut browser, &form, &app.next(&identity)).await;
    page.expect(401).says(again);

    let form = first_step(&mut browser).await;
    let body = serde_json::json!({
        "current_password": PASSWORD, "new_password": OTHER, "totp_code": app.next(&identity),
    });
    let reply = identity.by(&ada, "/api/auth/password/change", body).await;
    reply.expect(204);
    let page = enter(&mut browser, &form, &app.next(&identity)).await;
    page.expect(401).says(again);

    let page = browser.sign_in("ada", OTHER).await;
    let form = page.form("/login/code");
    identity.sql("UPDATE users SET is_active = FALSE");
    let page = enter(&mut browser, &form, &app.next(&identity)).await;
    page.expect(401).says(again);
    let kinds = "SELECT count(*) AS n FROM sessions WHERE kind = 'browser'";
    assert_eq!(identity.count(kinds), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_codes_is_delayed_in_every_browser() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let (ada, app, _) = enabled(&identity).await;
    let mut browser = Browser::new(&identity);
    let form = first_step(&mut browser).await;
    for _ in 0..5 {
        enter(&mut browser, &form, "000000").await.expect(401);
    }
    let right = app.next(&identity);
    // `next` has advanced the clock by half a minute, so the wait of the fifth failure is over: one more code is checked.
    enter(&mut browser, &form, "000000").await.expect(401);
    let page = enter(&mut browser, &form, &right).await.expect(429);
    assert_eq!(page.reply.header("retry-after"), "2");
    let page = page
        .says("Too many attempts")
        .says("Try again in 2 seconds");
    assert_eq!(
        page.reply.header("content-type"),
        "text/html; charset=utf-8"
    );
    assert_eq!(identity.audited("session.refused", &ada), 6);
    let mut another = Browser::new(&identity);
    let elsewhere = first_step(&mut another).await;
    let page = enter(&mut another, &elsewhere, &right).await.expect(429);
    page.says("Too many attempts");
    identity.hand.advance(Duration::seconds(2));
    enter(&mut browser, &form, &right).await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_step_cannot_be_opened_without_the_first() {
    let identity = Identity::start().await;
    let mut browser = Browser::new(&identity);
    let page = browser.get("/login/code").await.expect(200);
    assert_eq!(page.path, "/login");
}
